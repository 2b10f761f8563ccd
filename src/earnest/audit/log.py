"""The audit log, one line a message, each line holding the hash of the one before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from earnest.audit.event import LINE_BYTES_MAX, NOTE_SENDER, LogEvent, LogPosition, Note, decode_line, encode_line
from earnest.effects.ground.locks import FileLock
from earnest.foundation.errors import Broken, Refused, Unavailable

HELD_WAIT_MS: Final = 200
"""How long a writer waits for the line of another one, which takes microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """What reading a whole log showed. `broken_line` counts from 1 and is None if the chain holds.

    `end` is the last line that holds. Lines cut off the end leave an unbroken chain: compare `end` with a head that
    was written down elsewhere. `torn_bytes` of an unfinished last line are no break.
    """

    end: LogPosition
    broken_line: int | None = None
    reason: str = ""
    torn_bytes: int = 0


class CheckedLine(NamedTuple):
    """A line as it was read. `fault` says what is wrong with it or its place; `event` is None if it cannot be read."""

    event: LogEvent | None
    fault: str
    offset_bytes: int
    lines: int
    head: str

    @property
    def end(self) -> LogPosition:
        """The end of this line."""
        return LogPosition(offset_bytes=self.offset_bytes, lines=self.lines, head=self.head)


class AuditLog:
    """One of the writers of a log. Lines reach the operating system one by one, the disk with `sync`."""

    def __init__(self, path: Path, descriptor: int, end: LogPosition) -> None:
        self.path: Final = path
        self._descriptor = descriptor
        self._lock = FileLock(path, descriptor)
        self._wait_ms = HELD_WAIT_MS
        self._is_held = False
        self._offset_bytes = end.offset_bytes
        self._lines = end.lines
        self._head = end.head

    @classmethod
    def open(cls, path: Path, now_ms: int) -> "AuditLog":
        """Open or create (mode 0600), and cut off an unfinished last line, which is noted.

        Raises `Refused("audit_log_busy")` while another process keeps it to itself, `Broken` if the last whole line is
        damaged.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            log = cls(path, descriptor, _first_position(descriptor, path))
            with log.held(now_ms):
                return log
        except BaseException:
            os.close(descriptor)
            raise

    @contextmanager
    def held(self, now_ms: int) -> Iterator[list[LogEvent]]:
        """The log without other writers, for a block; and the lines that they, or a repair, have added since the last.

        Raises `Unavailable` where another process does not give it back, `Broken` for a line that cannot be read.
        """
        if self._is_held:
            yield []
            return
        if not self._lock.take(self._wait_ms):
            self._wait_ms = 0  # once is enough: no publisher waits for a stopped process again and again
            raise Unavailable(f"{self.path} is kept by {self._lock.holder}")
        self._wait_ms = HELD_WAIT_MS
        self._is_held = True
        try:
            yield self._catch_up(now_ms) if os.fstat(self._descriptor).st_size > self._offset_bytes else []
        finally:
            self._is_held = False
            self._lock.give()

    @property
    def end(self) -> LogPosition:
        """Where the next line goes."""
        return LogPosition(offset_bytes=self._offset_bytes, lines=self._lines, head=self._head)

    @property
    def is_closed(self) -> bool:
        """True after `close`."""
        return self._descriptor < 0

    @property
    def next_seq(self) -> int:
        """The number of the next line; the first is 1."""
        return self._lines + 1

    def append(self, event: LogEvent) -> None:
        """Write one line. Raises `Unavailable`, the log unchanged, if the operating system does not take it."""
        with self.held(event.at_ms):
            if event.seq != self._lines + 1:
                raise Broken(f"line {event.seq} cannot follow line {self._lines}")
            line, head = encode_line(event, self._head)
            self._write(line)
            self._lines, self._head = event.seq, head
            self._offset_bytes += len(line)

    def note(self, kind: Note, now_ms: int, fields: dict[str, int]) -> LogEvent:
        """Append a line of the auditor's own. Raises as `append` does."""
        event = LogEvent(self.next_seq, now_ms, "", "", NOTE_SENDER, kind, None, "", dict(fields))
        self.append(event)
        return event

    def sync(self) -> None:
        """Return when every line is on the disk. Raises `Unavailable`."""
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise Unavailable(f"{self.path} cannot be brought to the disk: {error}") from error

    def close(self) -> None:
        """Sync, unlock and close. Raises `Unavailable` as `sync` does, closed all the same; twice is harmless."""
        if self.is_closed:
            return
        try:
            self.sync()
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def _catch_up(self, now_ms: int) -> list[LogEvent]:
        """What stands after the line that was last known, a torn one cut off."""
        added: list[LogEvent] = []
        for line in read_lines(Path(f"/proc/self/fd/{self._descriptor}"), self.end):
            if line.event is None:
                raise Broken(f"line {line.lines} of {self.path} is damaged: move it away to begin a new log")
            added.append(line.event)
            self._offset_bytes, self._lines, self._head = line.offset_bytes, line.lines, line.head
        cut_bytes = os.fstat(self._descriptor).st_size - self._offset_bytes
        if cut_bytes:
            os.ftruncate(self._descriptor, self._offset_bytes)
            added.append(self.note(Note.REPAIRED, now_ms, {"cut_bytes": cut_bytes}))
        return added

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                os.ftruncate(self._descriptor, self._offset_bytes)  # else who comes next does, and notes it
        except OSError as error:
            raise Unavailable(f"{self.path} cannot be written: {error}") from error
        if written < len(line):
            raise Unavailable(f"{self.path} took {written} of {len(line)} bytes")


