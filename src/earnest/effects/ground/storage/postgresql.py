"""Books on a server of PostgreSQL. Processes, on any machines, take turns by an advisory lock of the transaction.

Under the turn one group writes at a time, so READ COMMITTED is serial, and nothing has to be tried again. A holder that
is stopped is idle in a transaction, which the server ends after `IDLE_MS`: that frees its turn.
"""

import contextlib
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import count
from typing import Any, Final, cast

from earnest.effects.ground.storage.catalog import objects_in, objects_of
from earnest.effects.ground.storage.dialects import POSTGRESQL, Dialect, numbered
from earnest.effects.ground.storage.driver import ServerFault, SqlParameters, SqlValue
from earnest.effects.ground.storage.schema import VERSION_TABLE, Schema, compared, is_older, revision_among
from earnest.foundation.errors import Refused, Unavailable

try:
    import psycopg
    from psycopg.adapt import Buffer, Dumper, Loader
    from psycopg.pq import TransactionStatus
    from psycopg.types.numeric import Int8Dumper
except ImportError as error:
    raise Unavailable(f"what speaks to PostgreSQL is not installed: install 'earnest[postgresql]' ({error})") from error

SERVER_VERSION_MIN: Final = 150_000
TURN: Final = 0x6561726E
"""The key of the advisory lock."""
TURN_WAIT_MS: Final = 10_000
IDLE_MS: Final = 3_000
CONNECT_S: Final = 5
FETCHED: Final = 512
_INT8: Final = 20
_ROLE: Final = f"earnest {socket.gethostname()[:40]} pid {os.getpid()}"
_FIRST: Final = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"})
_OURS: Final = re.compile(rf"\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(facts|{VERSION_TABLE})\b", re.IGNORECASE)
_VALUES: Final = re.compile(r"(?<=VALUES )(\([?, ']+\))")
"""The row of an INSERT, of which there may be many."""
VALUES_MAX: Final = 32_000
"""Parameters of a statement: the protocol counts them in 16 bits."""
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'")
_HOLDER: Final = """
SELECT activity.pid, activity.application_name FROM pg_locks JOIN pg_stat_activity AS activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objid = %s AND pg_locks.database = (
  SELECT oid FROM pg_database WHERE datname = current_database()
)
"""
_NAMES: Final = count()


class _Flag(Dumper):
    """True and false are 1 and 0, as on SQLite."""

    oid = _INT8

    def dump(self, obj: bool) -> bytes:
        """As PostgreSQL reads it."""
        return b"1" if obj else b"0"


class _Sum(Loader):
    """A sum of whole numbers is one: `sum(BIGINT)` is numeric there."""

    def load(self, data: Buffer) -> int | float:
        """As Python has it."""
        text = bytes(data)
        return float(text) if b"." in text else int(text)


