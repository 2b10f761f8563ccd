"""The part of an audit log that goes with a copy of the books: nothing in it speaks of facts that the copy lacks."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from earnest.audit.event import LINE_BYTES_MAX, decode_line
from earnest.audit.files import has_log, opened


class Mark(NamedTuple):
    """How far a log went at some moment: so many bytes of the file that was written then."""

    inode: int = 0
    size_bytes: int = 0


class LogPart(NamedTuple):
    """A file that goes along, its first `size_bytes`; `name` is what it is called there."""

    file: IO[bytes]
    name: str
    size_bytes: int


def mark_in(log: Path) -> Mark:
    """Where it ends now, whole lines or not."""
    if not log.is_file():
        return Mark()
    status = log.stat()
    return Mark(status.st_ino, status.st_size)


def parts_up_to(log: Path, certain: Mark, last_seq: int) -> Iterator[LogPart]:
    """What comes, in whole lines, before the first head that a later fact than `last_seq` holds; file by file.

    What was there at `certain`, before the books were copied, is not read. Every line that a head in the copy knows of
    comes before: it was on the disk when that head was recorded. Raises `OSError`.
    """
    if not has_log(log):
        return
    with opened(log) as there:
        is_known = any(os.fstat(file.fileno()).st_ino == certain.inode for file, _ in there.files())
        for file, is_full in there.files():
            status = os.fstat(file.fileno())
            if is_known and status.st_ino != certain.inode:
                yield LogPart(file, Path(file.name).name, status.st_size)
                continue
            end, is_cut = _end(file, certain.size_bytes if is_known else 0, last_seq)
            is_known = False  # all after this one is read
            yield LogPart(file, Path(file.name).name if is_full and not is_cut else log.name, end)
            if is_cut:
                return


def _end(file: IO[bytes], certain_bytes: int, last_seq: int) -> tuple[int, bool]:
    """Where the lines end that go along, and whether others follow."""
    end = max(0, certain_bytes - LINE_BYTES_MAX)
    file.seek(end)
    lines = file.read(certain_bytes - end)
    end += lines.rfind(b"\n") + 1
    file.seek(end)
    while (line := file.readline(LINE_BYTES_MAX)).endswith(b"\n"):
        if _size_in(line) >= last_seq:
            return end, True
        end += len(line)
    return end, False


def _size_in(line: bytes) -> int:
    """Of how many facts the line's head is; -1 for a line that holds none. That head is the fact after them."""
    try:
        event = decode_line(line[:-1]).event
    except ValueError:
        return -1
    size = event.fields.get("size")
    return size if event.kind == "TreeHead" and isinstance(size, int) else -1
