"""What a model says or a command puts out, as lines while it does: as many as are read, harmless to a terminal."""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Final

from earnest.foundation.text import printable

SHOWN_CHARACTERS_MAX: Final = 20_000
"""So much of one answer is shown; the rest is counted."""
LINES_AT_ONCE: Final = 20
"""Of output, which comes some ten times a second: drawing more would keep the run waiting."""


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

    def leave_out(self, count: int) -> Iterator[str]:
        """So much of it does not come."""
        yield from self._cut(self._line)
        yield f"[… {count} bytes left out …]"
        self._line = ""

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


class OutputLines(SpokenLines):
    """What a command puts out on one stream: bytes, in which a carriage return ends a line as well."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self._text = getincrementaldecoder("utf-8")("replace")

    def take_bytes(self, piece: bytes, left_out: int) -> Iterator[str]:
        """The lines that this piece makes whole, before which so many bytes are left out; of many the last."""
        if left_out:
            self._text.reset()
            yield from self.leave_out(left_out)
        whole = list(self.take(self._text.decode(piece).replace("\r", "\n")))
        if len(whole) > LINES_AT_ONCE:
            yield f"[… {len(whole) - LINES_AT_ONCE} lines left out …]"
        yield from whole[-LINES_AT_ONCE:]
