"""The writers of an audit log. One line a message, each line holding the hash of the one before."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from earnest.audit.event import NOTE_SENDER, LogEvent, LogPosition, Note, encode_line
from earnest.audit.files import full_files, full_name
from earnest.audit.reading import has_position, last_position, read_lines
from earnest.effects.ground.durable import sync_folder
from earnest.effects.ground.locks import FileLock
from earnest.foundation.errors import Broken, Refused, Unavailable

HELD_WAIT_MS: Final = 200
"""How long a writer waits for the line of another one, which takes microseconds."""
FILE_BYTES: Final = 64 * 1024 * 1024
"""At which size a file is full, and the next one is begun."""

_log: Final = logging.getLogger(__name__)


class AuditLog:
    """One of the writers of a log. Lines reach the operating system one by one, the disk with `sync`.

    The lock is on the file that is written: who renames a full one holds it, and who gets it then sees another file at
    the path, and goes on there.
    """

    def __init__(self, path: Path, descriptor: int, file_bytes: int) -> None:
        self.path: Final = path
        self._descriptor = descriptor
        self._use(descriptor)
        self._wait_ms = HELD_WAIT_MS
        self._is_held = False
        self._file_bytes = file_bytes
        self._full_at_bytes = file_bytes
        self.end = LogPosition()
        """The last line."""
        self._offset_bytes = 0

    @classmethod
    def open(cls, path: Path, now_ms: int, file_bytes: int = FILE_BYTES) -> "AuditLog":
        """Open or create (mode 0600), and cut off an unfinished last line, which is noted.

        Raises `Refused("audit_log_busy")` while another process keeps it to itself, `Broken` if the last whole line is
        damaged.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = cls(path, _open(path), file_bytes)
        try:
            try:
                log._take()
            except Unavailable as error:
                raise Refused("audit_log_busy", str(error)) from error
            log._start()
            log._lock.give()
            with log.held(now_ms):
                return log
        except BaseException:
            os.close(log._descriptor)
            raise

    @contextmanager
    def held(self, now_ms: int) -> Iterator[list[LogEvent]]:
        """The log without other writers, for a block; and the lines that they, or a repair, have added since the last.

        A file that is full is put aside before. Raises `Unavailable` where another process does not give the log back,
        or no file can be opened, `Broken` for a line that cannot be read.
        """
        if self._is_held:
            yield []
            return
        size_bytes = self._take()
        self._is_held = True
        try:
            added = self._catch_up(size_bytes, now_ms)
            while self._offset_bytes >= self._full_at_bytes and self._put_aside():
                self._lock.give()
                added += self._catch_up(self._take(), now_ms)
            yield added
        finally:
            self._is_held = False
            self._lock.give()

    @property
    def is_closed(self) -> bool:
        """True after `close`."""
        return self._descriptor < 0

    @property
    def next_seq(self) -> int:
        """The number of the next line; the first is 1."""
        return self.end.lines + 1

    def append(self, event: LogEvent) -> None:
        """Write one line. Raises `Unavailable`, the log unchanged, if the operating system does not take it."""
        if not self._is_held:
            with self.held(event.at_ms):
                self.append(event)
            return
        if event.seq != self.next_seq:
            raise Broken(f"line {event.seq} cannot follow line {self.end.lines}")
        line, head = encode_line(event, self.end.head)
        self._write(line)
        self._offset_bytes += len(line)
        self.end = LogPosition(offset_bytes=self._offset_bytes, lines=event.seq, head=head)

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

    def _use(self, descriptor: int) -> None:
        """Write to this file."""
        self._descriptor = descriptor
        self._lock = FileLock(self.path, descriptor)
        status = os.fstat(descriptor)
        self._file = status.st_dev, status.st_ino

    def _take(self) -> int:
        """Lock the file at the path, which others may have put aside since; its size. Raises `Unavailable`."""
        while True:
            if not self._lock.take(self._wait_ms):
                self._wait_ms = 0  # once is enough: no publisher waits for a stopped process again and again
                raise Unavailable(f"{self.path} is kept by {self._lock.holder}")
            self._wait_ms = HELD_WAIT_MS
            try:
                there = os.lstat(self.path)
                if (there.st_dev, there.st_ino) == self._file:
                    return there.st_size
            except FileNotFoundError:
                pass
            try:
                descriptor = _open(self.path)
            except OSError as error:
                raise Unavailable(f"{self.path} cannot be opened: {error}") from error
            os.close(self._descriptor)
            self._use(descriptor)
            self._full_at_bytes, self._offset_bytes = self._file_bytes, 0

    def _start(self) -> None:
        """Take the last line for known. Raises `Broken` if it is damaged."""
        try:
            self.end = last_position(self.path)
        except ValueError as error:
            raise Broken(
                f"the last line of {self.path} is damaged ({error}): move it away to begin a new log"
            ) from error
        self._offset_bytes = self._offset_of_end()

    def _offset_of_end(self) -> int:
        """Where the last line ends in the file that is written: 0 if it stands in one before."""
        full = full_files(self.path)
        return 0 if full and full[-1].last_line >= self.end.lines else self.end.offset_bytes

    def _catch_up(self, size_bytes: int, now_ms: int) -> list[LogEvent]:
        """What stands after the line that was last known, a torn one cut off."""
        if self._offset_bytes and size_bytes == self._offset_bytes:
            return []
        if not self._offset_bytes and not has_position(self.path, self.end):
            self._start()  # somebody moved the log away
        added: list[LogEvent] = []
        for line in read_lines(self.path, self.end):
            if line.event is None:
                raise Broken(f"line {line.lines} of {self.path} is damaged: move it away to begin a new log")
            added.append(line.event)
            self.end = line.end
        self._offset_bytes = self._offset_of_end()
        cut_bytes = size_bytes - self._offset_bytes
        if cut_bytes:
            os.ftruncate(self._descriptor, self._offset_bytes)
            added.append(self.note(Note.REPAIRED, now_ms, {"cut_bytes": cut_bytes}))
        return added

    def _put_aside(self) -> bool:
        """Give the file, which is full, the name that it keeps; False, and later again, if that cannot be done."""
        try:
            self.sync()
            self.path.rename(full_name(self.path, self.end.lines))
        except (OSError, Unavailable) as error:
            _log.warning("the audit log goes on in a file that is full: %s", error)
            self._full_at_bytes += self._file_bytes
            return False
        return True

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                os.ftruncate(self._descriptor, self._offset_bytes)  # else who comes next does, and notes it
        except OSError as error:
            raise Unavailable(f"{self.path} cannot be written: {error}") from error
        if written < len(line):
            raise Unavailable(f"{self.path} took {written} of {len(line)} bytes")


def _open(path: Path) -> int:
    """The file that is written, made where there is none, its name on the disk before any line. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        if not os.fstat(descriptor).st_size:
            sync_folder(path.parent)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
