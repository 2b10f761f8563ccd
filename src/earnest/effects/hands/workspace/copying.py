"""Copying a file as cheaply as the file system allows, and digesting it on the way."""

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

_FICLONE: Final = 0x40049409  # linux/fs.h: share the blocks until one side writes
_CHUNK_BYTES: Final = 1024 * 1024
_HOLE: Final = bytes(_CHUNK_BYTES)
_NEVER_HERE: Final = frozenset({errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS})
_NOT_HERE: Final = frozenset({errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM})


def copy_and_digest(
    source: int, target: Path | str, *, executable: bool, folder: int | None = None
) -> tuple[os.stat_result, str]:
    """As `copy_file`, and the digest of what was copied, which is read once."""
    digest = hashlib.sha256()
    status = copy_file(source, target, executable=executable, folder=folder, read=digest.update)
    return status, "sha256:" + digest.hexdigest()


def copy_file(
    source: int,
    target: Path | str,
    *,
    executable: bool,
    folder: int | None = None,
    read: Callable[[bytes], None] | None = None,
) -> os.stat_result:
    """Write what the descriptor `source` holds to the new file `target`; gives the new file's status.

    `target` may be a name in a `folder`; `read` is handed all that the source holds, in order.
    The copy is older by one nanosecond. A kernel's clock may stand still for milliseconds; a write to the copy would
    otherwise give it the time that the original has when that was written just before.
    """
    before = os.fstat(source)
    has_holes = before.st_blocks * 512 < before.st_size  # which a kernel that copies writes out
    mode = 0o755 if executable else 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    copy = os.open(target, flags, mode, dir_fd=folder)
    try:
        is_cloned = before.st_size > 0 and _cloned(source, copy, before.st_dev)
        if read is not None:
            _copied_by_hand(source, None if is_cloned else copy, read, before.st_size)
        elif before.st_size and not is_cloned and (has_holes or not _copied_by_kernel(source, copy)):
            _copied_by_hand(source, copy)
        os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns - 1))
        after = os.fstat(copy)
        if stat.S_IMODE(after.st_mode) != mode:  # the umask took something
            os.fchmod(copy, mode)
            after = os.fstat(copy)
        return after
    finally:
        os.close(copy)


_unshared: Final[set[int]] = set()
"""Devices whose file system is known to share no blocks: of many files each would be asked about."""


def _cloned(source: int, copy: int, device: int) -> bool:
    if device in _unshared:
        return False
    try:
        fcntl.ioctl(copy, _FICLONE, source)
    except OSError as error:
        if error.errno in _NEVER_HERE:
            _unshared.add(device)
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


def _copied_by_hand(
    source: int, copy: int | None, read: Callable[[bytes], None] | None = None, size_bytes: int = 0
) -> None:
    """To nowhere, if there is no `copy`. A file of `size_bytes` is mostly read at once: a byte more tells its end."""
    offset, is_whole, has_holes = 0, False, False
    while not is_whole:
        wanted = _CHUNK_BYTES if offset >= size_bytes else min(_CHUNK_BYTES, size_bytes - offset + 1)
        data = os.pread(source, wanted, offset)
        is_whole = len(data) < wanted
        if not data:
            break
        if read is not None:
            read(data)
        is_hole = data == _HOLE  # what is mostly holes stays so
        written, has_holes = len(data) if is_hole else 0, has_holes or is_hole
        while copy is not None and written < len(data):
            written += os.pwrite(copy, data[written:] if written else data, offset + written)
        offset += len(data)
    if copy is not None and has_holes:
        os.ftruncate(copy, offset)