def read_lines(path: Path, start: LogPosition | None = None) -> Iterator[CheckedLine]:
    """The whole lines after `start`, each checked against the one before; an unfinished last line is left out.

    Raises `Refused("audit_log_missing")`.
    """
    start = start or LogPosition()
    offset_bytes, lines, head = start.offset_bytes, start.lines, start.head
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise Refused("audit_log_missing", f"there is no audit log at {path}") from error
    with file:
        file.seek(offset_bytes)
        while (raw := file.readline(LINE_BYTES_MAX)).endswith(b"\n"):
            offset_bytes += len(raw)
            lines += 1
            event, fault = None, ""
            try:
                event, prev, digest = decode_line(raw[:-1])
            except ValueError as error:
                fault = str(error)
            else:
                if prev != head or event.seq != lines:
                    fault = "the line before it was changed, removed or moved"
                head = digest
            yield CheckedLine(event, fault, offset_bytes, lines, head)


def verify_log(path: Path) -> LogCheck:
    """Read a log from its first line to its last or to the first that is broken. Raises as `read_lines` does."""
    last: CheckedLine | None = None
    for line in read_lines(path):
        if line.fault:
            end = last.end if last else LogPosition()
            return LogCheck(end=end, broken_line=line.lines, reason=line.fault)
        last = line
    end = last.end if last else LogPosition()
    torn_bytes = path.stat().st_size - end.offset_bytes
    if torn_bytes >= LINE_BYTES_MAX:
        return LogCheck(end=end, broken_line=end.lines + 1, reason="it is longer than any line", torn_bytes=torn_bytes)
    return LogCheck(end=end, torn_bytes=torn_bytes)


def heads_in(path: Path, start: LogPosition | None = None) -> Iterator[tuple[int, str]]:
    """The journal's heads after `start`, `(size, root)`, in the order in which the runtime published them.

    They are worth what the chain is worth: call `verify_log` first. Raises `Refused("audit_log_missing")`.
    """
    for line in read_lines(path, start):
        event = line.event
        if event is None or event.kind != "TreeHead" or event.violation:
            continue
        size, root = event.fields.get("size"), event.fields.get("root")
        if isinstance(size, int) and isinstance(root, str):
            yield size, root


def has_position(path: Path, position: LogPosition) -> bool:
    """True if the log still has that line at that place."""
    if position.offset_bytes == 0:
        return position == LogPosition()
    try:
        with path.open("rb") as file:
            return _position_at(file.fileno(), position.offset_bytes) == position
    except (ValueError, OSError):
        return False


def _first_position(descriptor: int, path: Path) -> LogPosition:
    """Where a writer begins."""
    lock = FileLock(path, descriptor)
    if not lock.take(HELD_WAIT_MS):
        raise Refused("audit_log_busy", f"{path} is kept by {lock.holder}")
    try:
        return _last_position(descriptor, path, os.fstat(descriptor).st_size)
    finally:
        lock.give()


def _last_position(descriptor: int, path: Path, size_bytes: int) -> LogPosition:
    """The end of the last whole line."""
    tail_bytes = min(size_bytes, LINE_BYTES_MAX)
    tail = os.pread(descriptor, tail_bytes, size_bytes - tail_bytes)
    newline = tail.rfind(b"\n")
    if newline < 0 and tail_bytes == LINE_BYTES_MAX:
        raise Broken(f"{path} ends in something longer than any line: move it away to begin a new log")
    try:
        return _position_at(descriptor, size_bytes - tail_bytes + newline + 1)
    except ValueError as error:
        raise Broken(f"the last line of {path} is damaged ({error}): move it away to begin a new log") from error


def _position_at(descriptor: int, offset_bytes: int) -> LogPosition:
    """The position of the line that ends there. Raises `ValueError` if none does."""
    if offset_bytes == 0:
        return LogPosition()
    start = max(0, offset_bytes - LINE_BYTES_MAX)
    lines = os.pread(descriptor, offset_bytes - start, start)
    if len(lines) < offset_bytes - start or not lines.endswith(b"\n"):
        raise ValueError("no line ends there")
    event, _, digest = decode_line(lines[:-1].rpartition(b"\n")[2])
    return LogPosition(offset_bytes=offset_bytes, lines=event.seq, head=digest)
