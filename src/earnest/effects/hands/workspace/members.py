"""Members of an archive, and packed data read within bounds."""

import lzma
import zlib
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from earnest.foundation.errors import Refused

CHUNK_BYTES: Final = 64 * 1024
RATIO_MAX: Final = 100
RATIO_FREE_BYTES: Final = 16 * 1024 * 1024
"""So much may come out of any archive, however small."""
OVERHEAD_BYTES: Final = 64 * 1024 * 1024
"""What headers and padding may take beside the content."""
_DAMAGE: Final = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


class ArchiveMember(NamedTuple):
    """One entry. `chunks` are its bytes, exactly `size_bytes` of them; they are read before the next member is."""

    name: str
    is_folder: bool
    executable: bool
    size_bytes: int
    chunks: Iterator[bytes]


def refused(message: str) -> Refused:
    """Why an archive is not taken in."""
    return Refused("snapshot_refused", f"the archive is not taken in: {message}")


class Metered:
    """A stream that ends in `Refused` when too much comes out of it, or too much for what went in."""

    def __init__(self, unpacked: IO[bytes], packed: IO[bytes], size_bytes_max: int) -> None:
        self._unpacked = unpacked
        self._packed = packed
        self._size_bytes_max = size_bytes_max + OVERHEAD_BYTES
        self._size_bytes = 0

    def read(self, count: int) -> bytes:
        """Up to `count` bytes; fewer only at the end. `count` is at most `CHUNK_BYTES`."""
        parts: list[bytes] = []
        while count:
            try:
                part = self._unpacked.read(count)
            except _DAMAGE as error:
                raise refused(f"it is damaged: {error}") from None
            if not part:
                break
            parts.append(part)
            count -= len(part)
        data = b"".join(parts)
        self._size_bytes += len(data)
        check_flood(self._size_bytes, self._packed.tell(), self._size_bytes_max)
        return data


def check_flood(unpacked_bytes: int, packed_bytes: int, unpacked_bytes_max: int) -> None:
    """Raise `Refused` if this is a bomb."""
    if unpacked_bytes > unpacked_bytes_max:
        raise refused(f"more than {unpacked_bytes_max} bytes come out of it")
    if unpacked_bytes > max(RATIO_FREE_BYTES, RATIO_MAX * packed_bytes):
        raise refused(f"more than {RATIO_MAX} times what is in it comes out of it")
