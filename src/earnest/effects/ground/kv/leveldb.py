"""The key-value store of one process: LevelDB, which locks its folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock, RLock
from typing import Final, TypeVar

from earnest.effects.ground.kv.api import REMEDY, Overlay, StoreChange, StoreView, after_prefix, checked
from earnest.effects.ground.locks import FileLock
from earnest.foundation.errors import Broken, Refused, Unavailable

try:
    import plyvel
except ImportError as error:
    raise Unavailable(f"LevelDB is not installed: install 'earnest[leveldb]' ({error})") from error

LOCK: Final = "writer.lock"
_Result = TypeVar("_Result")


class LevelDbKeyValue:
    """A folder with a database of LevelDB. See `KeyValue`.

    One process has it open, to read as well: another one is refused with `memory_in_use`. What was written is on the
    disk; of a write that a crash cut off nothing is left. Every block is held against its checksum.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self._path = path
        self._readonly = readonly
        # The database may be closed only while nobody reads.
        self._reading = RLock()
        self._writing = Lock()
        self._closed = False
        if readonly and not (path / "CURRENT").is_file():
            raise Refused("memory_missing", f"there is no memory in {path} yet")
        with ExitStack() as stack, _told(path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            # LevelDB's own lock is lost where the same process tries to open it a second time.
            lock = stack.enter_context(closing(FileLock(path / LOCK)))
            if not lock.try_take():
                raise Refused(
                    "memory_in_use", f"memory in {path} is open in {lock.holder}, and LevelDB lets one have it"
                )
            self._database = self._opened()
            self._held = stack.pop_all()

    def read(self, look: Callable[[StoreView], _Result]) -> _Result:
        """See `KeyValue`."""
        with self._reading, _told(self._path):
            self._ensure_open()
            with closing(self._database.snapshot()) as snapshot:
                return look(_View(snapshot))

    def write(self, change: Callable[[StoreChange], _Result]) -> _Result:
        """See `KeyValue`."""
        with self._writing, _told(self._path):
            self._ensure_open()
            with closing(self._database.snapshot()) as snapshot:
                overlay = Overlay(_View(snapshot))
                result = change(overlay)
            self._keep(overlay)
            return result

    def close(self) -> None:
        """See `KeyValue`."""
        with self._writing, self._reading:
            self._closed = True
            self._database.close()
            self._held.close()

    def _keep(self, overlay: Overlay) -> None:
        batch = self._database.write_batch(sync=True)
        for key, value in overlay.written.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            batch.write()
        except plyvel.IOError:
            # A part of it may stand at the end of the log. What is written after that could not be read again.
            with self._reading:
                self._database.close()
            raise

    def _opened(self) -> "plyvel.DB":
        return plyvel.DB(str(self._path), create_if_missing=not self._readonly, paranoid_checks=True)

    def _ensure_open(self) -> None:
        if self._closed:
            raise Unavailable(f"memory in {self._path} is closed")
        if self._database.closed:
            with self._reading:
                self._database = self._opened()


class _View:
    """Reading one snapshot."""

    def __init__(self, snapshot: "plyvel.Snapshot") -> None:
        self._snapshot = snapshot

    def get(self, key: bytes) -> bytes | None:
        found: bytes | None = self._snapshot.get(checked(key), verify_checksums=True)
        return found

    def scan(self, prefix: bytes, *, start: bytes = b"", reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        # A plain iterator backwards leaves a single row out where the range begins with it (plyvel 1.5.1).
        first, end = max(prefix, start), after_prefix(prefix)
        with closing(self._snapshot.raw_iterator(verify_checksums=True)) as cursor:
            if not reverse:
                cursor.seek(first)
            elif end is None:
                cursor.seek_to_last()
            else:
                cursor.seek(end)
                if cursor.valid():
                    cursor.prev()
                else:
                    cursor.seek_to_last()
            while cursor.valid():
                key, value = cursor.item()
                if key < first or not key.startswith(prefix):
                    return
                yield key, value
                if reverse:
                    cursor.prev()
                else:
                    cursor.next()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What LevelDB and the operating system raise, in our words."""
    try:
        yield
    except plyvel.CorruptionError as error:
        raise Broken(f"memory in {path} is damaged ({error}): {REMEDY}") from error
    except (plyvel.IOError, OSError) as error:
        raise Unavailable(f"memory in {path}: {error}") from error
    except plyvel.Error as error:  # such as a CURRENT that names nothing
        raise Broken(f"memory in {path} is damaged ({error}): {REMEDY}") from error
