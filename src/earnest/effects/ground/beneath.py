"""Files reached so that neither `..` nor any link, nor a swap while we look, can lead out of a folder.

Every component is opened on its own, by the descriptor of the folder before it. Links inside a user's inputs are
followed as text, component by component again, with what they climb counted.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LINKS_MAX: Final = 16
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened_beneath(root: Path, path: str, flags: int, *, make_parents: bool = False) -> Iterator[int]:
    """A descriptor of the regular file at `path` below `root`; `root` itself if the path is empty.

    Raises `OSError`: EXDEV if a link would lead out, ELOOP after `LINKS_MAX` links, EINVAL for what is no regular file.
    """
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = _opened(root, path, flags, make_parents=make_parents) if path else os.open(root, flags)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(root: Path, path: str, flags: int, *, make_parents: bool) -> int:
    """Walk down from `root`, holding the descriptors of all folders above, so that `..` needs no look at the disk."""
    folders = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    ahead = path.split("/")[::-1]
    links_left = LINKS_MAX
    try:
        while ahead:
            name = ahead.pop()
            if name in {"", "."}:
                continue
            if name == "..":
                if len(folders) == 1:
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
                os.close(folders.pop())
            elif (target := _link_target(name, folders[-1])) is not None:
                links_left -= 1
                if target.startswith("/"):
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
                if links_left < 0:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                ahead += target.split("/")[::-1]
            elif any(part not in {"", "."} for part in ahead):
                folders.append(_entered(name, folders[-1], make_parents=make_parents))
            else:
                return os.open(name, flags, 0o644, dir_fd=folders[-1])
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    finally:
        for folder in folders:
            os.close(folder)


def _link_target(name: str, folder: int) -> str | None:
    """Where the link `name` leads; None if it is no link or does not exist."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT}:
            return None
        raise


def _entered(name: str, folder: int, *, make_parents: bool) -> int:
    if make_parents:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)
