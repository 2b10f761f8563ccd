"""Books on a server of PostgreSQL. Processes, on any machines, take turns by an advisory lock of the transaction.

Under the turn one group writes at a time, so READ COMMITTED is serial, and nothing has to be tried again. A holder that
is stopped is idle in a transaction, which the server ends after `IDLE_MS`: that frees its turn.
"""

import contextlib
import os
import re
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
    from psycopg.pq import TransactionStatus

    from earnest.effects.ground.storage.postgresql_types import adapt, told
    from earnest.effects.ground.storage.postgresql_waiting import SAVEPOINT, LaterCursor, WaitingStatements
except ImportError as error:
    raise Unavailable(f"what speaks to PostgreSQL is not installed: install 'earnest[postgresql]' ({error})") from error

SERVER_VERSION_MIN: Final = 150_000
TURN: Final = 0x6561726E
"""The key of the advisory lock."""
TURN_WAIT_MS: Final = 10_000
IDLE_MS: Final = 3_000
READ_IDLE_MS: Final = 600_000  # who reads holds no turn, and may work on what it has read
CONNECT_S: Final = 5
FETCHED: Final = 512
_ROLE: Final = f"earnest {socket.gethostname()[:40]} pid {os.getpid()}"
_MAY_WAIT: Final = re.compile(r"\s*(INSERT INTO \w+\s*\([^)]*\)\s*VALUES\b|UPDATE\b|DELETE\b)")
"""Statements whose values have the types of their columns, spelled out or not."""
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
CHANNEL: Final = "earnest_facts"
"""On which a commit tells which kinds of facts it holds."""
NOTICE_CHARACTERS_MAX: Final = 4_000
_KIND: Final = re.compile(r"[a-z_.]+")


def connect(address: str, idle_ms: int = IDLE_MS) -> "psycopg.Connection[Any]":
    """A connection in which every statement is a transaction of its own, until BEGIN. Raises `ServerFault`."""
    with told():
        connection = psycopg.connect(
            address,
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            connect_timeout=CONNECT_S,
            application_name=_ROLE,
            keepalives_idle=CONNECT_S,
            tcp_user_timeout=TURN_WAIT_MS,
            options=f"-c idle_in_transaction_session_timeout={idle_ms} -c timezone=UTC -c client_min_messages=warning",
        )
    if connection.info.server_version < SERVER_VERSION_MIN:
        connection.close()
        raise Unavailable(f"PostgreSQL {connection.info.server_version // 10_000} is too old; 15 or newer is needed")
    adapt(connection)
    return connection


def notice(newest: int, kinds: Collection[str]) -> str:
    """The newest number and the kinds, without these where they are too many or of letters that need quotes."""
    text = " ".join(sorted(kinds))
    is_told = len(text) <= NOTICE_CHARACTERS_MAX and all(map(_KIND.fullmatch, kinds))
    return f"{int(newest)} {text}" if is_told else str(int(newest))


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
        self.gathers = False
        """True while statements that change rows may wait for the next one that is asked for an answer."""
        self.waiting = WaitingStatements(connection)

    @property
    def in_transaction(self) -> bool:
        """See `DriverSession.in_transaction`."""
        return self.connection.info.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}

    def execute(self, sql: str, parameters: SqlParameters = (), /) -> "psycopg.Cursor[Any] | LaterCursor":
        """See `DriverSession.execute`."""
        self._check(sql)
        if self.gathers and _MAY_WAIT.match(sql) and "RETURNING" not in sql:
            self.waiting.add(sql, parameters)
            return LaterCursor(self._settled_last)
        if self.waiting:
            self.waiting.add(sql, parameters)
            return self._sent()
        text, names = numbered(sql)
        values = [parameters[name] for name in names] if not isinstance(parameters, Sequence) else parameters
        with told():
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
        waited = (self.waiting.taken(),) if self.waiting else ()
        with told():
            cursor = self._last(self.connection.execute("; ".join((*waited, *statements)).encode()))
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else cursor.statusmessage

    def close(self) -> None:
        """See `DriverSession.close`."""
        self.connection.close()

    def settle(self) -> None:
        """Have all that waits sent."""
        if self.waiting:
            self._sent()

    def _settled_last(self) -> int:
        return self._sent().rowcount if self.waiting else 0

    def _sent(self) -> "psycopg.Cursor[Any]":
        with told():
            return self._last(self.connection.execute(self.waiting.taken().encode()))

    def _last(self, cursor: "psycopg.Cursor[Any]") -> "psycopg.Cursor[Any]":
        """The answer to the last of several statements; what the others have changed is counted."""
        self._counted(cursor)
        while cursor.nextset():
            self._counted(cursor)
        return cursor

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
        with told():
            return self._session.connection.execute(f"FETCH {int(size)} FROM {self._name}".encode()).fetchall()


