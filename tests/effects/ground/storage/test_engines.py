"""Do SQLite and PostgreSQL keep the same promises? Every test here is asked of both."""

import asyncio
import errno
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

import postgresql
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage import transaction as transactions
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.postgresql_session import TURN
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.foundation.facts import Fact
from earnest.views.overview import handles
from old_books import ADDED_SINCE, REVISION


@pytest.fixture
def database(books: Books) -> Iterator[Database]:
    with closing(Database.open(books, SystemClock())) as opened:
        yield opened


def fact(subject: str = "s", **body: int | str) -> Fact:
    return Fact(kind="test.happened", subject=subject, at_ms=1_750_000_000_000, body=body)


def record(subject: str = "s") -> Callable[[Transaction], int]:
    return lambda transaction: transaction.record(fact(subject))


def subjects(database: ReadPool) -> list[str]:
    return database.read_sync(lambda reader: [stored.subject for stored in reader.facts()])


def by_hand(books: Books, sql: str) -> list[tuple[Any, ...]]:
    """A statement of another program."""
    if isinstance(books, Path):
        with closing(sqlite3.connect(books, isolation_level=None)) as connection:
            return connection.execute(sql).fetchall()
    with psycopg.connect(books.address, autocommit=True) as server:
        cursor = server.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


LINK = "INSERT INTO votes (id, message_id, operator_id, account_id, up, at_ms) VALUES (?, 'm', 'o', 'a', ?, 1)"


def vote(name: str, *, up: bool = True) -> Callable[[Transaction], None]:
    def write(transaction: Transaction) -> None:
        transaction.record(fact(name))
        transaction.execute(LINK, (name, up))

    return write


def votes(database: ReadPool) -> list[tuple[str, int]]:
    return database.read_sync(lambda reader: list(reader.execute("SELECT id, up FROM votes ORDER BY id")))


@pytest.mark.slow
async def test_what_many_ask_for_at_once_is_one_commit_in_which_each_has_its_part(database: Database) -> None:
    def wrong(transaction: Transaction) -> None:
        transaction.record(fact("wrong"))
        transaction.execute(LINK, ("wrong", 1))
        raise RuntimeError("after all")

    outcomes = await asyncio.gather(
        database.write(record("one")),
        database.write(vote("a")),
        database.write(wrong),
        database.write(vote("b", up=False)),
        database.write(lambda t: t.execute("INSERT INTO votes (id) VALUES ('x')") and t.record(fact("x"))),
        database.write(record("two")),
        return_exceptions=True,
    )
    assert [type(outcome).__name__ for outcome in outcomes[2:5:2]] == ["RuntimeError", "ServerFault"] or isinstance(
        outcomes[4], sqlite3.Error
    )
    assert subjects(database) == ["one", "a", "b", "two"]
    assert votes(database) == [("a", 1), ("b", 0)]
    assert database.last_seq == 4


@pytest.mark.parametrize("fails", [False, True])
async def test_a_part_that_reads_sees_the_facts_of_others_and_takes_none_back(
    database: Database, *, fails: bool
) -> None:
    def read(transaction: Transaction) -> list[str]:
        seen = [one.subject for one in transaction.facts()]
        assert transaction.touched("somebody") == 0
        if fails:
            raise RuntimeError(", ".join(seen))
        return seen

    *_, seen, third = await asyncio.gather(
        database.write(record("one")),
        database.write(vote("two")),
        database.write(read),
        database.write(vote("three")),
        return_exceptions=True,
    )
    assert (str(seen) == "one, two") if fails else (seen == ["one", "two"])
    assert (third, subjects(database), votes(database)) == (
        None,
        ["one", "two", "three"],
        [("three", 1), ("two", 1)],
    )


async def test_a_part_begins_with_few_bytes_of_others_waiting(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "WAITING_BYTES_MAX", 120)
    waiting = list[int]()

    def write(transaction: Transaction) -> None:
        waiting.append(len(transaction._page.rows))
        transaction.record(fact(text="x" * 40))

    await asyncio.gather(*(database.write(write) for _ in range(7)))
    assert waiting == [0, 1, 2, 0, 1, 2, 0]
    assert subjects(database) == ["s"] * 7


