"""Does a reader see one moment, everything in it, and is it unable to change anything?"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books_file import reader_of
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage import reader as reader_module
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.transaction import Transaction, row_of
from earnest.foundation.canonical import JsonObject, canonical_bytes, digest_bytes, leaf_hash
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.foundation.facts import Fact


def record(kind: str, subject: str) -> Callable[[Transaction], int]:
    return lambda t: t.record(Fact(kind=kind, subject=subject, at_ms=5, body={"b": 1, "a": ["é", None]}))


@pytest.fixture
def filled(database: Database) -> Database:
    """Six facts: kinds x and y in turn, about subjects 1, 2 and 3 in turn."""
    for number in range(6):
        database.write_sync(record("xy"[number % 2], "123"[number % 3]))
    return database


@pytest.mark.parametrize(
    ("ask", "seqs"),
    [
        (lambda reader: reader.facts(), [1, 2, 3, 4, 5, 6]),
        (lambda reader: reader.facts(kind="x"), [1, 3, 5]),
        (lambda reader: reader.facts(kind=["x", "y"], limit=2), [1, 2]),
        (lambda reader: reader.facts(kind=()), []),
        (lambda reader: reader.facts(subject="3"), [3, 6]),
        (lambda reader: reader.facts(kind={"y"}, subject="3"), [6]),
        (lambda reader: reader.facts(after_seq=4), [5, 6]),
        (lambda reader: reader.facts(kind="x", newest_first=True, limit=1), [5]),
        (lambda reader: reader.facts(kind="x' OR 1=1 --"), []),
    ],
    ids=range(9),
)
def test_facts_are_found_by_kind_subject_and_number(
    filled: Database, ask: Callable[[BooksReader], Iterator[StoredFact]], seqs: list[int]
) -> None:
    assert filled.read_sync(lambda reader: [fact.seq for fact in ask(reader)]) == seqs


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (lambda reader: reader.facts(kind="x"), "facts_by_kind"),
        (lambda reader: reader.facts(subject="1"), "facts_by_subject"),
        (lambda reader: reader.facts(kind=["x", "y"], subject="1"), "facts_by_subject"),
    ],
    ids=range(3),
)
def test_facts_are_found_by_index(
    filled: Database, ask: Callable[[BooksReader], Iterator[StoredFact]], index: str
) -> None:
    def plan(reader: BooksReader) -> str:
        asked: list[str] = []
        reader_of(reader).set_trace_callback(asked.append)
        list(ask(reader))
        reader_of(reader).set_trace_callback(None)
        return str(reader.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall())

    assert index in filled.read_sync(plan)


def test_too_many_kinds_at_a_time_are_refused(database: Database) -> None:
    with pytest.raises(Refused) as refused:
        database.read_sync(lambda reader: reader.facts(kind=[str(n) for n in range(65)]))
    assert refused.value.code == "too_many_kinds"


def test_a_stored_fact_is_the_fact_that_was_recorded(filled: Database) -> None:
    (stored,) = filled.read_sync(lambda reader: list(reader.facts(limit=1)))
    assert (stored.seq, stored.kind, stored.subject, stored.at_ms) == (1, "x", "1", 5)
    assert stored.body == {"a": ["é", None], "b": 1}
    assert stored.body_json == '{"a":["é",null],"b":1}'.encode()
    assert stored.is_intact


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


@pytest.mark.slow
@given(seq=st.integers(1, 2**53 - 1), at_ms=st.integers(0, 2**53 - 1), kind=TEXT, subject=TEXT, key=TEXT)
def test_a_leaf_is_the_hash_of_the_canonical_form_of_the_whole_fact(
    seq: int, at_ms: int, kind: str, subject: str, key: str
) -> None:
    fact = Fact(kind=kind, subject=subject, at_ms=at_ms, body={key: 1})
    whole: JsonObject = {"seq": seq, "at_ms": at_ms, "kind": kind, "subject": subject, "body": {key: 1}}
    row = row_of(fact, seq)
    assert "sha256:" + row[5].hex() == digest_bytes(b"\x00" + canonical_bytes(whole))
    assert row[5] == leaf_hash(*row[:5])


def test_leaves_are_streamed_in_order(filled: Database) -> None:
    leaves = filled.read_sync(lambda reader: list(reader.leaves(after_seq=2)))
    assert leaves == filled.read_sync(lambda reader: [fact.leaf for fact in reader.facts(after_seq=2)])


def test_a_reader_does_not_see_what_is_written_meanwhile(filled: Database) -> None:
    def count(reader: BooksReader) -> tuple[int, int]:
        (before,) = reader.execute("SELECT count(*) FROM facts").fetchone()
        filled.write_sync(record("x", "new"))
        return before, reader.execute("SELECT count(*) FROM facts").fetchone()[0]

    assert filled.read_sync(count) == (6, 6)
    assert filled.read_sync(lambda reader: len(list(reader.facts()))) == 7


@pytest.mark.parametrize("sql", ["DELETE FROM facts", "CREATE TABLE more (id)", "CREATE TEMP TABLE more (id)"])
def test_sqlite_itself_refuses_a_reader_that_writes(filled: Database, sql: str) -> None:
    with pytest.raises(Broken, match="readonly"):
        filled.read_sync(lambda reader: reader.execute(sql))


async def test_readers_run_beside_the_event_loop_and_each_other(filled: Database) -> None:
    together = threading.Barrier(3, timeout=10)

    def read(reader: BooksReader) -> int:
        together.wait()
        return len(list(reader.facts()))

    assert await asyncio.gather(*(filled.read(read) for _ in range(3))) == [6, 6, 6]


async def test_too_many_waiting_reads_are_refused(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "READS_WAITING_MAX", 1)
    go = threading.Event()
    reading = asyncio.create_task(filled.read(lambda _: go.wait(10)))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="too many reads"):
        await filled.read(lambda _: None)
    go.set()
    assert await reading


def test_what_iterates_is_of_no_use_after_the_read(filled: Database) -> None:
    late = filled.read_sync(lambda reader: reader.facts())
    with pytest.raises(Broken, match="after its end"):
        next(late)


async def test_a_read_past_the_end_of_the_books_is_told_to_whoever_awaits_it(filled: Database) -> None:
    with pytest.raises(Broken, match="past the end"):
        async with asyncio.timeout(10):
            await filled.read(lambda reader: next(reader.facts(after_seq=6)))


def test_a_reader_in_another_pool_sees_what_the_running_writer_writes(filled: Database, path: Path) -> None:
    with closing(Database.open_reader(path)) as beside:
        assert beside.read_sync(lambda reader: len(list(reader.facts()))) == 6
        filled.write_sync(record("x", "new"))
        assert beside.read_sync(lambda reader: len(list(reader.facts()))) == 7


def test_a_closed_database_can_be_read(path: Path, clock: VirtualClock) -> None:
    with closing(Database.open(path, clock)) as database:
        database.write_sync(record("x", "1"))
    with closing(Database.open_reader(path)) as reader:
        assert reader.read_sync(lambda reader: [fact.subject for fact in reader.facts()]) == ["1"]


@pytest.mark.slow
def test_who_wants_the_books_alone_is_refused_beside_a_writer_and_told_who_that_is(
    database: Database, path: Path
) -> None:
    with pytest.raises(Refused, match=f"pid {os.getpid()}") as refused:
        Database.open(path, VirtualClock(), alone=True)
    assert refused.value.code == "data_directory_in_use"


@pytest.mark.slow
def test_beside_who_has_the_books_alone_every_writer_is_refused(path: Path, clock: VirtualClock) -> None:
    with closing(Database.open(path, clock, alone=True)), pytest.raises(Refused, match="needs it alone"):
        Database.open(path, clock)
    Database.open(path, clock).close()


def test_a_data_directory_that_cannot_be_made_is_unavailable(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be used"):
        Database.open(tmp_path / "file" / "books.sqlite", clock)


def test_the_data_directory_is_free_after_closing(path: Path, clock: VirtualClock) -> None:
    for _ in range(2):
        Database.open(path, clock).close()


def test_only_the_owner_may_read_the_files(database: Database, path: Path) -> None:
    database.write_sync(record("x", "1"))
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_there_is_nothing_to_read_where_there_is_no_database(path: Path) -> None:
    with pytest.raises(Refused) as refused:
        ReadPool.open_reader(path)
    assert refused.value.code == "no_database"


def test_a_file_that_is_no_database_is_refused(path: Path, clock: VirtualClock) -> None:
    path.write_bytes(b"not a database, but long enough to have a header" * 100)
    openings: list[Callable[[], ReadPool]] = [lambda: Database.open_reader(path), lambda: Database.open(path, clock)]
    for opening in openings:
        with pytest.raises(Refused) as refused:
            opening()
        assert refused.value.code == "not_our_database"