def connect(address: str) -> "psycopg.Connection[Any]":
    """A connection in which every statement is a transaction of its own, until BEGIN. Raises `ServerFault`."""
    with _told():
        connection = psycopg.connect(
            address,
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            connect_timeout=CONNECT_S,
            application_name=_ROLE,
            keepalives_idle=CONNECT_S,
            tcp_user_timeout=TURN_WAIT_MS,
            options=f"-c idle_in_transaction_session_timeout={IDLE_MS} -c timezone=UTC -c client_min_messages=warning",
        )
    if connection.info.server_version < SERVER_VERSION_MIN:
        connection.close()
        raise Unavailable(f"PostgreSQL {connection.info.server_version // 10_000} is too old; 15 or newer is needed")
    connection.adapters.register_dumper(bool, _Flag)
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_loader("numeric", _Sum)
    return connection


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Errors of the library, as the books have them."""
    try:
        yield
    except psycopg.DataError as error:
        if "NUL" in str(error):
            raise Refused("fact_not_recordable", "a text with a NUL character cannot be kept") from error
        raise ServerFault(_line(error), is_lost=False) from error
    except psycopg.OperationalError as error:
        is_waiting = isinstance(error, psycopg.errors.LockNotAvailable)
        raise ServerFault(_line(error), is_lost=not is_waiting) from error
    except psycopg.Error as error:
        raise ServerFault(_line(error), is_lost=False) from error


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@lru_cache(maxsize=4_096)
def _is_allowed(sql: str) -> bool:
    """Whether a statement reads and changes rows, other than facts and the revision, and does nothing else."""
    plain = _QUOTED.sub("''", sql)
    return plain.split(None, 1)[0].upper() in _FIRST and ";" not in plain and not _OURS.search(plain)


class PostgresqlSession:
    """A connection on which statements are executed, as on one of SQLite."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self.connection = connection
        self.on_watch = False
        self.changes = 0

    def execute(self, sql: str, parameters: SqlParameters = (), /) -> "psycopg.Cursor[Any]":
        """See `DriverSession.execute`."""
        self._check(sql)
        text, names = numbered(sql)
        values = [parameters[name] for name in names] if not isinstance(parameters, Sequence) else parameters
        with _told():
            return self._counted(
                self.connection.execute(text.encode(), values or None, prepare=None if len(values) < 100 else False)
            )

    def executemany(self, sql: str, parameters: Iterable[SqlParameters], /) -> None:
        """See `DriverSession.executemany`. Rows travel together, as few statements."""
        rows = [tuple(cast("Sequence[SqlValue]", row)) for row in parameters]
        parts = _VALUES.split(sql)
        at_once = VALUES_MAX // len(rows[0]) if rows and len(parts) == len(("head", "row", "tail")) else 1
        for first in range(0, len(rows), at_once):
            group = rows[first : first + at_once]
            several = ", ".join(parts[1:2] * len(group)).join(parts[::2]) if len(group) > 1 else sql
            self.execute(several, [value for row in group for value in row])

    def together(self, *statements: str) -> Any:
        """Statements of ours in one trip and one message; the first column of the last one's row, if it has one.

        Not in pipeline mode: a client that stops before the end of a pipeline is not idle in a transaction to the
        server, and would keep its turn.
        """
        with _told():
            cursor = self.connection.execute("; ".join(statements).encode())
            while cursor.nextset():
                continue
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else cursor.statusmessage

    def close(self) -> None:
        """See `DriverSession.close`."""
        self.connection.close()

    def _check(self, sql: str) -> None:
        if self.on_watch and not _is_allowed(sql):
            raise ServerFault(f"not authorized: {sql[:80]}", is_lost=False, is_denied=True)

    def _counted(self, cursor: "psycopg.Cursor[Any]") -> "psycopg.Cursor[Any]":
        if (cursor.statusmessage or "").startswith(("INSERT", "UPDATE", "DELETE")):
            self.changes += cursor.rowcount
        return cursor


class _Stream:
    """Rows of a cursor that the server holds."""

    def __init__(self, session: PostgresqlSession, name: str) -> None:
        self._session = session
        self._name = name

    def fetchmany(self, size: int = FETCHED, /) -> list[Any]:
        """The next rows."""
        with _told():
            return self._session.connection.execute(f"FETCH {int(size)} FROM {self._name}".encode()).fetchall()


class _Link:
    """A connection, and the address to look its tables up anew."""

    dialect: Dialect = POSTGRESQL

    def __init__(self, address: str) -> None:
        self._address = address
        self.session = PostgresqlSession(connect(address))

    def stream(self, sql: str, parameters: SqlParameters) -> Any:
        """See `BooksLink.stream`."""
        if isinstance(parameters, Sequence) and isinstance(parameters[-1], int) and parameters[-1] <= FETCHED:
            return self.session.execute(sql, parameters)
        name = f"streamed_{next(_NAMES)}"
        with _told():
            declared = f"DECLARE {name} NO SCROLL CURSOR FOR {numbered(sql)[0]}"
            self.session.connection.execute(declared.encode(), parameters)
        return _Stream(self.session, name)

    def faults(self, schema: Schema, *, whole: bool) -> tuple[str, ...]:  # noqa: ARG002 - the server checks its pages
        """See `BooksLink.faults`. What there should be is made beside, and taken back."""
        with _told(), contextlib.closing(connect(self._address)) as beside:
            present = objects_in(beside)
            expected = objects_of(beside, schema.script(dialect=POSTGRESQL))
        return compared(expected, present)

    def close(self) -> None:
        """See `BooksLink.close`."""
        self.session.close()


class PostgresqlReading(_Link):
    """A connection that reads."""

    def begin(self) -> None:
        """See `ReadLink.begin`."""
        with _told():
            self.session.connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def end(self) -> None:
        """See `ReadLink.end`."""
        if self.session.connection.info.transaction_status is not TransactionStatus.IDLE:
            with _told():
                self.session.connection.execute(b"ROLLBACK")

    def check(self, schema: Schema) -> None:
        """See `ReadLink.check`."""
        revision = _revision(self.session)
        if revision is None:
            raise Refused("no_database", "there are no books on this server yet")
        if is_older(revision, schema):
            raise Refused("database_too_old", "the database must be migrated first: open it once for writing")


