"""The write-ahead log of the books, read as bytes: SQLite takes a damaged frame for the end and says nothing.

What was committed in that frame and after it is then gone. Format: https://sqlite.org/fileformat2.html#walformat.
"""

import fcntl
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

HEAD: Final = struct.Struct(">8I")
FRAME: Final = struct.Struct(">6I")
MAGIC: Final = 0x377F0682
"""With a last bit of 1 the checksums are of big-endian words."""
INDEX: Final = struct.Struct("=IIIBBHII2I2I2I")
"""The header of the index (`-shm`), of which there are two copies."""
_MASK: Final = 0xFFFFFFFF


def wal_faults(books: Path) -> tuple[str, ...]:
    """What is wrong with the log beside `books`, in words; call it before anything opens them.

    Empty while a process may write to them: that one has read the log. A frame that a power cut tore while it was
    written looks like a damaged one; nobody was told that it is durable.
    """
    try:
        with books.with_name(f"{books.name}.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _faults(books.with_name(f"{books.name}-wal"), books.with_name(f"{books.name}-shm"))
    except (FileNotFoundError, BlockingIOError):
        return ()


def _faults(wal: Path, index: Path) -> tuple[str, ...]:
    data = wal.read_bytes() if wal.exists() else b""
    expected, salts = _index_of(index.read_bytes() if index.exists() else b"")
    if len(data) < HEAD.size:
        return (f"{wal} is gone or cut: {expected} frames of it were written",) if expected else ()
    magic, _, page_bytes, _, salt_1, salt_2, *sums = HEAD.unpack_from(data)
    order = ">" if magic & 1 else "<"
    if magic & ~1 != MAGIC or _sums(data[: HEAD.size - 8], order, (0, 0)) != tuple(sums):
        return (f"{wal}: its header is damaged: nothing of it is read",)
    last, running = 0, (sums[0], sums[1])
    places = range(HEAD.size, len(data) - FRAME.size - page_bytes + 1, FRAME.size + page_bytes)
    for frame, at in enumerate(places, start=1):
        *words, is_salt_1, is_salt_2, one, other = FRAME.unpack_from(data, at)
        if is_salt_1 != salt_1 and is_salt_2 != salt_2:
            break  # of an earlier round through the file
        framed = data[at : at + 8] + data[at + FRAME.size : at + FRAME.size + page_bytes]
        running = _sums(framed, order, running)
        if (is_salt_1, is_salt_2) != (salt_1, salt_2) or running != (one, other):
            return (f"{wal}: frame {frame} is damaged: neither it nor what was written after it is read",)
        last = frame if words[1] else last
    if salts == (salt_1, salt_2) and last < expected:
        return (f"{wal} ends with frame {last}: {expected} were written",)
    return ()


def _index_of(data: bytes) -> tuple[int, tuple[int, int]]:
    """How many frames the index knows, and of which salts; none if it is not whole, which is no loss."""
    if len(data) < 2 * INDEX.size or data[: INDEX.size] != data[INDEX.size : 2 * INDEX.size]:
        return 0, (0, 0)
    fields = INDEX.unpack_from(data)
    if _sums(data[: INDEX.size - 8], "=", (0, 0)) != fields[-2:]:
        return 0, (0, 0)
    # The salts stand there as they stand in the log, byte for byte.
    return fields[6], struct.unpack_from(">2I", data, 32)


def _sums(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    """The running checksum after `data`."""
    first, second = start
    words: Sequence[int] = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & _MASK
        second = (second + words[at + 1] + first) & _MASK
    return first, second