@pytest.mark.parametrize(
    "sql",
    [
        LINK.replace("?", "1"),
        "UPDATE votes SET up = 0",
        "UPDATE votes SET up = 0 RETURNING id",
        "DELETE FROM votes",
    ],
)
async def test_a_silent_write_is_refused_and_undone(database: Database, sql: str) -> None:
    await database.write(vote("first"))
    outcomes = await asyncio.gather(
        database.write(record("other")), database.write(lambda t: t.execute(sql).fetchall()), return_exceptions=True
    )
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].code == "silent_write"
    assert votes(database) == [("first", 1)]
    assert subjects(database) == ["first", "other"]


async def test_no_row_is_changed_within_a_question(database: Database) -> None:
    await database.write(vote("first"))
    sql = "WITH gone AS (DELETE FROM votes RETURNING id) SELECT id FROM gone"
    with pytest.raises((Refused, sqlite3.Error)):  # to SQLite that is no SQL
        await database.write(lambda transaction: transaction.execute(sql).fetchall())
    assert votes(database) == [("first", 1)]


@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT",
        "ROLLBACK",
        "CREATE TABLE more (id INTEGER)",
        "DROP TABLE votes",
        "ALTER TABLE votes ADD COLUMN more TEXT",
        "INSERT INTO facts SELECT seq + 1, at_ms, kind, subject, body, leaf FROM facts",
        "UPDATE facts SET at_ms = 1",
        "DELETE FROM facts",
        "UPDATE schema_version SET revision = '9999'",
    ],
)
async def test_a_transaction_may_only_read_and_change_rows(database: Database, sql: str) -> None:
    outcomes = await asyncio.gather(
        database.write(record("before")),
        database.write(lambda transaction: transaction.execute(sql) and transaction.record(fact("wrong"))),
        database.write(record("after")),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].code == "statement_not_allowed"
    assert subjects(database) == ["before", "after"]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE facts SET at_ms = 1",
        "DELETE FROM facts",
        "INSERT INTO facts SELECT seq + 5, at_ms, kind, subject, body, leaf FROM facts",
    ],
)
def test_facts_are_append_only_for_other_programs_too(database: Database, books: Books, sql: str) -> None:
    database.write_sync(record())
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.RaiseException), match="a fact"):
        by_hand(books, sql)


@pytest.mark.parametrize("sql", ["DELETE FROM facts", "CREATE TABLE more (id INTEGER)", LINK.replace("?", "1")])
def test_a_reader_can_change_nothing(database: Database, sql: str) -> None:
    with pytest.raises(Exception, match=r"read-?only"):
        database.read_sync(lambda reader: reader.execute(sql))
    assert votes(database) == []


@pytest.mark.slow
def test_a_reader_has_one_moment(database: Database) -> None:
    database.write_sync(record("before"))

    def look(reader: BooksReader) -> tuple[list[str], list[str]]:
        first = [stored.subject for stored in reader.facts()]
        database.write_sync(record("meanwhile"))
        return first, [stored.subject for stored in reader.facts()]

    assert database.read_sync(look) == (["before"], ["before"])
    assert subjects(database) == ["before", "meanwhile"]


def test_facts_come_in_order_and_are_streamed(database: Database) -> None:
    def many(transaction: Transaction) -> None:
        for number in range(1_500):
            transaction.record(Fact(kind=f"k.{number % 3}", subject=f"s{number % 7}", at_ms=number, body={"n": number}))

    database.write_sync(many)
    ask = database.read_sync
    assert [one.seq for one in ask(lambda reader: list(reader.facts()))] == list(range(1, 1_501))
    assert all(one.is_intact for one in ask(lambda reader: list(reader.facts())))
    newest = ask(lambda reader: list(reader.facts(kind=["k.0", "k.1"], subject="s3", newest_first=True, limit=3)))
    expected = [number for number in range(1_500) if number % 3 < 2 and number % 7 == 3][::-1]
    assert [one.body["n"] for one in newest] == expected[:3]
    assert len(ask(lambda reader: list(reader.leaves(after_seq=700)))) == 800
    assert len(ask(lambda reader: list(reader.subjects(kind="k.2")))) == 500
    assert ask(lambda reader: reader.subjects_like("s", 4)) == ["s0", "s1", "s2", "s3"]


