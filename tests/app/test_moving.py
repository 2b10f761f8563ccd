"""Books move to a server and back: the same facts at the same places, whatever cuts the moving off."""

import os
import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from books_file import writer_of
from earnest.app import places
from earnest.app.home_check import verify_records
from earnest.app.moving import go_back, go_on, move_books, place_of
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage import filling
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.filling import Filling
from earnest.effects.ground.storage.place import MOVED, Books, ServerBooks
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.schema import BOOKS
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.facts import Fact
from earnest.journal.redaction import redact
from earnest.runtime.recompute import recompute

CLOCK = VirtualClock()
CLOSED = {"books_filling", "books_moved"}
"""Why what is not whole yet is not opened; where it held the books before, the note says so first."""


@pytest.fixture
def server(home: Path, postgresql_address: str) -> ServerBooks:
    return ServerBooks(postgresql_address, home)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "BATCH_ROWS", 64)


def everything(books: Books) -> dict[str, list[tuple[Any, ...]]]:
    with closing(ReadPool.open_reader(books)) as pool:
        return pool.read_sync(lambda reader: {table: list(reader.rows(table)) for table in BOOKS.tables()})


def record(books: Books, kind: str = "test.happened") -> int:
    with closing(Database.open(books, CLOCK)) as database:
        fact = Fact(kind=kind, subject="s", at_ms=1, body={"n": 1})
        return database.write_sync(lambda transaction: transaction.record(fact))


@pytest.mark.slow
def test_books_go_to_a_server_and_back_and_nothing_of_them_changes(home: Path, server: ServerBooks) -> None:
    file = places.books(home)
    before, told = everything(file), list[str]()
    there = move_books(file, server, CLOCK, told.append)
    assert everything(server) == everything(file) == before
    assert all(before[table] for table in ("facts", "accounts", "claims", "transfers", "touches", "artifacts"))
    assert {table: len(rows) for table, rows in before.items()} == there.rows
    assert (there.facts, there.went_on_at) == (len(before["facts"]), 0)
    assert there.balances
    assert set(there.balances.values()) == {0}
    assert there.head is not None
    assert there.head.size in range(there.facts - 5, there.facts)
    assert any(line.startswith("facts: ") for line in told)
    assert verify_records(home, server).intact
    record(server)
    file.rename(home / "before.sqlite3")
    back = move_books(server, file, CLOCK)
    assert (back.facts, everything(file)) == (there.facts + 1, everything(server))
    assert everything(file)["facts"][:-1] == before["facts"]
    record(file)
    assert verify_records(home).intact


@pytest.mark.slow
def test_who_wrote_to_books_that_were_moved_is_told_where_they_are(home: Path, server: ServerBooks) -> None:
    move_books(places.books(home), server, CLOCK)
    with pytest.raises(Refused, match="was moved to postgresql://") as refused:
        record(places.books(home))
    assert refused.value.code == "books_moved"
    with pytest.raises(Refused, match="was moved to"):
        move_books(places.books(home), server, CLOCK)
    record(server)


def fork(story: Callable[[], object]) -> int:
    """Run it in a child; how that ended."""
    child = os.fork()
    if child == 0:
        try:
            story()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(number: int, story: Callable[[], object]) -> int:
    """The story, killed before its `number`-th commit."""
    passed, commit = count(1), Filling._group

    def group(self: Filling) -> Any:
        if next(passed) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return commit(self)

    def patched() -> None:
        Filling._group = group  # type: ignore[method-assign] # in the child alone
        story()

    return fork(patched)


@pytest.mark.slow  # a process is killed at each commit
@pytest.mark.timeout(400)
@pytest.mark.parametrize("is_back", [False, True])
def test_a_moving_that_is_killed_before_any_commit_goes_on(home: Path, server: ServerBooks, *, is_back: bool) -> None:
    source, target = places.books(home), server
    expected = everything(source)
    if is_back:
        move_books(source, server, CLOCK)
        source.unlink()
        _killed_all_along(server, source, expected)
    else:
        _killed_all_along(source, target, expected)


def _killed_all_along(source: Books, target: Books, expected: dict[str, list[tuple[Any, ...]]]) -> None:
    ends = list[int]()
    for number in count(1):
        ends.append(killed_at(number, partial(move_books, source, target, CLOCK)))
        if ends[-1] == 0:
            break
        if number > 1:
            with pytest.raises(Refused) as refused:
                record(target)
            assert refused.value.code in CLOSED
    assert ends[:-1] == [-signal.SIGKILL] * (len(ends) - 1)
    assert len(ends) >= len(("begin", "fill", "a batch", "rows", "open", "done"))
    assert everything(target) == expected
    record(target)


@pytest.mark.slow
def test_a_moving_goes_on_where_it_was_cut_off(home: Path, server: ServerBooks) -> None:
    source = places.books(home)
    assert killed_at(5, partial(move_books, source, server, CLOCK)) == -signal.SIGKILL
    record(source)
    moved = move_books(source, server, CLOCK)
    assert moved.went_on_at == 2 * 64
    assert everything(server) == everything(source)


@pytest.mark.slow  # books are moved twice and compared
def test_what_was_moved_and_not_noted_is_compared_and_noted(home: Path, server: ServerBooks) -> None:
    move_books(places.books(home), server, CLOCK)
    (home / MOVED).unlink()
    moved = move_books(places.books(home), server, CLOCK)
    assert moved.went_on_at == moved.facts
    assert (home / MOVED).exists()


