"""Is what a model says shown as lines of a bounded width and number, and as nothing else?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.surfaces.cli.spoken import LINES_AT_ONCE, SHOWN_CHARACTERS_MAX, OutputLines, SpokenLines


def lines(*pieces: str, width: int = 20) -> list[str]:
    spoken = SpokenLines(width)
    return [line for piece in pieces for line in spoken.take(piece)] + list(spoken.rest())


@given(pieces=st.lists(st.text(max_size=60), max_size=8))
def test_no_line_is_wider_and_no_word_is_lost(pieces: list[str]) -> None:
    shown = lines(*(piece.replace("\\", "") for piece in pieces if piece.isprintable()))
    assert all(len(line) <= 20 for line in shown)
    said = "".join(piece for piece in pieces if piece.isprintable()).replace("\\", "")
    assert "".join("".join(shown).split()) == "".join(said.split())


def test_a_line_is_shown_when_it_is_whole_and_the_rest_at_the_end() -> None:
    spoken = SpokenLines(80)
    assert list(spoken.take("one\ntw")) == ["one"]
    assert spoken.tail == "tw"
    assert list(spoken.take("o\n\n\nthree")) == ["two"]
    assert list(spoken.rest()) == ["three"]


@pytest.mark.parametrize("pieces", [["x" * (SHOWN_CHARACTERS_MAX + 7)], ["x"] * (SHOWN_CHARACTERS_MAX + 7)])
def test_a_flood_is_cut_and_counted(pieces: list[str]) -> None:
    shown = lines(*pieces)
    assert sum(map(len, shown[:-1])) == SHOWN_CHARACTERS_MAX
    assert shown[-1] == "[… 7 characters more …]"


def test_nothing_that_a_model_says_steers_the_terminal() -> None:
    assert lines("\x1b[2Jgone\x07") == [r"\x1b[2Jgone\x07"]


def test_output_is_text_whose_pieces_end_anywhere_and_steers_nothing() -> None:
    put_out, pieces = OutputLines(40), [b"5%\r6%\r\ncaf\xc3", b"\xa9 \x1b[2J \xff\n", b"end"]
    assert [line for piece in pieces for line in put_out.take_bytes(piece, 0)] == ["5%", "6%", r"café \x1b[2J �"]
    assert list(put_out.rest()) == ["end"]


def test_what_is_left_out_of_output_is_told_where_it_is() -> None:
    put_out = OutputLines(40)
    assert list(put_out.take_bytes(b"half a\xc3", 0)) == []
    assert list(put_out.take_bytes(b"y\nz", 9_000)) == ["half a", "[… 9000 bytes left out …]", "y"]
    assert put_out.tail == "z"


def test_of_many_lines_at_once_the_last_are_shown() -> None:
    shown = list(OutputLines(40).take_bytes(b"".join(b"%d\n" % n for n in range(LINES_AT_ONCE + 3)), 0))
    assert shown[:2] == ["[… 3 lines left out …]", "3"]
    assert len(shown) == LINES_AT_ONCE + 1