def test_a_list_that_is_empty_finds_nothing(database: Database) -> None:
    database.write_sync(record("kept"))
    assert database.read_sync(lambda reader: list(reader.facts(kind=()))) == []
    assert database.read_sync(lambda reader: reader.touched()) == 0
    assert database.read_sync(lambda reader: handles(reader, ())) == {}


def test_texts_sort_by_their_bytes_and_count_their_case(database: Database) -> None:
    for name in ("b", "a", "B", "é", "_", "a b", "Z"):
        database.write_sync(vote(name))
    assert [name for name, _ in votes(database)] == sorted(("b", "a", "B", "é", "_", "a b", "Z"))


@pytest.mark.slow
def test_sums_are_whole_numbers(database: Database) -> None:
    for name in "abc":
        database.write_sync(vote(name))
    total = database.read_sync(lambda reader: reader.execute("SELECT sum(up), count(*) FROM votes").fetchone())
    assert total == (3, 3)
    assert all(type(number) is int for number in total)


@pytest.mark.slow
def test_an_older_database_is_brought_to_the_schema_and_a_newer_one_refused(database: Database, books: Books) -> None:
    database.write_sync(record("kept"))
    database.close()
    for added in ADDED_SINCE:
        by_hand(books, f"DROP {added}")
    by_hand(books, "DROP TABLE IF EXISTS memory_rows")
    by_hand(books, f"UPDATE schema_version SET revision = '{REVISION}'")
    with pytest.raises(Refused) as old:
        ReadPool.open_reader(books)
    with closing(Database.open(books, SystemClock())) as again:
        assert subjects(again) == ["kept"]
        assert again.read_sync(lambda reader: reader.faults()) == ()
    by_hand(books, "UPDATE schema_version SET revision = '9999'")
    with pytest.raises(Refused) as new:
        Database.open(books, SystemClock())
    assert (old.value.code, new.value.code) == ("database_too_old", "database_too_new")


def test_a_database_of_another_program_is_refused_and_an_empty_one_is_none(books: Books) -> None:
    with pytest.raises(Refused) as none:
        ReadPool.open_reader(books)
    by_hand(books, "CREATE TABLE theirs (id INTEGER)")
    with pytest.raises(Refused) as theirs:
        Database.open(books, SystemClock())
    assert (none.value.code, theirs.value.code) == ("no_database", "not_our_database")


def test_what_is_missing_or_strange_is_a_fault(database: Database, books: Books) -> None:
    assert database.read_sync(lambda reader: reader.faults()) == ()
    by_hand(books, "DROP INDEX facts_by_kind")
    by_hand(books, "CREATE TABLE theirs (id INTEGER)")
    found = database.read_sync(lambda reader: reader.faults())
    assert "facts_by_kind is missing or was altered" in found
    assert any("theirs is not ours" in fault for fault in found)


def test_a_text_that_one_of_the_engines_cannot_hold_is_refused_or_kept(database: Database) -> None:
    with pytest.raises(Refused) as refused:
        database.write_sync(record("a\0b"))
    assert refused.value.code == "fact_not_recordable"


PROGRAM = """
import asyncio, pathlib, sys
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
from earnest.foundation.facts import Fact
address, home, name = sys.argv[1:]
books = ServerBooks(address, pathlib.Path(home)) if address else pathlib.Path(home) / "books.sqlite3"
async def main():
    database = Database.open(books, SystemClock())
    async def one(who):
        for number in range(10**6):
            fact = Fact(kind="test.wrote", subject=f"{name}.{who}", at_ms=1, body={"n": number})
            seq = await database.write(lambda t: t.record(fact))
            print(seq, f"{name}.{who}", number, flush=True)
    await asyncio.gather(*(one(who) for who in range(4)))
asyncio.run(main())
"""


