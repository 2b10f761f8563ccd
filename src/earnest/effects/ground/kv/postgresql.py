"""The key-value store of many machines: rows of a table in the books' database, which processes write in turns."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from threading import Lock, RLock
from typing import Final, TypeVar

from earnest.effects.ground.kv.api import Overlay, StoreChange, StoreView, after_prefix, checked
from earnest.effects.ground.storage.driver import DATABASE_ERROR, meaning_of
from earnest.effects.ground.storage.engine import DriverSession
from earnest.effects.ground.storage.postgresql import PostgresqlWriting
from earnest.effects.ground.storage.postgresql_reading import PostgresqlReading
from earnest.foundation.errors import Refused, Unavailable

TURN: Final = 0x6B766B76
"""The key of the advisory lock: memory waits for no turn of the books, nor the books for memory."""
ROWS_FIRST: Final = 16
"""Rows of the first page of a scan: most scans look at few."""
ROWS_MAX: Final = 1_024
WRITTEN_BYTES: Final = 8 * 1024 * 1024
"""Of values in one statement."""
_IS_THERE: Final = "SELECT 1 WHERE to_regclass('memory_rows') IS NOT NULL"
_HAS_ROWS: Final = "SELECT 1 FROM memory_rows WHERE store = ? LIMIT 1"
_GET: Final = "SELECT value FROM memory_rows WHERE store = ? AND key = ?"
_SCAN: Final = "SELECT key, value FROM memory_rows WHERE store = ? AND key >= ? AND key < ? ORDER BY key"
_PUT: Final = (
    "INSERT INTO memory_rows (store, key, value) VALUES (?, ?, ?) "
    "ON CONFLICT (store, key) DO UPDATE SET value = excluded.value"
)
_DELETE: Final = "DELETE FROM memory_rows WHERE store = ? AND key = ANY(?)"
_REMOVE: Final = "DELETE FROM memory_rows WHERE store = ?"
_RENAME: Final = "UPDATE memory_rows SET store = ? WHERE store = ?"
_END: Final = b"\xff" * 512
"""After every key."""
_Result = TypeVar("_Result")


class _Turn(PostgresqlWriting):
    """The connection that writes memory."""

    turn = TURN


class PostgresqlKeyValue:
    """The rows of one `store`. See `KeyValue`. Any number of processes, of any machines, have it open.

    Reading is REPEATABLE READ; who writes has the turn of memory, reads what the last holder has committed, and sends
    all that it writes at the end. A holder that stops loses its turn as one of the books does.
    """

    def __init__(self, address: str, store: str, *, readonly: bool = False) -> None:
        self._address = address
        self._store = store
        self._closed = False
        self._reading = RLock()
        self._writing = Lock()
        self._links = ExitStack()
        self._reader = self._linked()
        self._writer = None if readonly else _Turn(address)
        if self._writer:
            self._links.callback(self._writer.close)
        elif not self._is_there():
            self.close()
            raise Refused("memory_missing", "there is no memory in the database of the books yet")

    def read(self, look: Callable[[StoreView], _Result]) -> _Result:
        """See `KeyValue`. A look within a look sees the same moment."""
        with self._reading:
            self._ensure_open()
            if self._reader.session.in_transaction:
                return look(_View(self._reader.session, self._store))
            try:
                return self._looked(look)
            except Unavailable:
                if not self._reader.session.connection.closed:
                    raise
            self._reader = self._linked()  # the server went away meanwhile: once more, on a new connection
            return self._looked(look)

    def write(self, change: Callable[[StoreChange], _Result]) -> _Result:
        """See `KeyValue`."""
        with self._writing:
            self._ensure_open()
            writer = self._writer
            if writer is None:
                raise Unavailable("memory was opened to be read")
            writer.hold()
            try:
                overlay = Overlay(_View(writer.session, self._store))
                result = change(overlay)
                _put_all(writer.session, self._store, overlay)
                writer.commit()
            except DATABASE_ERROR as error:
                raise meaning_of(error) from error
            finally:
                writer.give()
            return result

    def close(self) -> None:
        """See `KeyValue`."""
        with self._writing, self._reading:
            self._closed = True
            self._links.close()

    def _looked(self, look: Callable[[StoreView], _Result]) -> _Result:
        try:
            self._reader.begin()
            try:
                return look(_View(self._reader.session, self._store))
            finally:
                with suppress(*DATABASE_ERROR):
                    self._reader.end()
        except DATABASE_ERROR as error:
            raise meaning_of(error) from error

    def _linked(self) -> PostgresqlReading:
        link = PostgresqlReading(self._address)
        self._links.callback(link.close)
        return link

    def _is_there(self) -> bool:
        session = self._reader.session
        has_table = session.execute(_IS_THERE).fetchone()
        return has_table == (1,) and session.execute(_HAS_ROWS, (self._store,)).fetchone() is not None

    def _ensure_open(self) -> None:
        if self._closed:
            raise Unavailable("memory is closed")


def exchange_rows(address: str, store: str, new: str) -> None:
    """The rows of store `new` become those of `store`, in one transaction; `new` empty: they are removed."""
    with closing(_Turn(address)) as writer:
        writer.hold()
        try:
            writer.session.execute(_REMOVE, (store,))
            writer.session.execute(_RENAME, (store, new))
            writer.commit()
        except DATABASE_ERROR as error:
            raise meaning_of(error) from error
        finally:
            writer.give()


class _View:
    """Reading within a transaction; what was looked up is not asked for again."""

    def __init__(self, session: DriverSession, store: str) -> None:
        self._session = session
        self._store = store
        self._known: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        if key not in self._known:
            row = self._session.execute(_GET, (self._store, checked(key))).fetchone()
            self._known[key] = None if row is None else bytes(row[0])
        return self._known[key]

    def scan(self, prefix: bytes, *, start: bytes = b"", reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        low, high = max(prefix, start), after_prefix(prefix) or _END
        limit = ROWS_FIRST
        while low < high:
            sql = f"{_SCAN}{' DESC' if reverse else ''} LIMIT {limit}"
            rows = self._session.execute(sql, (self._store, low, high)).fetchall()
            for key, value in rows:
                yield bytes(key), bytes(value)
            if len(rows) < limit:
                return
            last = bytes(rows[-1][0])
            low, high = (low, last) if reverse else (last + b"\x00", high)
            limit = min(4 * limit, ROWS_MAX)


def _put_all(session: DriverSession, store: str, overlay: Overlay) -> None:
    gone = [key for key, value in overlay.written.items() if value is None]
    if gone:
        session.execute(_DELETE, (store, gone))  # type: ignore[arg-type]
    rows: list[tuple[str, bytes, bytes]] = []
    size_bytes = 0
    for key, value in overlay.written.items():
        if value is not None:
            rows.append((store, key, value))
            size_bytes += len(value)
        if size_bytes >= WRITTEN_BYTES:
            session.executemany(_PUT, rows)
            rows, size_bytes = [], 0
    if rows:
        session.executemany(_PUT, rows)
