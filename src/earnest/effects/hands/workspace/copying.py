"""Copying a file as cheaply as the file system allows, and digesting it on the way."""

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

_FICLONE: Final = 0x40049409  # linux/fs.h: share the blocks until one side writes
_CHUNK_BYTES: Final = 1024 * 1024
_NOT_HERE: Final = frozenset({errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM})


def copy_file(source: int, target: Path, *, executable: bool) -> os.stat_result:
    """Write what the descriptor `source` holds to the new file `target`; gives the new file's status.

    The copy is older by one nanosecond. A kernel's clock may stand still for milliseconds; a write to the copy would
    otherwise give it the time that the original has when that was written just before.
    """
    return _copied(source, target, executable, None)


def copy_and_digest(source: int, target: Path, *, executable: bool) -> tuple[os.stat_result, str]:
    """As `copy_file`, and the digest of what was copied, which is read once."""
    digest = hashlib.sha256()
    status = _copied(source, target, executable, digest.update)
    return status, "sha256:" + digest.hexdigest()


def _copied(source: int, target: Path, executable: bool, read: Callable[[bytes], None] | None) -> os.stat_result:
    """`read` is handed all that the source holds, in order."""
    before = os.fstat(source)
    mode = 0o755 if executable else 0o644
    copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        is_cloned = before.st_size > 0 and _cloned(source, copy)
        if read is not None:
            _copied_by_hand(source, None if is_cloned else copy, read)
        elif before.st_size and not is_cloned and not _copied_by_kernel(source, copy):
            _copied_by_hand(source, copy)
        os.fchmod(copy, mode)  # whatever the umask
        os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns - 1))
        return os.fstat(copy)
    finally:
        os.close(copy)


def _cloned(source: int, copy: int) -> bool:
    try:
        import fcntl  # noqa: PLC0415  (not on every system)

        fcntl.ioctl(copy, _FICLONE, source)
    except (ImportError, OSError):
        return False
    return True


def _copied_by_kernel(source: int, copy: int) -> bool:
    if not hasattr(os, "copy_file_range"):
        return False
    offset = 0
    try:
        while sent := os.copy_file_range(source, copy, _CHUNK_BYTES * 64, offset, offset):
            offset += sent
    except OSError as error:
        if error.errno in _NOT_HERE and offset == 0:
            return False
        raise
    return offset > 0


def _copied_by_hand(source: int, copy: int | None, read: Callable[[bytes], None] | None = None) -> None:
    """To nowhere, if there is no `copy`."""
    offset = 0
    while data := os.pread(source, _CHUNK_BYTES, offset):
        if read is not None:
            read(data)
        written = 0
        while copy is not None and written < len(data):
            written += os.pwrite(copy, data[written:] if written else data, offset + written)
        offset += len(data)