class _Link:
    """A connection, and the address to look its tables up anew."""

    dialect: Dialect = POSTGRESQL

    def __init__(self, address: str, idle_ms: int = IDLE_MS) -> None:
        self._address = address
        self.session = PostgresqlSession(connect(address, idle_ms))

    def stream(self, sql: str, parameters: SqlParameters) -> Any:
        """See `BooksLink.stream`."""
        if isinstance(parameters, Sequence) and isinstance(parameters[-1], int) and parameters[-1] <= FETCHED:
            return self.session.execute(sql, parameters)
        name = f"streamed_{next(_NAMES)}"
        with told():
            declared = f"DECLARE {name} NO SCROLL CURSOR FOR {numbered(sql)[0]}"
            self.session.connection.execute(declared.encode(), parameters)
        return _Stream(self.session, name)

    def faults(self, schema: Schema, *, whole: bool) -> tuple[str, ...]:  # noqa: ARG002 - the server checks its pages
        """See `BooksLink.faults`. What there should be is made beside, and taken back."""
        with told(), contextlib.closing(connect(self._address)) as beside:
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
        with told():
            self.session.connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def end(self) -> None:
        """See `ReadLink.end`."""
        if self.session.connection.info.transaction_status is not TransactionStatus.IDLE:
            with told():
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

    turn = TURN

    @property
    def on_watch(self) -> bool:
        """See `WriteLink.on_watch`."""
        return self.session.on_watch

    @on_watch.setter
    def on_watch(self, watched: bool) -> None:
        self.session.on_watch = watched

    def try_take(self) -> bool:
        """See `WriteLink.try_take`: an event loop waits for no server."""
        return False

    def take(self) -> None:
        """See `WriteLink.take`."""
        wait_ms = TURN_WAIT_MS
        try:
            self._connected()
            self.session.together(
                "BEGIN", f"SET LOCAL lock_timeout = {int(wait_ms)}", f"SELECT pg_advisory_xact_lock({self.turn})"
            )
        except ServerFault as error:
            self.give()
            if error.is_lost:
                raise Unavailable(f"the database does not answer: {error}", retry_after_ms=wait_ms) from error
            raise Unavailable(f"the turn to write is held by {self._holder()}", retry_after_ms=wait_ms) from error

    def give(self) -> None:
        """See `WriteLink.give`."""
        self.session.on_watch = self.session.gathers = False
        self.session.waiting.taken()
        if self.session.in_transaction:
            with contextlib.suppress(ServerFault):
                self.rollback()

    def begin(self) -> int:
        """See `WriteLink.begin`."""
        self.session.gathers = True
        return int(self.session.together("SELECT coalesce(max(seq), 0) FROM facts"))

    def commit(self, newest: int = 0, kinds: Collection[str] = ()) -> None:
        """See `WriteLink.commit`. Who listens is told with the commit, by the server."""
        told = (f"NOTIFY {CHANNEL}, '{notice(newest, kinds)}'",) if kinds else ()
        if self.session.together(*told, "COMMIT") != "COMMIT":
            raise ServerFault("the transaction was lost before its end", is_lost=True)

    def rollback(self) -> None:
        """See `WriteLink.rollback`."""
        self.session.waiting.taken()
        with told():
            self.session.connection.execute(b"ROLLBACK")

    def savepoint(self) -> None:
        """See `WriteLink.savepoint`."""
        self.session.waiting.add(SAVEPOINT)

    def release(self) -> None:
        """See `WriteLink.release`."""
        self.session.together("RELEASE part")

    def undo(self) -> None:
        """See `WriteLink.undo`."""
        if not self.session.waiting.forget_part():
            self.session.together("ROLLBACK TO part", "RELEASE part")

    @contextlib.contextmanager
    def rewriting(self) -> Iterator[None]:
        """See `WriteLink.rewriting`. The old rows go with the server's next VACUUM; open cursors forbid to alter."""
        self.session.on_watch = False
        try:
            self.session.together("CLOSE ALL", "ALTER TABLE facts DISABLE TRIGGER facts_unchanged")
            yield
            self.session.together("ALTER TABLE facts ENABLE TRIGGER facts_unchanged")
        finally:
            self.session.on_watch = True

    @property
    def changes(self) -> int:
        """See `WriteLink.changes`."""
        self.session.settle()
        return self.session.changes

    def prepare(self, schema: Schema, migrating: Callable[[], AbstractContextManager[None]]) -> None:
        """Create or migrate the tables in one turn. There is no copy of former books: that is the server's part."""
        self.take()
        try:
            revision = _revision(self.session)
            if revision is None or is_older(revision, schema):
                with migrating() if revision else contextlib.nullcontext(), told():
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
            found = beside.execute(_HOLDER.replace("%s", str(self.turn)).encode()).fetchone()
            if found:
                return f"{found[1] or 'another program'} (backend {found[0]})"
        return "another process"


def _revision(session: PostgresqlSession) -> str | None:
    names = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    return revision_among({name for (name,) in names}, session)
