"""Statements of a transaction that nobody asks the answer of, kept until one goes to the server with them.

Against a server half a millisecond away a trip costs more than most statements do. Rows for one table, whoever of the
group adds them, are one statement.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from psycopg.adapt import Transformer

from earnest.effects.ground.storage.dialects import STATEMENTS_KEPT, spelled_out
from earnest.effects.ground.storage.driver import SqlParameters, SqlValue

if TYPE_CHECKING:
    import psycopg

SAVEPOINT: Final = "SAVEPOINT part"
LOOKED_BACK: Final = 64
"""How many statements a row may be moved past."""
WAITING_BYTES_MAX: Final = 1024 * 1024
"""More is sent at once: who gathers for seconds is idle to the server, which ends a transaction for that."""
_NUMBER_BYTES: Final = 8
_INSERT: Final = re.compile(r"\s*INSERT INTO (\w+)\s*\(([^)]*)\)\s*VALUES (\([?, ']+\))\s*([^?]*)$")
_CONFLICT: Final = re.compile(r"ON CONFLICT \((\w+)\) DO UPDATE\s+SET\s+(.*)$", re.DOTALL)
_REPLACED: Final = re.compile(r"(\w+) = excluded\.(\w+)")


@dataclass(frozen=True, slots=True)
class _Form:
    """An INSERT of rows: what stands before, within and after them.

    `key` is the place of the column whose row is replaced where it is there already, and `replaced` the places of those
    that are. It `grows` where rows of several such statements may be those of one.
    """

    sql: str
    table: str
    head: str
    row: tuple[str, ...]
    tail: str
    key: int | None
    replaced: tuple[int, ...]
    grows: bool

    def repeated(self, count: int) -> str:
        """The statement for so many rows."""
        return f"{self.head}{', '.join(['?'.join(self.row)] * count)} {self.tail}"

    def spelled(self, rows: Iterable[Sequence[SqlValue]], spelled: Callable[[SqlValue], str]) -> str:
        """The statement for these."""
        form = "%s".join(self.row)
        return f"{self.head}{', '.join([form % tuple(map(spelled, row)) for row in rows])} {self.tail}"


@dataclass(slots=True)
class _Rows:
    """Rows to be inserted by one statement, and where the row of a key stands."""

    form: _Form
    rows: list[Sequence[SqlValue]] = field(default_factory=list)
    places: dict[SqlValue, int] = field(default_factory=dict)

    def add(self, rows: Sequence[Sequence[SqlValue]]) -> None:
        """More of them; of two with one key the later replaces what the statement would."""
        if self.form.key is None:
            self.rows += rows
            return
        for row in rows:
            place = self.places.setdefault(row[self.form.key], len(self.rows))
            if place == len(self.rows):
                self.rows.append(row)
            else:
                now = list(self.rows[place])
                for column in self.form.replaced:
                    now[column] = row[column]
                self.rows[place] = tuple(now)


@dataclass(frozen=True, slots=True)
class _Plain:
    """Any other statement."""

    sql: str
    parameters: SqlParameters


class WaitingStatements:
    """What waits on one connection: of the parts that have ended, then a savepoint, then of the one under way."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._literal: Callable[[Any], Any] = Transformer(connection).as_literal
        self._ended: list[_Rows | _Plain] = []
        self._own: list[_Rows | _Plain] = []
        self._in_part = self._is_marked = False
        self.size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._ended or self._own or self._is_marked)

    @property
    def of_others(self) -> int:
        """How many statements would go before those of the part under way: all but its own, and the savepoint."""
        return len(self._ended) + self._is_marked

    @property
    def has_ended(self) -> bool:
        """Whether a statement of a part that has ended waits."""
        return bool(self._ended)

    def begin_part(self) -> None:
        """What comes now can be taken back."""
        self._in_part = self._is_marked = True

    def end_part(self) -> bool:
        """Keep what came since. Whether the server has the savepoint, which should go."""
        is_sent = not self._is_marked
        own, self._own = self._own, []
        self._in_part = self._is_marked = False
        for one in own:
            if isinstance(one, _Rows):
                _add(self._ended, one.form, one.rows)
            else:
                self._ended.append(one)
        return is_sent

    def forget_part(self) -> bool:
        """Drop what came since. Whether the server has the savepoint, and must go back to it."""
        is_sent = not self._is_marked
        self._own.clear()
        self._in_part = self._is_marked = False
        return is_sent

    def add(self, sql: str, parameters: SqlParameters = ()) -> None:
        """Keep a statement."""
        form = form_of(sql) if isinstance(parameters, Sequence) else None
        if form is not None and parameters:
            self.add_rows(form, [tuple(parameters)])
        else:
            (self._own if self._in_part else self._ended).append(_Plain(sql, parameters))

    def add_rows(self, form: _Form, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Keep rows to be inserted."""
        self.size_bytes += sum(
            len(value) if isinstance(value, str | bytes) else _NUMBER_BYTES for row in rows for value in row
        )
        _add(self._own if self._in_part else self._ended, form, rows)

    def texts(self) -> list[str]:
        """All of them, spelled out with their values."""
        marked = [SAVEPOINT] if self._is_marked else []
        return [*map(self._text, self._ended), *marked, *map(self._text, self._own)]

    def clear(self) -> None:
        """None waits any more; the server has the savepoint, if there is one."""
        self._ended.clear()
        self._own.clear()
        self._is_marked = False
        self.size_bytes = 0

    def drop(self) -> None:
        """As `clear`, where the transaction is gone."""
        self.clear()
        self._in_part = False

    def spelled(self, value: SqlValue) -> str:
        """A value as PostgreSQL reads it."""
        if isinstance(value, str) and "'" not in value and "\\" not in value and "\0" not in value:
            return f"'{value}'"
        if type(value) is int:
            return str(value) if value >= 0 else f" {value}"  # two dashes begin a comment
        if value is None:
            return "NULL"
        if isinstance(value, bytes):
            return f"'\\x{value.hex()}'::bytea"
        return bytes(self._literal(value)).decode()

    def _text(self, one: "_Rows | _Plain") -> str:
        if isinstance(one, _Plain):
            return spelled_out(one.sql, one.parameters, self.spelled) if one.parameters else one.sql
        return one.form.spelled(one.rows, self.spelled)


class LaterCursor:
    """The answer to a statement that waits: whoever looks at it has all that waits sent."""

    description = None

    def __init__(self, settled: Callable[[], int]) -> None:
        self._settled = settled

    @property
    def rowcount(self) -> int:
        """How many rows the last statement that waited has changed."""
        return self._settled()

    def fetchone(self) -> None:
        """It has no rows."""

    def fetchmany(self, size: int = 0, /) -> list[Any]:  # noqa: ARG002
        """It has no rows."""
        return []

    def fetchall(self) -> list[Any]:
        """It has no rows."""
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())


@lru_cache(maxsize=STATEMENTS_KEPT)
def form_of(sql: str) -> _Form | None:
    """The form of a statement that inserts rows; None for any other, and where a value stands after them."""
    found = _INSERT.match(sql)
    if found is None:
        return None
    table, columns, row, tail = found.groups()
    names = [name.strip() for name in columns.split(",")]
    key, replaced, grows = None, tuple[int, ...](), not tail
    if (conflict := _CONFLICT.match(tail)) and row.count("?") == len(names):
        pairs = [_REPLACED.fullmatch(one.strip()) for one in conflict[2].split(",")]
        if grows := all(pair and pair[1] == pair[2] for pair in pairs):
            key, replaced = names.index(conflict[1]), tuple(names.index(pair[1]) for pair in pairs if pair)
    return _Form(sql, table, sql[: found.start(3)], tuple(row.split("?")), tail.strip(), key, replaced, grows)


def _add(waiting: "list[_Rows | _Plain]", form: _Form, rows: Sequence[Sequence[SqlValue]]) -> None:
    """Rows to the statement that inserts such already, if none after it has to do with the table; else anew."""
    for one in reversed(waiting[-LOOKED_BACK:] if form.grows else ()):
        if isinstance(one, _Rows) and one.form is form:
            one.add(rows)
            return
        if form.table in _words(one.form.sql if isinstance(one, _Rows) else one.sql):
            break
    anew = _Rows(form)
    anew.add(rows)
    waiting.append(anew)


@lru_cache(maxsize=STATEMENTS_KEPT)
def _words(sql: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", sql))
