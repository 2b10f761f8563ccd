"""Are books kept before they are migrated, and do they come back as they were?"""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage import former
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.former import migrate, put_back, standing_of
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from old_books import REVISION, take_back


def record(books: Path, count: int = 1) -> None:
    with closing(Database.open(books, VirtualClock())) as database:
        for number in range(count):
            fact = Fact(kind="test.happened", subject="s", at_ms=number, body={"n": number})
            database.write_sync(partial(_record, fact=fact))


def _record(transaction: Transaction, fact: Fact) -> int:
    return transaction.record(fact)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Books of the version before with five facts."""
    books = tmp_path / "books.sqlite3"
    record(books, 5)
    with closing(sqlite3.connect(books, isolation_level=None)) as driver:
        take_back(driver)
    return books


def leaves(books: Path) -> list[bytes]:
    with closing(ReadPool.open_reader(books)) as pool:
        assert pool.read_sync(lambda reader: reader.faults()) == ()
        return pool.read_sync(lambda reader: list(reader.leaves()))


def test_whoever_opens_old_books_for_writing_keeps_them_first(old: Path) -> None:
    before = old.read_bytes()
    record(old)
    kept = old.parent / "former" / f"books-{REVISION}.sqlite3"
    assert standing_of(kept) == (REVISION, 5)
    assert standing_of(old) == (BOOKS.head, 6)
    assert len(kept.read_bytes()) == len(before)
    assert len(leaves(old)) == 6


def test_books_go_back_as_long_as_nothing_was_recorded_since_and_on_again(old: Path) -> None:
    assert migrate(old, BOOKS) == ((REVISION, 5), (BOOKS.head, 5))
    assert migrate(old, BOOKS) == ((BOOKS.head, 5), (BOOKS.head, 5))
    facts = leaves(old)
    assert put_back(old) == ((BOOKS.head, 5), (REVISION, 5))
    assert standing_of(old) == (REVISION, 5)
    with pytest.raises(Refused) as first:
        put_back(old)
    migrate(old, BOOKS)
    assert leaves(old) == facts
    record(old)
    with pytest.raises(Refused, match="1 facts were recorded since") as since:
        put_back(old)
    assert (first.value.code, since.value.code) == ("former_missing", "facts_since")
    put_back(old, lose_facts=True)
    assert standing_of(old) == (REVISION, 5)
    assert standing_of(old.parent / "former" / f"books-{BOOKS.head}.sqlite3") == (BOOKS.head, 6)


@pytest.mark.slow
def test_books_that_somebody_uses_are_neither_migrated_nor_put_back(old: Path) -> None:
    migrate(old, BOOKS)
    with closing(Database.open(old, VirtualClock())):
        for story in (partial(migrate, old, BOOKS), partial(put_back, old)):
            with pytest.raises(Refused) as refused:
                story()
            assert refused.value.code == "data_directory_in_use"


def test_without_room_for_the_copy_old_books_stay_as_they_are(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(former, "sync_file", full)
    with pytest.raises(OSError, match="No space left"):
        record(old)
    assert standing_of(old) == (REVISION, 5)
    monkeypatch.undo()
    record(old)
    assert standing_of(old) == (BOOKS.head, 6)
