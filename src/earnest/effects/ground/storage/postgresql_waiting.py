"""Statements of a transaction that nobody asks the answer of, kept until one goes to the server with them.

Against a server half a millisecond away a trip costs more than most statements do. Rows for one table, whoever of the
group adds them, are one statement.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from psycopg import DataError
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
_JSON: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), default=lambda value: f"\\x{bytes(value).hex()}"
)
_SIZED: Final = frozenset({str, bytes})
Ready: TypeAlias = tuple[str, str | SqlParameters]
"""A statement and its values: spelled for the plan that the server keeps of it, or as they came, or none."""
_INSERT: Final = re.compile(r"\s*INSERT INTO (\w+)\s*\(([^)]*)\)\s*VALUES (\([?, ']+\))\s*([^?]*)$")
_CONFLICT: Final = re.compile(r"ON CONFLICT \((\w+)\) DO UPDATE\s+SET\s+(.*)$", re.DOTALL)
_REPLACED: Final = re.compile(r"(\w+) = excluded\.(\w+)")


@dataclass(frozen=True, slots=True)
class Form:
    """An INSERT of rows: what stands before, within and after them.

    `key` is the place of the column whose row is replaced where it is there already, and `replaced` the places of those
    that are. It `grows` where rows of several such statements may be those of one. `plan` is the statement for any
    number of rows, told as one JSON text, for which the server keeps a plan; empty where a row holds more than values.
    """

    sql: str
    table: str
    names: tuple[str, ...]
    head: str
    row: tuple[str, ...]
    tail: str
    key: int | None
    replaced: tuple[int, ...]
    grows: bool
    plan: str

    def repeated(self, count: int) -> str:
        """The statement for so many rows."""
        return f"{self.head}{', '.join(['?'.join(self.row)] * count)} {self.tail}"


@dataclass(slots=True)
class _Rows:
    """Rows to be inserted by one statement, and where the row of a key stands."""

    form: Form
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
        self._all: list[_Plain | tuple[Form, Sequence[Sequence[SqlValue]]]] = []
        self._begun: int | None = None  # how many of them are those of parts that have ended, within a part
        self._is_marked = False  # whether the savepoint of the part waits too
        self.size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._all or self._is_marked)

    @property
    def has_ended(self) -> bool:
        """Whether a statement of a part that has ended waits."""
        return bool(self._all[: self._begun])

    def begin_part(self) -> None:
        """What comes now can be taken back."""
        self._begun, self._is_marked = len(self._all), True

    def end_part(self) -> bool:
        """Keep what came since. Whether the server has the savepoint, which should go."""
        is_sent = not self._is_marked
        self._begun, self._is_marked = None, False
        return is_sent

    def forget_part(self) -> bool:
        """Drop what came since. Whether the server has the savepoint, and must go back to it."""
        del self._all[self._begun or 0 :]
        return self.end_part()

    def add(self, sql: str, parameters: SqlParameters = ()) -> None:
        """Keep a statement."""
        form = form_of(sql) if isinstance(parameters, Sequence) else None
        if form is not None and parameters:
            self.add_rows(form, [tuple(parameters)])
        else:
            self._all.append(_Plain(sql, parameters))

    def add_rows(self, form: Form, rows: Sequence[Sequence[Any]]) -> None:
        """Keep rows to be inserted."""
        self.size_bytes += sum([len(value) for row in rows for value in row if type(value) in _SIZED])
        self._all.append((form, rows))

    def ready(self) -> tuple[list[Ready], list[Ready]]:
        """All of them: those of parts that have ended with the savepoint, and those of the one under way."""
        ended, own = self._all[: self._begun], [] if self._begun is None else self._all[self._begun :]
        marked: list[Ready] = [(SAVEPOINT, "")] if self._is_marked else []
        return [*map(self._ready, _merged(ended)), *marked], [*map(self._ready, _merged(own))]

    def sent(self) -> None:
        """None waits any more; the server has the savepoint, if there is one."""
        in_part = self._begun is not None
        self.drop()
        self._begun = 0 if in_part else None

    def drop(self) -> None:
        """None waits any more, and no part is under way."""
        self._all.clear()
        self._begun, self._is_marked = None, False
        self.size_bytes = 0

    def spelled(self, value: SqlValue) -> str:
        """A value as PostgreSQL reads it."""
        if type(value) is int:
            return f" {value}"  # two dashes begin a comment
        if value is None:
            return "NULL"
        return quoted(value) if isinstance(value, str) else bytes(self._literal(value)).decode()

    def _ready(self, one: "_Rows | _Plain") -> Ready:
        if isinstance(one, _Plain):
            return one.sql, one.parameters
        form, rows = one.form, one.rows
        if form.plan:
            return form.plan, quoted(_json_of(form.names, rows))
        values = [value for row in rows for value in row]
        return spelled_out(form.repeated(len(rows)), values, self.spelled), ""


def quoted(text: str) -> str:
    """A text as PostgreSQL reads it under `standard_conforming_strings`."""
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Iterable[str]) -> str:
    """Texts as PostgreSQL reads a list of them."""
    items = '","'.join(text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return quoted(f'{{"{items}"}}')


def _json_of(names: tuple[str, ...], rows: Sequence[Sequence[SqlValue]]) -> str:
    text = _JSON.encode([dict(zip(names, row, strict=True)) for row in rows])
    if "true" in text or "false" in text:
        whole = [[int(value) if isinstance(value, bool) else value for value in row] for row in rows]
        text = _JSON.encode([dict(zip(names, row, strict=True)) for row in whole])
    if "\\u0000" in text and any("\0" in value for row in rows for value in row if isinstance(value, str)):
        raise DataError("a text has a NUL character")
    return text


class LaterCursor:
    """The answer to a statement that waits: whoever looks at it has all that waits sent."""

    description = None

    def __init__(self, settled: Callable[[], int]) -> None:
        self._settled = settled

    @cached_property
    def rowcount(self) -> int:
        """How many rows the last statement that waited has changed."""
        return self._settled()

    def fetchone(self) -> None:
        """It has no rows."""

    def fetchmany(self, size: int = 0, /) -> list[Any]:  # noqa: ARG002
        """It has no rows."""
        return []

    fetchall = fetchmany

    def __iter__(self) -> Iterator[Any]:
        return iter(())


@lru_cache(maxsize=STATEMENTS_KEPT)
def form_of(sql: str) -> Form | None:
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
    has_values = set(row) <= set("(?, )") and row.count("?") == len(names)
    plan = (
        f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, $1) {tail}"  # noqa: S608
        if has_values
        else ""
    )
    head, parts = sql[: found.start(3)], tuple(row.split("?"))
    return Form(sql, table, tuple(names), head, parts, tail.strip(), key, replaced, grows, plan)


def _merged(waiting: "Iterable[_Plain | tuple[Form, Sequence[Sequence[SqlValue]]]]") -> "list[_Rows | _Plain]":
    """Rows go to the statement that inserts such already, if none after it has to do with the table; else anew."""
    merged: list[_Rows | _Plain] = []
    for one in waiting:
        if isinstance(one, _Plain):
            merged.append(one)
            continue
        form, rows = one
        found = _Rows(form)
        for other in reversed(merged[-LOOKED_BACK:] if form.grows else ()):
            if isinstance(other, _Rows) and other.form is form:
                found = other
                break
            if form.table in _words(other.form.sql if isinstance(other, _Rows) else other.sql):
                break
        if not found.rows:
            merged.append(found)
        found.add(rows)
    return merged


@lru_cache(maxsize=STATEMENTS_KEPT)
def _words(sql: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", sql))
