"""What a model says while it says it, as lines for a terminal: as many as a person reads, none of which steers it."""

from collections.abc import Iterator
from typing import Final

from earnest.foundation.text import printable

SHOWN_CHARACTERS_MAX: Final = 20_000
"""So much of one answer is shown; the rest is counted."""


class SpokenLines:
    """One answer, cut into lines of at most `width` characters as it comes."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._line = ""
        self._shown = 0
        self._left_out = 0

    @property
    def tail(self) -> str:
        """The line that is not whole yet."""
        return self._line

    def take(self, piece: str) -> Iterator[str]:
        """The lines that this piece makes whole; empty ones are passed over."""
        room = max(0, SHOWN_CHARACTERS_MAX - self._shown)
        self._shown += len(piece[:room])
        self._left_out += len(piece[room:])
        *whole, self._line = (self._line + piece[:room]).split("\n")
        for line in whole:
            yield from self._cut(line)
        *full, self._line = self._cut(self._line) if len(self._line) > self._width else (self._line,)
        yield from full

    def rest(self) -> Iterator[str]:
        """What is left when the answer has ended."""
        yield from self._cut(self._line)
        if self._left_out:
            yield f"[… {self._left_out} characters more …]"
        self._line = ""

    def _cut(self, line: str) -> Iterator[str]:
        """At blanks, where there are some in the second half of the width."""
        line = line.rstrip("\r")
        while len(line) > self._width:
            blank = line.rfind(" ", self._width // 2, self._width)
            end = blank if blank > 0 else self._width
            yield printable(line[:end])
            line = line[end:].lstrip(" ")
        if line.strip():
            yield printable(line)
