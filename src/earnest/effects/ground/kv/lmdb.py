"""The key-value store of one machine: LMDB, which any number of processes read and write, in turns."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Final, TypeVar

import lmdb

from earnest.effects.ground.kv.api import REMEDY, StoreChange, StoreView, after_prefix, checked
from earnest.effects.ground.kv.lmdb_pages import check_pages
from earnest.effects.ground.locks import FileLock, WriteTurn
from earnest.foundation.errors import Broken, Refused, Unavailable

MAP_BYTES_FIRST: Final = 16 * 1024 * 1024
MAP_BYTES_MAX: Final = 64 * 1024 * 1024 * 1024
"""Bounds of the address space taken. The file itself is only as large as what it holds."""

DATA: Final = "data.mdb"
STAMP: Final = "sound"
WRITER: Final = "writer"
WRITER_LOCK: Final = f"{WRITER}.lock"
READ_ALWAYS_BYTES: Final = 16 * 1024 * 1024
LOOK_WAIT_MS: Final = 30_000
"""How long who opens a store waits for another one who reads all of it first."""
READERS: Final = "lock.mdb"
READERS_BYTES: Final = 8192
"""The table of readers as LMDB makes it, which every process maps to write."""

_OPENED: Final[set[tuple[int, int]]] = set()
_Result = TypeVar("_Result")


class LmdbKeyValue:
    """A folder with an LMDB environment. See `KeyValue`.

    Opening it to write raises `Refused("memory_in_use")` where this process has it open to write already (LMDB would
    lose its locks), or another one reads all of it for long. Writing raises `Unavailable` where the turn does not come.
    A commit is durable but for the last ones before a power cut, which are lost whole (`metasync` off); a killed
    process loses nothing that was committed.
    """

    def __init__(self, path: Path, *, readonly: bool = False, map_bytes: int = MAP_BYTES_FIRST) -> None:
        self._path = path
        self._closed = False
        # A map may be resized only while no transaction of this process looks at it.
        self._mapping = RLock()
        self._writing = Lock()
        self._waiting = Lock()
        with ExitStack() as stack:
            with _translated_errors(path):
                if not readonly:
                    path.mkdir(mode=0o700, parents=True, exist_ok=True)
                    _enter(path, stack)
                    self._turn = stack.enter_context(closing(WriteTurn(path / WRITER)))
                    _reserve_readers(path)
                else:
                    _ensure_there(path)
                    _ensure_sound(path, readonly=True)
                self._environment = lmdb.open(
                    str(path), map_size=map_bytes, readonly=readonly, create=not readonly, metasync=False, mode=0o600
                )
                self._environment.reader_check()
            if not readonly:
                stack.callback(_stamp, path)
            stack.callback(self._environment.close)
            self._held = stack.pop_all()

    def read(self, look: Callable[[StoreView], _Result]) -> _Result:
        """See `KeyValue`."""
        try:
            return self._read(look)
        except lmdb.MapResizedError:
            with self._writing, self._mapping:
                self._environment.set_mapsize(0)  # another process has grown the map: adopt its size
            return self._read(look)

    def write(self, change: Callable[[StoreChange], _Result]) -> _Result:
        """See `KeyValue`."""
        with self._waiting:
            self._ensure_open()
            with self._turn.taken(), self._writing:
                while True:
                    try:
                        with _translated_errors(self._path), self._environment.begin(write=True) as transaction:
                            return change(_Transaction(transaction))
                    except lmdb.MapFullError:
                        self._grow()
                    except lmdb.MapResizedError:
                        with self._mapping:
                            self._environment.set_mapsize(0)

    def close(self) -> None:
        """See `KeyValue`."""
        with self._waiting, self._writing, self._mapping:
            self._closed = True
            self._held.close()

    def _read(self, look: Callable[[StoreView], _Result]) -> _Result:
        with self._mapping, _translated_errors(self._path):
            self._ensure_open()
            with self._environment.begin() as transaction:
                return look(_Transaction(transaction))

    def _grow(self) -> None:
        with self._mapping:
            size_bytes = int(self._environment.info()["map_size"])
            if size_bytes >= MAP_BYTES_MAX:
                raise Unavailable(f"memory in {self._path} is full: {size_bytes} bytes")
            self._environment.reader_check()  # pages that killed readers held become free
            self._environment.set_mapsize(min(2 * size_bytes, MAP_BYTES_MAX))

    def _ensure_open(self) -> None:
        if self._closed:
            raise Unavailable(f"memory in {self._path} is closed")


class _Transaction:
    """Reading and writing within one LMDB transaction."""

    def __init__(self, transaction: lmdb.Transaction) -> None:
        self._transaction = transaction

    def get(self, key: bytes) -> bytes | None:
        value = self._transaction.get(checked(key))
        return None if value is None else bytes(value)

    def put(self, key: bytes, value: bytes) -> None:
        self._transaction.put(checked(key), value)

    def delete(self, key: bytes) -> None:
        self._transaction.delete(checked(key))

    def scan(self, prefix: bytes, *, start: bytes = b"", reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        with self._transaction.cursor() as cursor:
            first = max(prefix, start)
            if reverse:
                rows = cursor.iterprev() if _seek_end(cursor, prefix) else iter(())
            else:
                rows = cursor.iternext() if cursor.set_range(first) else iter(())
            for key, value in ((bytes(key), bytes(value)) for key, value in rows):
                if key < first or not key.startswith(prefix):
                    return
                yield key, value


def _seek_end(cursor: lmdb.Cursor, prefix: bytes) -> bool:
    """Move to the last key that is not beyond `prefix`; whether there is one."""
    end = after_prefix(prefix)
    if end is not None and cursor.set_range(end):
        return bool(cursor.prev())
    return bool(cursor.last())


def _ensure_there(path: Path) -> None:
    data = path / DATA
    if not data.is_file() or data.stat().st_size == 0:
        raise Refused("memory_missing", f"there is no memory in {path} yet")


def _ensure_sound(path: Path, *, readonly: bool) -> None:
    """Whoever maps a damaged file may be killed for it: read it first. Raises `lmdb.CorruptedError`.

    Beside a writing process a reader sees pages of two moments, and trusts that process, which has looked. A large
    file is read again only if it is not the one that was last looked at.
    """
    data = path / DATA
    if not data.exists() or data.stat().st_size == 0:
        return
    if data.stat().st_size > READ_ALWAYS_BYTES and _stamp_of(path) == _stamped(path):
        return
    try:
        check_pages(data, MAP_BYTES_MAX)
    except ValueError as error:
        if readonly and not _is_at_rest(path):
            return
        try:
            check_pages(data, MAP_BYTES_MAX)  # unless a writer has just ended, it is damaged still
        except ValueError:
            raise lmdb.CorruptedError(str(error)) from None
    if not readonly:
        _stamp(path)


def _reserve_readers(path: Path) -> None:
    """Give the table of readers its blocks. Raises `OSError`.

    LMDB makes it with a hole in it: who writes to that on a full disk is killed (SIGBUS).
    """
    table = os.open(path / READERS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.posix_fallocate(table, 0, READERS_BYTES)
    finally:
        os.close(table)


def _is_at_rest(path: Path) -> bool:
    """True if no process has it open to write."""
    with closing(FileLock(path / WRITER_LOCK)) as lock:
        return lock.try_take()


def _stamp_of(path: Path) -> str:
    found = (path / DATA).stat()
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _stamped(path: Path) -> str:
    try:
        return (path / STAMP).read_text()
    except OSError:
        return ""


def _stamp(path: Path) -> None:
    """Note which file is sound, so that a large one need not be read at the next start."""
    with suppress(OSError):
        (path / STAMP).write_text(_stamp_of(path))


def _enter(path: Path, stack: ExitStack) -> None:
    """Join those who write. Whoever finds nobody reads all of it first, while the others wait."""
    lock = stack.enter_context(closing(FileLock(path / WRITER_LOCK)))
    key = (path / WRITER_LOCK).stat()
    if (opened := (key.st_dev, key.st_ino)) in _OPENED:
        raise Refused("memory_in_use", f"memory in {path} is open in this process already")
    _OPENED.add(opened)
    stack.callback(_OPENED.discard, opened)
    if lock.try_take():
        _ensure_sound(path, readonly=False)
    if not lock.take(LOOK_WAIT_MS, shared=True):
        raise Refused("memory_in_use", f"memory in {path} is read from end to end by {lock.holder}")


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """What LMDB and the operating system raise, in our words. A map that is full or was grown is passed on."""
    try:
        yield
    except (lmdb.MapFullError, lmdb.MapResizedError):
        raise
    except (OSError, lmdb.DiskError, lmdb.LockError, lmdb.MemoryError, lmdb.ReadersFullError) as error:
        raise Unavailable(f"memory in {path}: {error}") from error
    except (lmdb.CorruptedError, lmdb.InvalidError, lmdb.PageNotFoundError) as error:
        raise Broken(f"memory in {path} is damaged ({error}): {REMEDY}") from error
    except lmdb.Error as error:
        raise Broken(f"memory in {path}: {error}") from error
