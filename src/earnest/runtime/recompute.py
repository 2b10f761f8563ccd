"""A check that the facts alone lead to what the tables hold, and which facts make which tables.

Every shown number is read from these tables, so a number that is not what the facts say is found here.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final

from earnest.accountability import service as accountability
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Book, Project
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.hands.scratch import scratch
from earnest.foundation.errors import Broken
from earnest.foundation.facts import Fact
from earnest.identity import service as identity
from earnest.ledger import service as ledger
from earnest.market import service as market
from earnest.market.sealed import opened_review, opened_trial
from earnest.market.service import REVIEWS, TRIALS
from earnest.runtime.desk import altered_replies
from earnest.world import service as world

FACTS_AT_ONCE: Final = 2_000
DIFFERENCES_MAX: Final = 100

BOOKS: Final[tuple[Book[Any], ...]] = (
    *identity.BOOKS,
    *ledger.BOOKS,
    *market.BOOKS,
    *accountability.BOOKS,
    *world.BOOKS,
)

PROJECTIONS: Final[Mapping[str, Project]] = {
    **{kind: project for book in BOOKS for kind, project in book.projections.items()},
    **ledger.PROJECTIONS,
}
"""What each kind of fact does to the tables. Facts of other kinds change none."""

TABLES: Final[Mapping[str, str]] = {
    **{book.table: book.key for book in BOOKS},
    **accountability.EXTRA_TABLES,
    "ledger_accounts": "id",
    "transfers": "id",
}
"""Every table that facts alone make, and its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputed:
    """How many facts were read and rows compared, and where they differ, in words; at most `DIFFERENCES_MAX`."""

    facts: int
    rows: int
    differences: tuple[str, ...]


def recompute(reader: BooksReader, clock: Clock, progress: Callable[[int], None] = lambda _: None) -> Recomputed:
    """Make every table anew from the facts of one moment, in a temporary place, and compare.

    `progress` is told how many facts were read. Raises `Broken` for a fact that cannot be applied.
    """
    with scratch("recompute") as folder:
        path = folder / "books.sqlite"
        with contextlib.closing(Database.open(path, clock, is_durable=False)) as anew:
            facts = _replay(reader, anew, progress)
            return anew.read_sync(lambda rebuilt: _compared(reader, rebuilt, facts))


def _replay(reader: BooksReader, anew: Database, progress: Callable[[int], None]) -> int:
    """Record the same facts in the same order: their numbers and hashes come out alike, or something is wrong."""
    stored, count = reader.facts(), 0
    while batch := list(islice(stored, FACTS_AT_ONCE)):
        anew.write_sync(partial(_apply, batch=batch))
        count += len(batch)
        progress(count)
    return count


def _apply(transaction: Transaction, batch: list[StoredFact]) -> None:
    for one in batch:
        fact = Fact(kind=one.kind, subject=one.subject, at_ms=one.at_ms, body=one.body)
        if transaction.record(fact) != one.seq:
            raise Broken(f"a fact is missing before number {one.seq}")
        project = PROJECTIONS.get(fact.kind)
        if project is None:
            continue
        try:
            project(transaction, fact)
        except (KeyError, TypeError, ValueError) as error:
            raise Broken(f"fact {one.seq} ({one.kind}) cannot be applied: {error!r}") from error


def _compared(kept: BooksReader, rebuilt: BooksReader, facts: int) -> Recomputed:
    rows = 0
    differences: list[str] = []
    for table, key in TABLES.items():
        for is_, should_be in _pairs(kept, rebuilt, table, key):
            rows += 1
            if is_ != should_be and len(differences) < DIFFERENCES_MAX:
                differences.append(_difference(table, key, is_, should_be))
    differences += islice(_beside(kept), DIFFERENCES_MAX - len(differences))
    return Recomputed(facts=facts, rows=rows, differences=tuple(differences))


def _beside(kept: BooksReader) -> Iterator[str]:
    """What no fact holds, and only a commitment or a digest vouches for."""
    yield from (f"replies {reply_id}: it is not the answer that was given" for reply_id in altered_replies(kept))
    sealed: tuple[tuple[Iterator[Any], Callable[[BooksReader, Any], object]], ...] = (
        (TRIALS.where(kept, "state = 'running'"), opened_trial),
        (REVIEWS.where(kept, "published_at_ms IS NULL"), opened_review),
    )
    for rows, look in sealed:
        for row in rows:
            try:
                look(kept, row)
            except (Broken, ValueError) as error:
                yield str(error)


def _pairs(
    kept: BooksReader, rebuilt: BooksReader, table: str, key: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows of both, by key; an empty one stands where one side has none."""
    left, right = _rows(kept, table, key), _rows(rebuilt, table, key)
    one, other = next(left, {}), next(right, {})
    while one or other:
        if one and other and one[key] == other[key]:
            yield one, other
            one, other = next(left, {}), next(right, {})
        elif one and (not other or one[key] < other[key]):
            yield one, {}
            one = next(left, {})
        else:
            yield {}, other
            other = next(right, {})


def _rows(reader: BooksReader, table: str, key: str) -> Iterator[dict[str, Any]]:
    cursor = reader.execute(f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608
    names = [column[0] for column in cursor.description]
    return (dict(zip(names, row, strict=True)) for row in cursor)


def _difference(table: str, key: str, is_: dict[str, Any], should_be: dict[str, Any]) -> str:
    name = f"{table} {(is_ or should_be)[key]}"
    if not should_be:
        return f"{name}: no fact made it"
    if not is_:
        return f"{name}: it is missing"
    fields = [field for field in is_ if is_[field] != should_be[field]]
    return f"{name}: " + ", ".join(f"{field} is {is_[field]!r}, the facts say {should_be[field]!r}" for field in fields)
