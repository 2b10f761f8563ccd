"""The connections to books on a server of PostgreSQL, and those that read there."""

import contextlib
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import psycopg

from earnest.effects.ground.storage.catalog import objects_in, objects_of
from earnest.effects.ground.storage.dialects import POSTGRESQL, Dialect, numbered
from earnest.effects.ground.storage.driver import SqlParameters
from earnest.effects.ground.storage.known_rows import Ahead, KnownRows
from earnest.effects.ground.storage.postgresql_session import IDLE_MS, PostgresqlSession, connect
from earnest.effects.ground.storage.postgresql_types import told
from earnest.effects.ground.storage.postgresql_waiting import listed
from earnest.effects.ground.storage.schema import Schema, compared, is_older, revision_among
from earnest.foundation.errors import Refused

READ_IDLE_MS: Final = 600_000  # who reads holds no turn, and may work on what it has read
FETCHED: Final = 512
_NAMES: Final = count()


class _Stream:
    """Rows of a cursor that the server holds."""

    def __init__(self, session: PostgresqlSession, name: str) -> None:
        self._session = session
        self._name = name

    def fetchmany(self, size: int = FETCHED, /) -> list[Any]:
        """The next rows."""
        with told():
            return self._session.connection.execute(f"FETCH {int(size)} FROM {self._name}".encode()).fetchall()


class PostgresqlLink:
    """A connection, and the address to look its tables up anew."""

    dialect: Dialect = POSTGRESQL

    def __init__(self, address: str, idle_ms: int = IDLE_MS) -> None:
        self._address = address
        self.session = PostgresqlSession(connect(address, idle_ms))

    @property
    def known(self) -> KnownRows:
        """See `BooksLink.known`."""
        return self.session.known

    def look(self, ahead: Ahead) -> None:
        """See `BooksLink.look`."""
        self.looked(ahead)

    def looked(self, ahead: Ahead, *first: str) -> Any:
        """Learn what is not known yet, in one trip if it takes one; what the last of the statements `first` gives."""
        unknown, columns = self.known.unknown(ahead)
        asked = {}
        for lookup, keys in unknown.items():
            some = [key for key in keys if not self.known.is_drawn(key) and (key.isprintable() or _can_be_kept(key))]
            for key in keys.keys() - some if len(some) < len(keys) else ():
                self.known.learn(lookup, key, None)
            if some:
                asked[lookup] = some
        planned = self.session.planned
        selects = [planned(lookup.select_listed, listed(some)) for lookup, some in asked.items()]
        meeting = dict.fromkeys(one for one in ahead if one.conditions and self.known.meeting(one) is None)
        selects += [
            self.session.with_values(f"{one.lookup.all} WHERE {one.conditions}", one.parameters) for one in meeting
        ]
        numbers = [planned(lookup.greatest(column)) for (_, column), lookup in columns.items()]
        if not (first or selects or numbers):
            return None
        with told():
            cursor = self.session.send(*first, *selects, *numbers)
            for _ in first[1:]:
                cursor.nextset()
            answer = _row_of(cursor)[0] if first else None
            for lookup, some in asked.items():
                found = {row[lookup.place]: row for row in cursor.fetchall()}
                cursor.nextset()
                for key in some:
                    self.known.learn(lookup, key, found.get(key))
            for one in meeting:
                self.known.learn_meeting(one, cursor.fetchall())
                cursor.nextset()
            for table, column in columns:
                self.known.learn_greatest(table, column, int(_row_of(cursor)[0]))
        return answer

    def stream(self, sql: str, parameters: SqlParameters) -> Any:
        """See `BooksLink.stream`."""
        if isinstance(parameters, Sequence) and isinstance(parameters[-1], int) and parameters[-1] <= FETCHED:
            return self.session.execute(sql, parameters)
        self.session.settle()
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


class PostgresqlReading(PostgresqlLink):
    """A connection that reads."""

    def look(self, ahead: Ahead) -> None:
        """See `BooksLink.look`. A long read does not hold all that it ever looked up."""
        self.known.keep()
        self.looked(ahead)

    def begin(self) -> None:
        """See `ReadLink.begin`. It goes with the first question."""
        self.session.answered()
        self.session.waiting.add("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def end(self) -> None:
        """See `ReadLink.end`. Nobody waits for the answer."""
        self.known.clear()
        self.session.waiting.drop()
        if not self.session.is_idle:
            self.session.post("ROLLBACK")

    def check(self, schema: Schema) -> None:
        """See `ReadLink.check`."""
        revision = standing_revision(self.session)
        if revision is None:
            raise Refused("no_database", "there are no books on this server yet")
        if is_older(revision, schema):
            raise Refused("database_too_old", "the database must be migrated first: open it once for writing")


def standing_revision(session: PostgresqlSession) -> str | None:
    """The revision of the tables that are there; None where there are none."""
    names = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
    return revision_among({name for (name,) in names}, session)


def _can_be_kept(text: str) -> bool:
    """Whether the server can have a row with such a text."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _row_of(cursor: "psycopg.Cursor[Any]") -> Any:
    """The one row of an answer; then the next one's turn has come."""
    row = cursor.fetchone()
    cursor.nextset()
    return row