@pytest.mark.slow
def test_a_target_that_holds_other_books_is_refused(home: Path, server: ServerBooks) -> None:
    record(server, "test.other")
    with pytest.raises(Refused) as refused:
        move_books(places.books(home), server, CLOCK)
    assert refused.value.code == "target_not_empty"
    assert len(everything(server)["facts"]) == 1


@pytest.mark.slow
def test_a_target_that_others_have_begun_to_fill_is_refused(home: Path, server: ServerBooks, tmp_path: Path) -> None:
    assert killed_at(5, partial(move_books, places.books(home), server, CLOCK)) == -signal.SIGKILL
    other = tmp_path / "other" / "books.sqlite3"
    record(other)
    with pytest.raises(Refused, match="128 facts of other books"):
        move_books(other, ServerBooks(server.address, other.parent), CLOCK)


def test_a_database_of_somebody_else_is_refused(home: Path, server: ServerBooks) -> None:
    with psycopg.connect(server.address) as connection:
        connection.execute("CREATE TABLE theirs (n INTEGER)")
    with pytest.raises(Refused) as refused:
        move_books(places.books(home), server, CLOCK)
    assert refused.value.code == "not_our_database"


@pytest.mark.slow
def test_empty_books_are_filled(home: Path, server: ServerBooks) -> None:
    Database.open(server, CLOCK).close()
    move_books(places.books(home), server, CLOCK)
    assert everything(server) == everything(places.books(home))


@pytest.mark.slow
def test_books_that_somebody_has_open_are_not_moved(home: Path, server: ServerBooks) -> None:
    with closing(Database.open(places.books(home), CLOCK)), pytest.raises(Refused) as refused:
        move_books(places.books(home), server, CLOCK)
    assert refused.value.code == "data_directory_in_use"


@pytest.mark.slow  # books are moved three times
def test_what_others_write_meanwhile_keeps_the_target_closed_and_is_taken_next_time(
    home: Path, server: ServerBooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_books(places.books(home), server, CLOCK)
    elsewhere = ServerBooks(server.address, tmp_path / "machine")  # another data directory, the same books
    places.books(home).unlink()
    copy = Filling.fill

    def beside(self: Filling, source: BooksReader, filled: filling.Filled) -> int:
        record(elsewhere)
        return copy(self, source, filled)

    monkeypatch.setattr(Filling, "fill", beside)
    with pytest.raises(Unavailable, match="others write to"):
        move_books(server, places.books(home), CLOCK)
    with pytest.raises(Refused) as refused:
        record(places.books(home))
    assert refused.value.code in CLOSED
    monkeypatch.undo()
    move_books(server, places.books(home), CLOCK)
    assert everything(places.books(home)) == everything(server)


@pytest.mark.slow
def test_rows_that_are_not_what_the_facts_say_stay_closed(home: Path, server: ServerBooks) -> None:
    with closing(Database.open(places.books(home), CLOCK)) as database:
        driver = writer_of(database)
        driver.execute("UPDATE accounts SET description = 'forged' WHERE rowid = 1")
    with pytest.raises(Refused, match="description is 'forged'") as refused:
        move_books(places.books(home), server, CLOCK)
    assert refused.value.code == "books_differ"
    with pytest.raises(Refused, match="being copied"):
        record(server)


@pytest.mark.slow
def test_a_copy_that_differs_is_found(home: Path, server: ServerBooks, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = Filling._insert

    def losing(self: Filling, table: str, rows: list[tuple[Any, ...]]) -> None:
        insert(self, table, rows[:-1] if table == "touches" else rows)

    monkeypatch.setattr(Filling, "_insert", losing)
    with pytest.raises(Refused, match="touches: row") as refused:
        move_books(places.books(home), server, CLOCK)
    assert refused.value.code == "books_differ"


@pytest.mark.slow
def test_what_a_server_recomputes_is_what_it_was_given(home: Path, server: ServerBooks) -> None:
    move_books(places.books(home), server, CLOCK)
    with closing(ReadPool.open_reader(server)) as pool:
        found = pool.read_sync(lambda reader: recompute(reader, CLOCK))
    assert found.differences == ()
    assert found.rows > 100


@pytest.mark.slow  # books are moved and verified
def test_texts_that_were_removed_stay_removed_and_the_journal_still_says_so(home: Path, server: ServerBooks) -> None:
    seq = record(places.books(home), "test.opened")
    with closing(Database.open(places.books(home), CLOCK)) as database:
        database.write_sync(lambda t: redact(t, {seq: {"n": 0}}, subject="s", at_ms=2))
    move_books(places.books(home), server, CLOCK)
    found = verify_records(home, server)
    assert (found.intact, found.journal.redacted) == (True, 1)
    assert everything(server) == everything(places.books(home))


@pytest.mark.slow
def test_books_on_a_server_are_migrated_there_and_have_no_way_back(home: Path, server: ServerBooks) -> None:
    with pytest.raises(Refused) as refused:
        go_on(server)
    assert refused.value.code == "no_database"
    seq = record(server)
    assert go_on(server) == ((BOOKS.head, seq), (BOOKS.head, seq))
    with pytest.raises(Refused) as refused:
        go_back(server, lose_facts=True)
    assert refused.value.code == "books_on_server"
    assert place_of(server, "sqlite") == places.books(home)
    for word in ("elsewhere", "mysql://x/y"):
        with pytest.raises(Refused):
            place_of(server, word)


def test_a_password_is_told_nowhere(home: Path) -> None:
    books = ServerBooks("postgresql://me:hidden@localhost/books", home)
    other = ServerBooks("postgresql://you:other@localhost/books", home)
    assert "hidden" not in str(books)
    assert books.digest == other.digest
