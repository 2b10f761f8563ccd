"""Locks between processes, by `flock`: the kernel gives one back when its holder ends, however that ends."""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.foundation.errors import Unavailable

TURN_WAIT_MS: Final = 10_000
"""How long a writer waits for its turn. A group takes milliseconds: a longer wait means a stopped holder."""
ALONE_LOOK_MS: Final = 100
_PAUSE_S: Final = 0.000_2
_PAUSE_MAX_S: Final = 0.005
_GROWTH: Final = 1.1
_STOPPED: Final = frozenset({"T", "t"})


class FileLock:
    """A lock on a file of its own, which it makes (mode 0600), or on one that is open as `descriptor`.

    Two objects exclude each other in one process, too.
    """

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        self.path: Final = path
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600) if descriptor is None else descriptor

    def try_take(self, *, shared: bool = False) -> bool:
        """Take it now; False if somebody else has it. `shared`: with others who share it. A holder may change over."""
        try:
            fcntl.flock(self._file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def take(self, wait_ms: int, *, shared: bool = False) -> bool:
        """As `try_take`, for a thread that may wait for about `wait_ms`."""
        return self.try_take(shared=shared) or any(self.try_take(shared=shared) for _ in _pauses(wait_ms))

    def give(self) -> None:
        """Let others take it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give it back for good. The file stays: removed, it would let two holders each have a file of their own."""
        os.close(self._file)

    @property
    def holder(self) -> str:
        """Who has it, in words: pid, and whether that process is stopped, where the kernel says so."""
        pids = sorted(set(_holders(os.fstat(self._file).st_ino)))
        if not pids:
            return "another process"
        return "the process with " + ", ".join(f"pid {pid}{_stopped(pid)}" for pid in pids)


@asynccontextmanager
async def alone(path: Path, clock: Clock, wait_ms: int) -> AsyncIterator[None]:
    """A lock on `path` for a block; others go on while it is waited for.

    Raises `Unavailable`, naming the holder, after `wait_ms`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(FileLock(path)) as lock:
        end_ns = clock.ticks_ns() + wait_ms * 1_000_000
        while not lock.try_take():
            if clock.ticks_ns() >= end_ns:
                raise Unavailable(f"{path} is held by {lock.holder}", retry_after_ms=ALONE_LOOK_MS)
            await clock.sleep_ms(ALONE_LOOK_MS)
        yield


def folder_lock(folder: Path) -> FileLock:
    """A lock on a folder, in which it leaves nothing. Raises `OSError`."""
    return FileLock(folder, os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))


@contextmanager
def folder_alone(folder: Path, busy: str) -> Iterator[None]:
    """A lock on a folder for a block. Raises `Unavailable`, in the words `busy`, where another process has it."""
    with closing(folder_lock(folder)) as lock:
        if not lock.try_take():
            raise Unavailable(busy)
        yield


class WriteTurn:
    """Who writes next, over all processes: one at a time, and nobody twice while another waits.

    Whoever wants the turn takes the queue, then the turn, and gives the queue back. For one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        """`path` with `.queue` and `.turn` after it are the two locks."""
        self._queue = FileLock(path.with_name(f"{path.name}.queue"))
        self._turn = FileLock(path.with_name(f"{path.name}.turn"))

    def try_take(self) -> bool:
        """Take the turn if it is free and nobody waits for it."""
        if not self._queue.try_take():
            return False
        try:
            return self._turn.try_take()
        finally:
            self._queue.give()

    def take(self, wait_ms: int = TURN_WAIT_MS) -> None:
        """Wait for the turn. Raises `Unavailable`, naming the holder, after about `wait_ms`."""
        try:
            for lock in (self._queue, self._turn):
                if not lock.take(wait_ms):
                    raise Unavailable(f"{self._turn.path} is held by {self._turn.holder}", retry_after_ms=wait_ms)
        finally:
            self._queue.give()

    def give(self) -> None:
        """End the turn."""
        self._turn.give()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """The turn, for a block. Raises as `take`."""
        self.take()
        try:
            yield
        finally:
            self.give()

    def close(self) -> None:
        """Close both locks."""
        self._queue.close()
        self._turn.close()


def _pauses(wait_ms: int) -> Iterator[float]:
    """Pauses, taken as they are drawn: short at first, as most holders are done in a millisecond."""
    pause_s, left_s = _PAUSE_S, wait_ms / 1000
    nobody = Event()
    while left_s > 0:
        nobody.wait(pause_s)
        yield pause_s
        left_s -= pause_s
        pause_s = min(pause_s * _GROWTH, _PAUSE_MAX_S)


def _holders(inode: int) -> Iterator[int]:
    with suppress(OSError, ValueError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            match line.split():
                case [_, "FLOCK", _, _, pid, file, *_] if file.endswith(f":{inode}") and int(pid) > 0:
                    yield int(pid)


def _stopped(pid: int) -> str:
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
        return ", which is stopped" if state in _STOPPED else ""
    return ""
