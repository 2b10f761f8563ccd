"""Stdout while a run is watched: lines that stay and, on a terminal, one below them that moves."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unicodedata import category, east_asian_width

import click

from earnest.surfaces.cli.printing import abandon_stdout

ANEW: Final = "\r\x1b[K"
"""To the beginning of the line, and nothing more in it."""
MANNERS: Final = frozenset({"bold", "dim", "italic"})
PLAIN: Final = frozenset({"dumb", "unknown"})
"""What `TERM` is where a terminal only takes lines."""


class Screen:
    """Goes quiet, instead of ending the process, when its reader is gone."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._can_move = self.is_terminal and os.environ.get("TERM") not in PLAIN
        self._is_coloured = self._can_move and not os.environ.get("NO_COLOR")
        self._moves = self._is_quiet = False
        self._line = ""

    @property
    def width(self) -> int:
        """In cells."""
        return shutil.get_terminal_size().columns

    def styled(self, text: str, style: str) -> str:
        """In a colour and manners, such as `bold magenta`, where there are any."""
        if not (text and style and self._is_coloured):
            return text
        words = set(style.split())
        return click.style(text, fg=next(iter(words - MANNERS), None), **dict.fromkeys(words & MANNERS, True))

    def print(self, *lines: str) -> None:
        """Lines that stay."""
        self._write("".join(f"{line}\n" for line in lines))

    @contextmanager
    def moving(self) -> Iterator[None]:
        """The line moves within the block."""
        self._moves = self._can_move
        try:
            yield
        finally:
            self._stop()

    @contextmanager
    def still(self) -> Iterator[None]:
        """It does not within the block, where somebody types."""
        moves = self._moves
        self._stop()
        try:
            yield
        finally:
            self._moves = moves

    def move(self, text: str, beside: str, style: str) -> None:
        """Have the line say this: as much as fits."""
        if self._moves:
            end = fitting(text + beside, self.width - 1)
            self._line = text[:end] + self.styled(beside[: max(0, end - len(text))], style)
            self._write("")

    def _stop(self) -> None:
        self._line = ""
        self._write("")
        self._moves = False

    def _write(self, lines: str) -> None:
        if self._is_quiet:
            return
        try:
            sys.stdout.write(f"{ANEW}{lines}{self._line}" if self._moves else lines)
            sys.stdout.flush()
        except BrokenPipeError:
            self._is_quiet = True
            abandon_stdout()


def fitting(text: str, width: int) -> int:
    """How many characters of it fit into so many cells."""
    for count, character in enumerate(text):
        width -= _cells(character)
        if width < 0:
            return count
    return len(text)


def wrapped(text: str, width: int) -> Iterator[str]:
    """In lines of at most so many cells: cut at blanks, and words that are longer anywhere."""
    while (end := fitting(text, width)) < len(text):
        blank = text.rfind(" ", len(text) - len(text.lstrip()), end + 1)
        end = blank if blank > 0 else max(1, end)
        yield text[:end].rstrip()
        text = text[end:].lstrip()
    yield text


def _cells(character: str) -> int:
    if category(character) in {"Mn", "Me", "Cf"}:  # joined to the one before
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
