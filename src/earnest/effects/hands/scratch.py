"""Temporary folders that do not outlive their process for long: what a killed one left, the next one removes.

Whoever uses a folder holds a lock on it, which the kernel gives back when the process ends, however that ends. So no
number of a process is looked at, which another one may have by now.
"""

import asyncio
import fcntl
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from earnest.effects.hands.workspace.tree import remove_tree

_SUFFIX: Final = ".scratch"
SHORT: Final = "/tmp"  # noqa: S108 - where the path of a socket fits
_SHORT_BYTES_MAX: Final = 60


@contextmanager
def scratch(purpose: str, *, short: bool = False) -> Iterator[Path]:
    """An empty folder for us alone, removed at the end; with a `short` path if sockets are to lie in it."""
    place = tempfile.gettempdir()
    folder, lock = _taken(purpose, SHORT if short and len(place.encode()) > _SHORT_BYTES_MAX else place)
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


@asynccontextmanager
async def scratch_beside(purpose: str) -> AsyncIterator[Callable[[], Path]]:
    """As `scratch`, for an event loop: the folder is made in the thread that asks for it, and removed in another.

    Either takes milliseconds. Whoever asks does so `in_thread`, so that nothing is made once it is to be removed.
    """
    with ExitStack() as stack:
        try:
            yield lambda: stack.enter_context(scratch(purpose))
        finally:
            await asyncio.to_thread(stack.close)


def sweep() -> None:
    """Remove the folders of this user of which nobody holds the lock."""
    for place in {tempfile.gettempdir(), SHORT}:
        with suppress(OSError):
            for left in Path(place).glob(f"earnest-*{_SUFFIX}"):
                lock = _locked(left)
                if lock is not None:
                    _remove(left)
                    os.close(lock)


def _remove(folder: Path) -> None:
    """What cannot be removed now is tried again by the next sweep."""
    with suppress(OSError):
        for left in folder.iterdir():
            remove_tree(left, folder)
        folder.rmdir()


def _taken(purpose: str, place: str) -> tuple[Path, int]:
    """Between its making and its locking a sweeper may have removed it: then another one is made."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"earnest-{purpose}-", suffix=_SUFFIX, dir=os.path.realpath(place)))
        lock = _locked(folder)
        if lock is not None:
            return folder, lock


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the lock of a folder that is ours and still there; None if there is none to be had."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(lock)
        if status.st_uid == os.geteuid() and os.path.samestat(status, folder.lstat()):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
