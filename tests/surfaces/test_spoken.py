"""Is what a model says shown as lines of a bounded width and number, and as nothing else?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.surfaces.cli.spoken import SHOWN_CHARACTERS_MAX, SpokenLines


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
