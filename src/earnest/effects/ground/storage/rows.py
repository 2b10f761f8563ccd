"""Frozen values as rows of a table, and books, whose rows are opened and changed such that facts alone make them again.

The fields of the value are the columns of the table, in the same order. `earnest recompute` makes the tables again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from enum import Enum
from itertools import compress
from operator import ne
from types import UnionType
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar, cast, get_args

from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.known_rows import KnownRows, Lookup, Sought
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.foundation.shapes import fields_of

Project: TypeAlias = Callable[[Transaction, Fact], None]
"""What a fact does to the tables. It reads nothing but the fact and the rows that earlier facts made."""


class Row(Protocol):
    """A frozen dataclass whose fields are int, str, bool or None."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


RowT = TypeVar("RowT", bound=Row)

_PLAIN: Final = frozenset({int, str, type(None)})


class Rows(Generic[RowT]):
    """The rows of one table. `key` is the primary key, a text. Flags are held as 0 and 1, enums by value."""

    def __init__(self, value: type[RowT], table: str, key: str = "id") -> None:
        names, _ = fields_of(value)
        self.value = value
        self.table = table
        self.key = key
        self.lookup: Final = Lookup(table=table, key=key, names=names)
        self._names = names
        self._kinds = tuple((field.name, kind) for field in fields(value) if (kind := _kind(field.type)) is not None)
        self._defaults = {field.name: field.default for field in fields(value) if field.default is not MISSING}
        self._insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608
        others = ", ".join(f"{name} = excluded.{name}" for name in names if name != key)
        self._put = f"{self._insert} ON CONFLICT ({key}) DO UPDATE SET {others}"

    def get(self, reader: BooksReader, key: str) -> RowT | None:
        """The row with this key."""
        row = self._found(reader, (key,)).get(key)
        return None if row is None else self._of(row)

    def all(self, reader: BooksReader, keys: Iterable[str]) -> dict[str, RowT]:
        """The rows with these keys, as far as there are any."""
        rows = self._found(reader, tuple(dict.fromkeys(keys)))
        return dict(zip(rows, map(self._of, rows.values()), strict=True))

    def numbers(self, transaction: Transaction, column: str, count: int) -> int:
        """The first of so many numbers after the greatest of a column, for rows that are added at once.

        Nothing else gives this column its numbers.
        """
        if (known := transaction.link.known) is None:
            greatest = transaction.greatest
            if self.table not in greatest:
                (greatest[self.table],) = transaction.link.session.execute(self.lookup.greatest(column)).fetchone()
            greatest[self.table] += count
            return greatest[self.table] - count + 1
        try:
            return known.greatest(self.table, column) + 1
        except KeyError:
            transaction.link.look((Sought(self.lookup, greatest=column),))
            return known.greatest(self.table, column) + 1

    def where(self, reader: BooksReader, conditions: str, parameters: tuple[SqlValue, ...] = ()) -> Iterator[RowT]:
        """The rows that meet `conditions`: SQL of ours, with order and limit, never text from outside."""
        sql = f"{self.lookup.all} WHERE {conditions}"
        rows = None
        if (known := reader.link.known) is not None:
            rows = known.meeting(Sought(self.lookup, conditions=conditions, parameters=parameters))
        if rows is None:
            rows = reader.link.session.execute(sql, parameters).fetchall()
        return map(self._of, rows)

    def _found(self, reader: BooksReader, keys: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
        """The columns of the rows that there are, by key."""
        if (known := reader.link.known) is None:
            rows = reader.link.session.execute(self.lookup.select_by(len(keys)), keys).fetchall() if keys else ()
            return {row[self.lookup.place]: row for row in rows}
        try:
            return known.find(self.lookup, keys)
        except KeyError:
            reader.link.look((Sought(self.lookup, keys),))
            return known.find(self.lookup, keys)

    def _of(self, row: tuple[Any, ...]) -> RowT:
        given = dict(zip(self._names, row, strict=True))
        for name, kind in self._kinds:
            if given[name] is not None:
                given[name] = kind(given[name])
        return self.value(**given)

    def insert(self, transaction: Transaction, row: Mapping[str, JsonValue]) -> None:
        """A new row from the JSON form of a value; of one from before a field was added, without that field."""
        given = {**self._defaults, **row}
        if len(given) != len(self._names):
            raise TypeError(f"{self.table}: these are not its columns: {', '.join(row)}")
        self._add(transaction, self._insert, [_plain(map(given.__getitem__, self._names))])

    def add(self, transaction: Transaction, value: RowT) -> None:
        """A new row."""
        self._add(transaction, self._insert, [_plain(fields_of(self.value)[1](value))])

    def add_rows(self, transaction: Transaction, rows: Sequence[Sequence[SqlValue]]) -> None:
        """New rows, the columns of each in the order of the fields."""
        self._add(transaction, self._insert, rows)

    def put_rows(self, transaction: Transaction, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Such rows, new or in the place of those with their keys."""
        self._add(transaction, self._put, rows)

    def _add(self, transaction: Transaction, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        known = _changed(transaction, sql, rows)
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
        known = _changed(transaction, sql, (values,))
        if known is not None:
            known.change(self.lookup, key, dict(zip(changes, _plain(values), strict=False)))

    def delete(self, transaction: Transaction, key: str) -> None:
        """No such row any more."""
        known = _changed(transaction, f"DELETE FROM {self.table} WHERE {self.key} = ?", ((key,),))  # noqa: S608
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


def _changed(transaction: Transaction, sql: str, rows: Sequence[Sequence[SqlValue]]) -> KnownRows | None:
    """Execute the statement for each of `rows`; the rows that are known, which are then told what became of them.

    The facts that were recorded may wait: the rows of other tables do not depend on them.
    """
    if not transaction.is_marked or not transaction.link.session.in_transaction:
        transaction.open()
    transaction.link.change(sql, rows)
    return transaction.link.known


def row_json(value: Row) -> JsonObject:
    """The JSON form of a row: `row` of the fact that opens it."""
    names, values_of = fields_of(type(value))
    return dict(zip(names, _plain(values_of(value)), strict=True))


def differences(before: Row, after: Row) -> JsonObject:
    """What changed, by field: `set` of the fact that says so."""
    names, values_of = fields_of(type(after))
    new, old = values_of(after), values_of(before)
    have_changed = tuple(map(ne, new, old))
    return dict(zip(compress(names, have_changed), _plain(compress(new, have_changed)), strict=True))


def _kind(of: Any) -> type | None:
    """What makes a field's value of what its column holds, where that is plainer: of a flag or an enum, or None."""
    kind = get_args(of)[0] if isinstance(of, UnionType) else of
    return kind if isinstance(kind, type) and (kind is bool or issubclass(kind, Enum)) else None


def _plain(values: Iterable[Any]) -> list[Any]:
    """Values as JSON and columns hold them."""
    plain = list(values)
    if not _PLAIN.issuperset(map(type, plain)):
        for place, one in enumerate(plain):
            if type(one) not in _PLAIN:
                plain[place] = one.value if isinstance(one, Enum) else int(one) if type(one) is bool else one
    return plain


class Book(Rows[RowT]):
    """The rows of one table, each made by a fact `<word>.opened` and changed by facts `<word>.changed`.

    `touching`: the accounts (and `category:<name>`) whose views a fact may change. `why` stands in the fact beside the
    row: the event, the actor, the reason. `mark`: each of `touching` is touched under this prefix, too, for those whom
    the facts of this book alone concern. `can_end`: a fact `<word>.removed` takes a row away.
    """

    def __init__(self, word: str, rows: Rows[RowT], *, mark: str = "", can_end: bool = False) -> None:
        super().__init__(rows.value, rows.table, rows.key)
        self.word = word
        self._mark = mark
        self.projections: Mapping[str, Project] = {
            f"{word}.opened": self.opens,
            f"{word}.changed": self.changes,
            **({f"{word}.removed": self.ends} if can_end else {}),
        }

    def open(
        self, transaction: Transaction, at_ms: int, value: RowT, *, touching: Iterable[str] = (), **why: JsonValue
    ) -> int:
        """A new row; the fact's number."""
        row = row_json(value)
        fact = Fact(kind=f"{self.word}.opened", subject=str(row[self.key]), at_ms=at_ms, body={**why, "row": row})
        return self._record(transaction, fact, touching)

    def change(
        self,
        transaction: Transaction,
        at_ms: int,
        before: RowT,
        after: RowT,
        *,
        touching: Iterable[str] = (),
        **why: JsonValue,
    ) -> int:
        """`after` in the place of `before`; the fact's number. It is recorded even where no field differs."""
        key, body = str(getattr(before, self.key)), {**why, "set": differences(before, after)}
        fact = Fact(kind=f"{self.word}.changed", subject=key, at_ms=at_ms, body=body)
        return self._record(transaction, fact, touching)

    def remove(self, transaction: Transaction, at_ms: int, value: RowT, *, touching: Iterable[str] = ()) -> int:
        """Take the row away; the fact's number. For books whose rows can end."""
        key = str(getattr(value, self.key))
        return self._record(transaction, Fact(kind=f"{self.word}.removed", subject=key, at_ms=at_ms, body={}), touching)

    def find(self, reader: BooksReader, key: str) -> RowT:
        """The row with this key. Raises `Refused("not_found")`."""
        found = self.get(reader, key)
        if found is None:
            raise Refused("not_found", f"there is no {self.word} {key[:80]!r}, or you may not know of it")
        return found

    def _record(self, transaction: Transaction, fact: Fact, touching: Iterable[str]) -> int:
        touching = tuple(touching)
        if self._mark:
            touching = (*touching, *(self._mark + subject for subject in touching))
        seq = transaction.record(fact, touching)
        self.projections[fact.kind](transaction, fact)
        return seq
