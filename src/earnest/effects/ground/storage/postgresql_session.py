"""A connection to PostgreSQL on which statements are executed as on one of SQLite."""

import os
import re
import socket
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, cast

from earnest.effects.ground.storage.dialects import STATEMENTS_KEPT, numbered, spelled_out
from earnest.effects.ground.storage.driver import ServerFault, SqlParameters, SqlValue
from earnest.effects.ground.storage.known_rows import KnownRows
from earnest.effects.ground.storage.schema import VERSION_TABLE
from earnest.foundation.errors import Unavailable

try:
    import psycopg
    from psycopg import generators
    from psycopg.pq import ExecStatus, TransactionStatus

    from earnest.effects.ground.storage.postgresql_types import adapt, told
    from earnest.effects.ground.storage.postgresql_waiting import (
        WAITING_BYTES_MAX,
        LaterCursor,
        Ready,
        WaitingStatements,
        form_of,
    )
except ImportError as error:
    raise Unavailable(f"what speaks to PostgreSQL is not installed: install 'earnest[postgresql]' ({error})") from error

TURN: Final = 0x6561726E
"""The key of the advisory lock."""
CHANNEL: Final = "earnest_facts"
"""On which a commit tells which kinds of facts it holds."""
SERVER_VERSION_MIN: Final = 150_000
TURN_WAIT_MS: Final = 10_000
IDLE_MS: Final = 3_000
CONNECT_S: Final = 5
_ROLE: Final = f"earnest {socket.gethostname()[:40]} pid {os.getpid()}"
_OPTIONS: Final = (
    "-c timezone=UTC -c client_min_messages=warning -c standard_conforming_strings=on -c enable_seqscan=off -c jit=off"
)
"""Plans are kept, so what the server finds best while a table is small would stay so until it is next analysed. Where
no index helps, it reads the table all the same, at a cost at which it would compile the plan."""
_MAY_WAIT: Final = re.compile(
    r"\s*(INSERT INTO \w+\s*\([^)]*\)\s*VALUES\b|UPDATE\b|DELETE\b)(?!.*\bRETURNING\b)", re.DOTALL
)
"""Statements whose values have the types of their columns, spelled out or not."""
_FIRST: Final = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"})
_OURS: Final = re.compile(rf"\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(facts|{VERSION_TABLE})\b", re.IGNORECASE)
_CHANGES: Final = re.compile(r"\b(INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)
VALUES_MAX: Final = 32_000
"""Parameters of a statement: the protocol counts them in 16 bits."""
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'")
PREPARED_MAX: Final = 100
"""Parameters of a statement that the server may keep prepared."""
PLANS_MAX: Final = 200
"""Statements of a connection that the server keeps for the values of a message."""
_TYPES: Final = {int: "bigint", bool: "bigint", float: "double precision", bytes: "bytea"}
_UNDER_WAY: Final = frozenset({TransactionStatus.INTRANS, TransactionStatus.INERROR})


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
            options=f"-c idle_in_transaction_session_timeout={idle_ms} -c lock_timeout={TURN_WAIT_MS} {_OPTIONS}",
        )
    if connection.info.server_version < SERVER_VERSION_MIN:
        connection.close()
        raise Unavailable(f"PostgreSQL {connection.info.server_version // 10_000} is too old; 15 or newer is needed")
    adapt(connection)
    return connection


def _in_order(sql: str, parameters: SqlParameters) -> tuple[str, Sequence[SqlValue]]:
    """A statement with numbered parameters, and their values in that order."""
    text, names = numbered(sql)
    return text, parameters if isinstance(parameters, Sequence) else [parameters[name] for name in names]


@lru_cache(maxsize=STATEMENTS_KEPT)
def _may_wait(sql: str) -> bool:
    return _MAY_WAIT.match(sql) is not None


def _whole(message: bytes) -> bytes:
    """A message without a NUL, which would end it."""
    if b"\0" in message:
        raise psycopg.DataError("a text has a NUL character")
    return message


@lru_cache(maxsize=4_096)
def _is_allowed(sql: str) -> bool:
    """Whether a statement reads and changes rows, other than facts and the revision, and does nothing else."""
    plain = _QUOTED.sub("''", sql)
    first = plain.split(None, 1)[0].upper()
    if first == "WITH" and _CHANGES.search(plain):  # what is changed within it, the server does not count
        return False
    return first in _FIRST and ";" not in plain and not _OURS.search(plain)


