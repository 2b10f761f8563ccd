"""Does the line that moves leave those that stay alone, and does what is written fit?"""

import io
import sys

import pytest

from earnest.surfaces.cli.screen import Screen, fitting, wrapped


class Written(io.StringIO):
    def __init__(self, *, is_terminal: bool = True, has_reader: bool = True) -> None:
        super().__init__()
        self._is_terminal, self.has_reader = is_terminal, has_reader

    def isatty(self) -> bool:
        return self._is_terminal

    def fileno(self) -> int:
        raise OSError("not a file")

    def write(self, text: str, /) -> int:
        if not self.has_reader:
            raise BrokenPipeError
        return super().write(text)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.delenv("NO_COLOR", raising=False)


def screen_on(stdout: Written, monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setattr(sys, "stdout", stdout)
    return Screen()


def test_the_moving_line_is_erased_before_a_line_stays_and_drawn_again_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = screen_on(stdout := Written(), monkeypatch)
    with screen.moving():
        screen.move("working  ", "日本語日本語", "cyan")
        screen.print("done")
        with screen.still():
            screen.print("allow it?")
            screen.move("working", "", "")
    screen.move("working", "", "")
    line = "working  \x1b[36m日本語日本\x1b[0m"  # 19 cells of 20
    assert stdout.getvalue() == f"\r\x1b[K{line}\r\x1b[Kdone\n{line}\r\x1b[Kallow it?\n\r\x1b[K"


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {}])
def test_where_nothing_moves_and_where_no_colour_is_wanted(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    screen = screen_on(stdout := Written(is_terminal=bool(variables)), monkeypatch)
    screen.print(screen.styled("red", "bold red"))
    with screen.moving():
        screen.move("working", "", "")
    assert stdout.getvalue().partition("\r")[0] == "red\n"
    assert ("working" in stdout.getvalue()) == ("NO_COLOR" in variables)


def test_a_reader_that_is_gone_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_on(stdout := Written(has_reader=False), monkeypatch)
    screen.print("said")
    stdout.has_reader = True
    screen.print("said")
    assert stdout.getvalue() == ""


def test_cells_are_counted_not_characters() -> None:
    assert [fitting(text, 4) for text in ("abcdef", "日本語", "e\u0301" * 6, "ab")] == [4, 2, 8, 2]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("  ✓ all is as it was", ["  ✓ all", "is as it", "was"]),
        ("abcdefghijk lm", ["abcdefgh", "ijk lm"]),
        ("    abcdefghij", ["    abcd", "efghij"]),
        ("日本語日本語", ["日本語日", "本語"]),
        ("one two  three", ["one two", "three"]),
    ],
)
def test_lines_are_cut_at_blanks_and_long_words_anywhere(text: str, lines: list[str]) -> None:
    assert list(wrapped(text, 8)) == lines
