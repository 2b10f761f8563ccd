"""Frozen values as rows of a table, and the difference of two values as a fact.

The fields of the value are the columns of the table, in the same order. Rows change only as a fact says, so the table
can be made again from the facts alone (`earnest recompute`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache
from operator import attrgetter, ne
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar, cast

from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.known_rows import Lookup
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.facts import Fact

Project: TypeAlias = Callable[[Transaction, Fact], None]
"""What a fact does to the tables. It reads nothing but the fact and the rows that earlier facts made."""


class Row(Protocol):
    """A frozen dataclass whose fields are int, str, bool or None."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


RowT = TypeVar("RowT", bound=Row)

_PLAIN: Final = frozenset({int, str, type(None)})


class Rows(Generic[RowT]):
    """The rows of one table. `key` is the primary key, a text."""

    def __init__(self, value: type[RowT], table: str, key: str = "id") -> None:
        names, _ = _fields(value)
        self.table = table
        self.key = key
        self.lookup: Final = Lookup(table=table, key=key, names=names)
        self._value = value
        self._names = names
        self._insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608
        others = ", ".join(f"{name} = excluded.{name}" for name in names if name != key)
        self._put = f"{self._insert} ON CONFLICT ({key}) DO UPDATE SET {others}"

    def get(self, reader: BooksReader, key: str) -> RowT | None:
        """The row with this key."""
        found = reader.find(self.lookup, (key,))
        return self._of(found[key]) if found else None

    def all(self, reader: BooksReader, keys: Iterable[str]) -> dict[str, RowT]:
        """The rows with these keys, as far as there are any."""
        return {key: self._of(row) for key, row in reader.find(self.lookup, tuple(dict.fromkeys(keys))).items()}

    def greatest(self, reader: BooksReader, column: str) -> int:
        """The greatest number of a column; 0 where there are no rows."""
        return reader.greatest(self.lookup, column)

    def where(self, reader: BooksReader, conditions: str, parameters: tuple[SqlValue, ...] = ()) -> Iterator[RowT]:
        """The rows that meet `conditions`: SQL of ours, with order and limit, never text from outside."""
        rows = reader.execute(f"{self.lookup.all} WHERE {conditions}", parameters).fetchall()
        return (self._of(row) for row in rows)

    def _of(self, row: tuple[Any, ...]) -> RowT:
        return self._value(**dict(zip(self._names, row, strict=True)))

    def insert(self, transaction: Transaction, row: Mapping[str, JsonValue]) -> None:
        """A new row from the JSON form of a value."""
        self.add(transaction, self._value(**row))

    def add(self, transaction: Transaction, value: RowT) -> None:
        """A new row."""
        self.add_rows(transaction, [_plain(_fields(self._value)[1](value))])

    def add_rows(self, transaction: Transaction, rows: Sequence[Sequence[SqlValue]]) -> None:
        """New rows, the columns of each in the order of the fields."""
        self._change(transaction, self._insert, rows)

    def put_rows(self, transaction: Transaction, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Such rows, new or in the place of those with their keys."""
        self._change(transaction, self._put, rows)

    def _change(self, transaction: Transaction, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        known = transaction.change(sql, rows)
        if known is not None:
            for row in rows:
                known.put(self.lookup, str(row[self.lookup.place]), row)

    def update(self, transaction: Transaction, key: str, changes: Mapping[str, JsonValue]) -> None:
        """Set some columns. The names are fields of the value: others are refused by SQLite."""
        if not changes:
            return
        assignments = ", ".join(f"{name} = ?" for name in changes)
        values = (*(cast("SqlValue", value) for value in changes.values()), key)
        sql = f"UPDATE {self.table} SET {assignments} WHERE {self.key} = ?"  # noqa: S608
        known = transaction.change(sql, (values,))
        if known is not None:
            known.change(self.lookup, key, dict(zip(changes, _plain(values), strict=False)))

    def delete(self, transaction: Transaction, key: str) -> None:
        """No such row any more."""
        known = transaction.change(f"DELETE FROM {self.table} WHERE {self.key} = ?", ((key,),))  # noqa: S608
        if known is not None:
            known.put(self.lookup, key, None)

    def opens(self, transaction: Transaction, fact: Fact) -> None:
        """A `Project`: the fact's `row` is a new row."""
        self.insert(transaction, cast("JsonObject", fact.body["row"]))

    def changes(self, transaction: Transaction, fact: Fact) -> None:
        """A `Project`: the fact's `set` are new values of the row that it is about."""
        self.update(transaction, fact.subject, cast("JsonObject", fact.body["set"]))

    def ends(self, transaction: Transaction, fact: Fact) -> None:
        """A `Project`: the row that the fact is about is no more."""
        self.delete(transaction, fact.subject)


def row_json(value: Row) -> JsonObject:
    """The JSON form of a row: `row` of the fact that opens it."""
    names, values_of = _fields(type(value))
    return dict(zip(names, _plain(values_of(value)), strict=True))


def differences(before: Row, after: Row) -> JsonObject:
    """What changed, by field: `set` of the fact that says so."""
    names, values_of = _fields(type(after))
    new, old = values_of(after), values_of(before)
    pairs = zip(names, _plain(new), map(ne, new, old), strict=True)
    return {name: value for name, value, has_changed in pairs if has_changed}


def record(transaction: Transaction, fact: Fact, projections: Mapping[str, Project]) -> int:
    """Record a fact and let it change the tables, in one transaction; its `seq`."""
    seq = transaction.record(fact)
    projections[fact.kind](transaction, fact)
    return seq


@cache
def _fields(value: type[Row]) -> tuple[tuple[str, ...], Callable[[Row], tuple[Any, ...]]]:
    """The names of the fields, two at least, and what gives all their values at once."""
    names = tuple(field.name for field in fields(value))
    return names, attrgetter(*names)


def _plain(values: tuple[Any, ...]) -> list[Any]:
    """Values as JSON and columns hold them."""
    return [
        one if type(one) in _PLAIN else one.value if isinstance(one, Enum) else int(one) if type(one) is bool else one
        for one in values
    ]