class PostgresqlWriting(_Link):
    """The connection that writes. A transaction is its turn: the lock comes with it and goes with it."""

    @property
    def on_watch(self) -> bool:
        """See `WriteLink.on_watch`."""
        return self.session.on_watch

    @on_watch.setter
    def on_watch(self, watched: bool) -> None:
        self.session.on_watch = watched

    def try_take(self) -> bool:
        """See `WriteLink.try_take`."""
        try:
            self._connected()
            got = self.session.together("BEGIN", f"SELECT pg_try_advisory_xact_lock({TURN})")
            if not got:
                self.give()
        except (ServerFault, Unavailable):  # the thread finds out what it is, and says so
            return False
        return bool(got)

    def take(self) -> None:
        """See `WriteLink.take`."""
        wait_ms = TURN_WAIT_MS
        try:
            self._connected()
            self.session.together(
                "BEGIN", f"SET LOCAL lock_timeout = {int(wait_ms)}", f"SELECT pg_advisory_xact_lock({TURN})"
            )
        except ServerFault as error:
            self.give()
            if error.is_lost:
                raise Unavailable(f"the database does not answer: {error}", retry_after_ms=wait_ms) from error
            raise Unavailable(f"the turn to write is held by {self._holder()}", retry_after_ms=wait_ms) from error

    def give(self) -> None:
        """See `WriteLink.give`."""
        self.session.on_watch = False
        if self.in_transaction:
            with contextlib.suppress(ServerFault):
                self.rollback()

    def begin(self) -> int:
        """See `WriteLink.begin`."""
        return int(self.session.together("SELECT coalesce(max(seq), 0) FROM facts"))

    def commit(self) -> None:
        """See `WriteLink.commit`."""
        if self.session.together("COMMIT") != "COMMIT":
            raise ServerFault("the transaction was lost before its end", is_lost=True)

    def rollback(self) -> None:
        """See `WriteLink.rollback`."""
        with _told():
            self.session.connection.execute(b"ROLLBACK")

    def savepoint(self) -> None:
        """See `WriteLink.savepoint`."""
        self.session.together("SAVEPOINT part")

    def release(self) -> None:
        """See `WriteLink.release`."""
        self.session.together("RELEASE part")

    def undo(self) -> None:
        """See `WriteLink.undo`."""
        self.session.together("ROLLBACK TO part", "RELEASE part")

    @contextlib.contextmanager
    def rewriting(self) -> Iterator[None]:
        """See `WriteLink.rewriting`. The old rows go with the server's next VACUUM."""
        self.session.on_watch = False
        try:
            self.session.together("ALTER TABLE facts DISABLE TRIGGER facts_unchanged")
            yield
            self.session.together("ALTER TABLE facts ENABLE TRIGGER facts_unchanged")
        finally:
            self.session.on_watch = True

    @property
    def in_transaction(self) -> bool:
        """See `WriteLink.in_transaction`."""
        return self.session.connection.info.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}

    @property
    def changes(self) -> int:
        """See `WriteLink.changes`."""
        return self.session.changes

    def prepare(self, schema: Schema, migrating: Callable[[], AbstractContextManager[None]]) -> None:
        """Create or migrate the tables in one turn. There is no copy of former books: that is the server's part."""
        self.take()
        try:
            revision = _revision(self.session)
            if revision is None or is_older(revision, schema):
                with migrating() if revision else contextlib.nullcontext(), _told():
                    self.session.connection.execute(schema.script(revision or "", POSTGRESQL).encode())
            self.commit()
        finally:
            self.give()

    def _connected(self) -> None:
        if self.session.connection.closed:
            changes = self.session.changes
            self.session = PostgresqlSession(connect(self._address))
            self.session.changes = changes

    def _holder(self) -> str:
        with contextlib.suppress(ServerFault, psycopg.Error), contextlib.closing(connect(self._address)) as beside:
            found = beside.execute(_HOLDER.replace("%s", str(TURN)).encode()).fetchone()
            if found:
                return f"{found[1] or 'another program'} (backend {found[0]})"
        return "another process"


class PostgresqlEngine:
    """The books of one database."""

    def __init__(self, address: str) -> None:
        self._address = address

    def check_exists(self) -> None:
        """See `BooksEngine.check_exists`: the tables are looked for when a reader is opened."""

    def reader(self) -> PostgresqlReading:
        """See `BooksEngine.reader`."""
        return PostgresqlReading(self._address)

    def writer(
        self,
        schema: Schema,
        migrating: Callable[[], AbstractContextManager[None]],
        *,
        is_durable: bool,
    ) -> PostgresqlWriting:
        """See `BooksEngine.writer`."""
        writing = PostgresqlWriting(self._address)
        try:
            writing.prepare(schema, migrating)
            if not is_durable:
                writing.session.together("SET synchronous_commit = off")
        except BaseException:
            writing.close()
            raise
        return writing


def _revision(session: PostgresqlSession) -> str | None:
    names = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    return revision_among({name for (name,) in names}, session)
