"""Books: rows opened, changed and read such that facts alone make them again."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Generic

from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Project, Rows, RowT, differences, record, row_json
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact


class Book(Generic[RowT]):
    """The rows of one table, each made by a fact `<word>.opened` and changed by facts `<word>.changed`.

    `touching`: the accounts (and `category:<name>`) whose views a fact may change. `why` stands in the fact beside the
    row: the event, the actor, the reason. `mark`: each of `touching` is touched under this prefix, too, for those whom
    the facts of this book alone concern. `can_end`: a fact `<word>.removed` takes a row away.
    """

    def __init__(self, word: str, rows: Rows[RowT], *, mark: str = "", can_end: bool = False) -> None:
        self.word = word
        self._mark = mark
        self.rows: Final = rows
        self.projections: Mapping[str, Project] = {
            f"{word}.opened": self.rows.opens,
            f"{word}.changed": self.rows.changes,
            **({f"{word}.removed": self.rows.ends} if can_end else {}),
        }

    def open(
        self, transaction: Transaction, at_ms: int, value: RowT, *, touching: Iterable[str] = (), **why: JsonValue
    ) -> int:
        """A new row; the fact's number."""
        body = {**why, "row": row_json(value)}
        fact = Fact(kind=f"{self.word}.opened", subject=self._key(value), at_ms=at_ms, body=body)
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
        body = {**why, "set": differences(before, after)}
        fact = Fact(kind=f"{self.word}.changed", subject=self._key(before), at_ms=at_ms, body=body)
        return self._record(transaction, fact, touching)

    def remove(self, transaction: Transaction, at_ms: int, value: RowT, *, touching: Iterable[str] = ()) -> int:
        """Take the row away; the fact's number. For books whose rows can end."""
        fact = Fact(kind=f"{self.word}.removed", subject=self._key(value), at_ms=at_ms, body={})
        return self._record(transaction, fact, touching)

    def get(self, reader: BooksReader, key: str) -> RowT | None:
        """The row with this key."""
        return self.rows.get(reader, key)

    def find(self, reader: BooksReader, key: str) -> RowT:
        """The row with this key. Raises `Refused("not_found")`."""
        found = self.rows.get(reader, key)
        if found is None:
            raise Refused("not_found", f"there is no {self.word} {key[:80]!r}, or you may not know of it")
        return found

    def where(self, reader: BooksReader, conditions: str, parameters: tuple[SqlValue, ...] = ()) -> Iterator[RowT]:
        """See `Rows.where`."""
        return self.rows.where(reader, conditions, parameters)

    def _key(self, value: RowT) -> str:
        return str(getattr(value, self.rows.key))

    def _record(self, transaction: Transaction, fact: Fact, touching: Iterable[str]) -> int:
        seq = record(transaction, fact, self.projections)
        touching = tuple(touching)
        if self._mark:
            touching = (*touching, *(self._mark + subject for subject in touching))
        transaction.touch(seq, touching)
        return seq
