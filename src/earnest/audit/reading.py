"""The lines of an audit log as they are read: each held against the one before, over all files of the log."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from earnest.audit.event import LINE_BYTES_MAX, LogEvent, LogPosition, decode_line
from earnest.audit.files import opened
from earnest.foundation.errors import EarnestError
from earnest.foundation.instants import rfc3339

BLOCK_BYTES: Final = 64 * 1024
_HEAD_MARK: Final = b'"kind":"TreeHead"'


class CheckedLine(NamedTuple):
    """A line as it was read. `fault` says what is wrong with it or its place; `event` is None if it cannot be read.

    `offset_bytes` is its end in its file. `prev` is what it says of the line before.
    """

    event: LogEvent | None
    fault: str
    offset_bytes: int
    lines: int
    head: str
    prev: str = ""

    @property
    def end(self) -> LogPosition:
        """The end of this line."""
        return LogPosition(offset_bytes=self.offset_bytes, lines=self.lines, head=self.head)


def read_lines(path: Path, start: LogPosition | None = None) -> Iterator[CheckedLine]:
    """The whole lines after `start`, each checked against the one before; an unfinished last line is left out.

    Without `start` from the first that is kept: who removed those before it, if any, is not asked here. Raises
    `Refused("audit_log_missing")`.
    """
    begin = start or LogPosition()
    offset_bytes, lines, head, knows_before = begin.offset_bytes, begin.lines, begin.head, begin.lines > 0
    with opened(path) as log:
        for file, is_full in log.files(lines):
            file.seek(offset_bytes)
            while (raw := file.readline(LINE_BYTES_MAX)).endswith(b"\n"):
                offset_bytes += len(raw)
                lines += 1
                event, fault, prev = None, "", ""
                try:
                    event, prev, digest = decode_line(raw[:-1])
                except ValueError as error:
                    fault = str(error)
                else:
                    if not knows_before:
                        lines, head = event.seq, prev
                    if prev != head or event.seq != lines:
                        fault = "the line before it was changed, removed or moved"
                    head = digest
                knows_before = True
                yield CheckedLine(event, fault, offset_bytes, lines, head, prev)
            if is_full:
                if raw:
                    yield CheckedLine(None, "something stands after it", offset_bytes, lines, head)
                offset_bytes = 0


def unfinished(path: Path, end: LogPosition) -> bytes:
    """What stands after the last whole line, `end`; of something longer than any line the first part."""
    with opened(path) as log:
        if log.written is None:
            return b""
        stands_before = bool(log.full) and log.full[-1].last_line >= end.lines  # in a file that is full
        log.written.seek(0 if stands_before else end.offset_bytes)
        return log.written.read(LINE_BYTES_MAX)


def heads_in(path: Path, start: LogPosition | None = None) -> Iterator[tuple[int, str]]:
    """The journal's heads after `start`, `(size, root)`, in the order in which the runtime published them.

    They are worth what the chain is worth, which is not asked here: see `read_lines`. Raises
    `Refused("audit_log_missing")`.
    """
    begin = start or LogPosition()
    with opened(path) as log:
        offset_bytes = begin.offset_bytes
        for file, _ in log.files(begin.lines):
            file.seek(offset_bytes)
            offset_bytes = 0
            while (raw := file.readline(LINE_BYTES_MAX)).endswith(b"\n"):
                if _HEAD_MARK not in raw:
                    continue
                with suppress(ValueError):
                    event = decode_line(raw[:-1]).event
                    size, root = event.fields.get("size"), event.fields.get("root")
                    if event.kind == "TreeHead" and not event.violation and type(size) is int and type(root) is str:
                        yield size, root


def has_position(path: Path, position: LogPosition) -> bool:
    """True if the log still has that line at that place."""
    if position.offset_bytes == 0:
        return position == LogPosition()
    try:
        with opened(path) as log:
            for file, _ in log.files(position.lines):
                return _line_before(file.fileno(), position.offset_bytes)[0] == position
    except (ValueError, OSError, EarnestError):
        pass
    return False


def position_before(path: Path, mark: bytes, number: int) -> LogPosition:
    """The end of a line after which at least `number` lines hold `mark`, without reading what is far before it.

    The beginning for a log that holds fewer. Raises `Refused("audit_log_missing")`.
    """
    with opened(path) as log:
        for file in log.newest_first():
            at, found = _before(file, mark, number)
            if at:
                with suppress(ValueError):  # a damaged line is nothing to begin at
                    return _line_before(file.fileno(), at)[0]
            number = max(1, number - found)
    return LogPosition()


def _before(file: IO[bytes], mark: bytes, number: int) -> tuple[int, int]:
    """The end of a line after which there are so many marks, 0 for the beginning, and how many there are.

    The file stands there then.
    """
    at, found = file.seek(0, os.SEEK_END), 0
    while at and found < number:
        size = min(at, BLOCK_BYTES)
        at = file.seek(at - size)
        found += file.read(size).count(mark)
    file.seek(at)
    return (at + len(file.readline()) if at else 0), found


def newest_lines(path: Path, number: int) -> list[bytes]:
    """The last `number` whole lines, oldest first; fewer if there are fewer. None of them is checked."""
    with opened(path) as log:
        lines: list[bytes] = []
        for file in log.newest_first():
            _before(file, b"\n", number - len(lines) + 1)  # one more: it begins within a line
            text = file.read()
            lines = text[: text.rfind(b"\n") + 1].splitlines()[len(lines) - number :] + lines
            if len(lines) >= number:
                break
    return lines


def summary(line: bytes) -> str:
    """A line for people. Raises `ValueError` if it was changed."""
    event = decode_line(line).event
    told = "  ".join(f"{name}={value}" for name, value in event.fields.items())
    marks = "".join(f"  [{mark}]" for mark in (event.violation, "repeat" if event.repeat else "") if mark)
    return f"{event.seq}  {rfc3339(event.at_ms)}  {event.sender:<10} {event.kind:<16} {event.id}  {told}{marks}"


def last_position(path: Path) -> LogPosition:
    """The end of the last whole line. Raises `ValueError` if it is damaged, and as `read_lines`."""
    with opened(path) as log:
        found = last_line(log.written.fileno())[0] if log.written else LogPosition()
        if found == LogPosition() and log.full:
            with log.full[-1].path.open("rb") as file:
                found, _ = last_line(file.fileno())
    return found


def last_line(descriptor: int) -> tuple[LogPosition, int]:
    """The end of the last whole line of a file, and the instant that it names. Raises `ValueError` if it is damaged."""
    size_bytes = os.fstat(descriptor).st_size
    tail_bytes = min(size_bytes, LINE_BYTES_MAX)
    tail = os.pread(descriptor, tail_bytes, size_bytes - tail_bytes)
    newline = tail.rfind(b"\n")
    if newline < 0 and tail_bytes == LINE_BYTES_MAX:
        raise ValueError("it is longer than any line")
    return _line_before(descriptor, size_bytes - tail_bytes + newline + 1)


def _line_before(descriptor: int, offset_bytes: int) -> tuple[LogPosition, int]:
    """The line that ends there. Raises `ValueError` if none does."""
    if offset_bytes == 0:
        return LogPosition(), 0
    start = max(0, offset_bytes - LINE_BYTES_MAX)
    lines = os.pread(descriptor, offset_bytes - start, start)
    if len(lines) < offset_bytes - start or not lines.endswith(b"\n"):
        raise ValueError("no line ends there")
    event, _, digest = decode_line(lines[:-1].rpartition(b"\n")[2])
    return LogPosition(offset_bytes=offset_bytes, lines=event.seq, head=digest), event.at_ms