def writing(books: Books, home: Path, name: str) -> "subprocess.Popen[str]":
    address = "" if isinstance(books, Path) else books.address
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, address, str(home), name], stdout=subprocess.PIPE, text=True
    )


def acknowledged(process: "subprocess.Popen[str]", lines: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(lines)]


@pytest.mark.slow
def test_killed_writers_lose_nothing_acknowledged_and_leave_no_gap(books: Books, tmp_path: Path) -> None:
    told: list[str] = []
    for round_number in range(3):
        processes = [writing(books, tmp_path, f"{round_number}{side}") for side in "ab"]
        for process in processes:
            told += acknowledged(process, 40)
        for process in processes:
            process.send_signal(signal.SIGKILL)
            rest, _ = process.communicate()
            told += [line for line in rest.split("\n") if len(line.split()) == 3]
    with closing(ReadPool.open_reader(books)) as pool:
        kept = pool.read_sync(lambda reader: list(reader.facts()))
    assert [one.seq for one in kept] == list(range(1, len(kept) + 1))
    present = {f"{one.seq} {one.subject} {one.body['n']}" for one in kept}
    assert set(told) <= present
    for name in {one.subject for one in kept}:
        numbers = [one.body["n"] for one in kept if one.subject == name]
        assert all(later == before + 1 for before, later in pairwise(numbers))  # type: ignore[operator]


@pytest.mark.slow  # it waits until the server gives somebody up
def test_a_stopped_holder_of_the_turn_is_freed_by_the_server_and_writes_nothing_when_it_wakes(
    postgresql_server: str, tmp_path: Path
) -> None:
    with postgresql.database(postgresql_server) as address:
        books = ServerBooks(address, tmp_path)
        with closing(Database.open(books, SystemClock())) as database:
            database.write_sync(record("first"))
            process = writing(books, tmp_path, "stopped")
            try:
                acknowledged(process, 5)
                while not _is_held(address):
                    process.send_signal(signal.SIGCONT)
                    database.write_sync(record("another"))  # who writes alone holds no turn between two messages
                    process.send_signal(signal.SIGSTOP)
                database.write_sync(record("went on"))
                process.send_signal(signal.SIGCONT)
                acknowledged(process, 1)
            finally:
                process.kill()
                process.communicate()
            kept = database.read_sync(lambda reader: [one.seq for one in reader.facts()])
        assert kept == list(range(1, len(kept) + 1))


def _is_held(address: str) -> bool:
    with psycopg.connect(address, autocommit=True) as server:
        sql = (
            "SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE locktype = 'advisory' AND granted AND state = 'idle in transaction'"
        )
        rows = server.execute(sql).fetchall()
    return bool(rows)


@pytest.mark.slow
async def test_a_turn_that_fails_as_nobody_foresaw_is_told_and_the_next_write_goes_well(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    for name in ("take", "try_take"):
        monkeypatch.setattr(database._writer._writing, name, fails)
    with pytest.raises(Broken, match="Input/output error"):
        await asyncio.wait_for(database.write(record()), 30)
    monkeypatch.undo()
    assert await asyncio.wait_for(database.write(record()), 30) == 1
    monkeypatch.setattr(database._writer._writing, "give", fails)
    assert await asyncio.wait_for(database.write(record()), 30) == 2, "what was committed by then is told"
    monkeypatch.undo()
    assert await asyncio.wait_for(database.write(record()), 30) == 3


@pytest.mark.slow
def test_who_waits_too_long_is_told_the_holder(
    postgresql_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("earnest.effects.ground.storage.postgresql_session.TURN_WAIT_MS", 200)
    with postgresql.database(postgresql_server) as address:
        books = ServerBooks(address, tmp_path)
        with (
            closing(Database.open(books, SystemClock())) as database,
            psycopg.connect(address, application_name="a stranger") as holder,
        ):
            holder.execute(f"SELECT pg_advisory_xact_lock({TURN})".encode())
            with pytest.raises(Unavailable, match=r"held by a stranger \(backend \d+\)"):
                database.write_sync(record())
            holder.rollback()
            assert database.write_sync(record()) == 1