class PostgresqlSession:
    """A connection on which statements are executed, as on one of SQLite."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self.connection = connection
        self.on_watch = False
        self.changes = 0
        """How many rows the part under way has changed."""
        self.gathers = False
        """True while statements that change rows may wait for the next one that is asked for an answer."""
        self.is_unclear = False
        """True once a message failed in which statements of parts that had ended went along."""
        self.waiting = WaitingStatements(connection)
        self._is_posted = False
        self.failure: ServerFault | None = None
        """Of what was posted, until the transaction is rolled back."""
        self._plans: dict[str, str] = {}
        connection.prepare_threshold = None  # the library would drop all plans with each rollback
        self.known = KnownRows()
        self.close: Final = connection.close

    @property
    def in_transaction(self) -> bool:
        """See `DriverSession.in_transaction`. Its beginning may wait still."""
        return bool(self.waiting) or self.connection.pgconn.transaction_status in _UNDER_WAY

    @property
    def is_idle(self) -> bool:
        """Whether the server knows of no transaction."""
        return self.connection.pgconn.transaction_status == TransactionStatus.IDLE

    def execute(self, sql: str, parameters: SqlParameters = (), /) -> "psycopg.Cursor[Any] | LaterCursor":
        """See `DriverSession.execute`."""
        self._check(sql)
        self.known.stir(sql)
        if self.gathers and _may_wait(sql):
            self.waiting.add(sql, parameters)
            return LaterCursor(self._settled_last)
        cursor = self.send(self.with_values(sql, parameters))
        self._count(cursor)
        return cursor

    def executemany(self, sql: str, parameters: Iterable[SqlParameters], /) -> None:
        """See `DriverSession.executemany`. Rows travel together, as few statements."""
        self.known.stir(sql)
        self.change(sql, [tuple(cast("Sequence[SqlValue]", row)) for row in parameters])

    def change(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """As `executemany`, for whoever tells the known rows himself."""
        self._check(sql)
        form = form_of(sql)
        if form is not None and self.gathers:
            self.waiting.add_rows(form, rows)
            if self.waiting.size_bytes > WAITING_BYTES_MAX:
                self.settle()
        elif self.gathers and _may_wait(sql):
            for row in rows:
                self.waiting.add(sql, row)
        elif form is None:
            for row in rows:
                self.execute(sql, row)
        else:
            at_once = VALUES_MAX // len(rows[0]) if rows else 1
            for first in range(0, len(rows), at_once):
                group = rows[first : first + at_once]
                self.execute(form.repeated(len(group)), [value for row in group for value in row])

    def send(self, *statements: str) -> "psycopg.Cursor[Any]":
        """What waits, then statements of ours with their values in them, in one trip and one message: the answer to the
        first of ours, from which `nextset` leads on, or where there is none to the last.

        Not in pipeline mode: a client that stops before the end of a pipeline is not idle in a transaction to the
        server, and would keep its turn.
        """
        is_shared, message = self.waiting.has_ended, b""
        try:
            with told():
                of_others, own = self.waiting.ready()
                message = self._message((*of_others, *own), statements)
                self.answered()
                cursor = self.connection.execute(message)
        except BaseException:  # where the transaction has ended, it may have been committed
            self.is_unclear |= is_shared and (self.in_transaction or not message)
            raise
        last = len(of_others) + len(own) - (not statements)
        for place in range(len(of_others) + len(own)):
            if place >= len(of_others):
                self._count(cursor)
            if place < last:
                cursor.nextset()
        return cursor

    def post(self, *statements: str) -> None:
        """As `send`, where no part is under way; `answered` waits for the answer."""
        message = b""
        try:
            with told():
                message = self._message(self.waiting.ready()[0], statements)
                self._is_posted = True
                self.connection.pgconn.send_query(message)
                if self.connection.pgconn.flush():
                    self.connection.wait(generators.send(self.connection.pgconn))
        except BaseException:
            self.is_unclear |= not message
            raise

    def answered(self) -> None:
        """Wait for the answer to what was posted, if it was not. Raises `ServerFault` where that failed, each time."""
        if self._is_posted:
            self._is_posted = False
            try:
                with told():
                    *_, last = self.connection.wait(generators.fetch_many(self.connection.pgconn))
                    if last.status != ExecStatus.COMMAND_OK:
                        raise psycopg.errors.error_from_result(last)
            except ServerFault as error:
                self.failure = error
                self.waiting.drop()
                self.is_unclear |= self.in_transaction
        if self.failure is not None:
            raise self.failure

    def planned(self, sql: str, values: str = "", types: str = "") -> str:
        """A statement of ours with its values, of which the server keeps the plan; of these types, if told."""
        name = self._plans.get(types + sql)
        if name is None:
            name = f"plan_{len(self._plans)}"
            with told():
                self.answered()
                self.connection.execute(f"PREPARE {name}{types} AS {sql}".encode())
            self._plans[types + sql] = name
        return f"EXECUTE {name}({values})" if values else f"EXECUTE {name}"

    def settle(self) -> None:
        """Have all that waits sent."""
        if self.waiting:
            self.send()

    def with_values(self, sql: str, parameters: SqlParameters) -> str:
        """Any statement with its values in it; the server keeps the plans of the first that come."""
        text, values = _in_order(sql, parameters)
        types = f"({', '.join([_TYPES.get(type(value), 'unknown') for value in values])})" if values else ""
        is_known = types + text in self._plans
        if is_known or (len(values) < PREPARED_MAX and len(self._plans) < PLANS_MAX and _is_allowed(sql)):
            return self.planned(text, ", ".join(map(self.waiting.spelled, values)), types)
        return spelled_out(sql, parameters, self.waiting.spelled)

    def _message(self, waiting: Iterable[Ready], statements: tuple[str, ...]) -> bytes:
        message = _whole("; ".join([*(self._text(*one) for one in waiting), *statements]).encode())
        self.waiting.sent()
        return message

    def _text(self, sql: str, values: str | SqlParameters) -> str:
        if not values:
            return sql
        return self.planned(sql, values) if isinstance(values, str) else self.with_values(sql, values)

    def _settled_last(self) -> int:
        return self.send().rowcount if self.waiting else 0

    def _check(self, sql: str) -> None:
        if self.on_watch and not _is_allowed(sql):
            raise ServerFault(f"not authorized: {sql[:80]}", is_lost=False, is_denied=True)

    def _count(self, cursor: "psycopg.Cursor[Any]") -> None:
        if (cursor.statusmessage or "").startswith(("INSERT", "UPDATE", "DELETE")):
            self.changes += cursor.rowcount
