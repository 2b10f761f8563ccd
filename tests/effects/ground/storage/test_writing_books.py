"""Does a write keep its word: all of it durable, or nothing, and never silently?"""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from books_file import writer_of
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage import database as writer_module
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.groups import GROUP_MAX
from earnest.effects.ground.storage.transaction import (
    BODY_BYTES_MAX,
    KIND_CHARACTERS_MAX,
    SUBJECT_CHARACTERS_MAX,
    Transaction,
)
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.foundation.facts import Fact


def fact(subject: str = "run-1", **body: int | str) -> Fact:
    return Fact(kind="test.happened", subject=subject, at_ms=1_750_000_000_000, body=body)


def record(subject: str = "run-1") -> Callable[[Transaction], int]:
    return lambda transaction: transaction.record(fact(subject))


def subjects(database: Database) -> list[str]:
    return database.read_sync(lambda reader: [stored.subject for stored in reader.facts()])


@pytest.fixture
def noted(path: Path, database: Database) -> Database:
    """A database with a table `notes`, as a room of its own would have, with one row."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("INSERT INTO notes VALUES (1, 'first')")
        connection.commit()
    return database


def notes(database: Database) -> list[str]:
    return database.read_sync(lambda reader: [text for (text,) in reader.execute("SELECT text FROM notes ORDER BY id")])


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are looked for in /proc")
def test_what_a_large_part_is_undone_with_is_no_file(noted: Database) -> None:
    def grow(transaction: Transaction) -> None:
        for number in range(1_000, 1_400):
            transaction.execute("INSERT INTO notes VALUES (?, ?)", (number, str(number) * 500))
        transaction.record(fact())

    def change(transaction: Transaction) -> None:
        transaction.execute("UPDATE notes SET text = text || 'changed'")
        transaction.record(fact())
        for one in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                open_files.append(one.readlink().name)
        raise Refused("no", "no")

    open_files = list[str]()
    noted.write_sync(grow)
    before = notes(noted)
    with pytest.raises(Refused):
        noted.write_sync(change)
    temporary = [name for name in open_files if name.startswith("etilqs")]
    assert (notes(noted), temporary) == (before, [])


async def test_facts_are_numbered_without_gaps_in_order_of_recording(database: Database) -> None:
    seqs = await asyncio.gather(*(database.write(record(f"run-{n}")) for n in range(20)))
    assert seqs == list(range(1, 21))
    assert subjects(database) == [f"run-{n}" for n in range(20)]
    assert database.last_seq == 20


def test_what_a_fact_concerns_is_touched_with_it_or_not_at_all(database: Database) -> None:
    def twice(transaction: Transaction) -> None:
        for subjects_touched in (("ann", "bob"), ("ann",)):
            transaction.record(fact(), subjects_touched)

    def in_vain(transaction: Transaction) -> None:
        transaction.record(fact(), ("bob", "eve"))
        raise Refused("no", "no")

    database.write_sync(twice)
    with pytest.raises(Refused):
        database.write_sync(in_vain)
    newest = database.read_sync(lambda reader: [reader.touched(name) for name in ("ann", "bob", "eve")])
    assert newest == [2, 1, 0]
    assert database.read_sync(lambda reader: reader.touched("ann", "bob")) == 2


def test_a_thread_without_an_event_loop_writes_too(database: Database) -> None:
    assert database.write_sync(record()) == 1
    assert database.write_sync(record()) == 2


async def test_waiting_writers_share_a_commit(database: Database) -> None:
    commits: list[str] = []
    writer_of(database).set_trace_callback(commits.append)
    await asyncio.gather(*(database.write(record()) for _ in range(30)))
    assert commits.count("COMMIT") == 1


async def test_a_failing_part_is_undone_alone(database: Database) -> None:
    def fail(transaction: Transaction) -> int:
        transaction.record(fact("lost"))
        raise KeyError("mine")

    results = await asyncio.gather(
        database.write(record("a")), database.write(fail), database.write(record("b")), return_exceptions=True
    )
    assert isinstance(results[1], KeyError)
    assert (results[0], results[2]) == (1, 2)
    assert subjects(database) == ["a", "b"]


async def test_a_failing_part_with_rows_is_undone_alone(noted: Database) -> None:
    def note(text: str, *, fails: bool) -> Callable[[Transaction], None]:
        def write(transaction: Transaction) -> None:
            transaction.record(fact(f"before {text}"))
            transaction.execute("INSERT INTO notes (text) VALUES (?)", (text,))
            transaction.record(fact(f"after {text}"))
            if fails:
                raise KeyError(text)

        return write

    await asyncio.gather(
        noted.write(record("pure")),
        noted.write(note("kept", fails=False)),
        noted.write(note("lost", fails=True)),
        noted.write(note("also kept", fails=False)),
        return_exceptions=True,
    )
    assert notes(noted) == ["first", "kept", "also kept"]
    assert subjects(noted) == ["pure", "before kept", "after kept", "before also kept", "after also kept"]


SILENT = ["INSERT INTO notes (text) VALUES ('silent')", "UPDATE notes SET text = 'silent'", "DELETE FROM notes"]


@pytest.mark.parametrize("sql", SILENT)
async def test_a_silent_write_is_refused_and_undone(noted: Database, sql: str) -> None:
    outcomes = await asyncio.gather(
        noted.write(record("other")), noted.write(lambda t: t.execute(sql)), return_exceptions=True
    )
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].code == "silent_write"
    assert notes(noted) == ["first"]
    assert subjects(noted) == ["other"]


@pytest.mark.parametrize("sql", SILENT)
async def test_the_same_write_with_a_fact_is_kept(noted: Database, sql: str) -> None:
    def said(transaction: Transaction) -> None:
        transaction.execute(sql)
        transaction.record(fact())

    await noted.write(said)
    assert notes(noted) != ["first"]


async def test_a_transaction_that_only_reads_needs_no_fact(noted: Database) -> None:
    def look(transaction: Transaction) -> tuple[int, list[str]]:
        (count,) = transaction.execute("SELECT count(*) FROM notes").fetchone()
        return count, [text for (text,) in transaction.execute("SELECT text FROM notes")]

    assert await noted.write(look) == (1, ["first"])
    assert await noted.write(lambda t: t.execute("DELETE FROM notes WHERE id = 99").rowcount) == 0


@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT",
        "ROLLBACK",
        "CREATE TABLE more (id INTEGER)",
        "CREATE TEMP TABLE more (id INTEGER)",
        "DROP TABLE notes",
        "ALTER TABLE notes ADD COLUMN more TEXT",
        "ATTACH ':memory:' AS other",
        "PRAGMA user_version = 7",
        "INSERT INTO facts VALUES (1, 1, 'a.b', 'c', x'7b7d', zeroblob(32))",
        "UPDATE facts SET body = x'7b7d'",
        "DELETE FROM facts",
        "UPDATE schema_version SET revision = '9999'",
    ],
)
async def test_a_transaction_may_only_read_and_change_rows(noted: Database, sql: str) -> None:
    await noted.write(record())
    outcomes = await asyncio.gather(
        noted.write(record("before")),
        noted.write(lambda transaction: transaction.execute(sql) and transaction.record(fact("wrong"))),
        noted.write(record("after")),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].code == "statement_not_allowed"
    assert subjects(noted) == ["run-1", "before", "after"]


@pytest.mark.parametrize(
    "sql", ["UPDATE facts SET at_ms = 1", "DELETE FROM facts", "INSERT OR REPLACE INTO facts SELECT * FROM facts"]
)
async def test_facts_are_append_only_for_other_programs_too(database: Database, path: Path, sql: str) -> None:
    await database.write(record())
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError, match="a fact"):
        connection.execute(sql)


async def test_a_transaction_sees_the_facts_that_it_records(database: Database) -> None:
    def twice(transaction: Transaction) -> list[int]:
        transaction.record(fact())
        seen = [stored.seq for stored in transaction.facts()]
        transaction.record(fact())
        return seen + [stored.seq for stored in transaction.facts()]

    assert await database.write(twice) == [1, 1, 2]


async def test_a_transaction_is_of_no_use_after_its_end(database: Database) -> None:
    kept: list[Transaction] = []
    await database.write(kept.append)
    with pytest.raises(Broken, match="after its end"):
        kept[0].record(fact())
    with pytest.raises(Broken, match="after its end"):
        kept[0].execute("SELECT 1")


async def test_a_transaction_cannot_wait_for_another_one(database: Database) -> None:
    with pytest.raises(Broken, match="wait for another"):
        await database.write(lambda _: database.write_sync(record()))
    with pytest.raises(Broken, match="wait for another"):
        database.write_sync(lambda _: database.write_sync(record()))


async def test_an_iterator_that_ends_too_early_is_told(database: Database) -> None:
    nothing: Iterator[int] = iter(())
    with pytest.raises(Broken, match="end of an iterator"):
        await database.write(lambda _: next(nothing))


@pytest.mark.parametrize(
    "wrong",
    [
        Fact(kind="", subject="s", at_ms=1, body={}),
        Fact(kind="k" * (KIND_CHARACTERS_MAX + 1), subject="s", at_ms=1, body={}),
        Fact(kind="k", subject="s" * (SUBJECT_CHARACTERS_MAX + 1), at_ms=1, body={}),
        Fact(kind="k", subject="\ud800", at_ms=1, body={}),
        Fact(kind="k", subject="s", at_ms=-1, body={}),
        Fact(kind="k", subject="s", at_ms=True, body={}),
        Fact(kind="k", subject="s", at_ms=1, body={"n": 2**53}),
        Fact(kind="k", subject="s", at_ms=1, body={"n": float("nan")}),
        Fact(kind="k", subject="s", at_ms=1, body={"t": "x" * BODY_BYTES_MAX}),
        Fact(kind="k", subject="s", at_ms=1, body=[]),  # type: ignore[arg-type]
    ],
    ids=range(10),
)
async def test_a_fact_that_has_no_canonical_form_or_passes_a_limit_is_refused(database: Database, wrong: Fact) -> None:
    with pytest.raises(Refused) as refused:
        await database.write(lambda transaction: transaction.record(wrong))
    assert refused.value.code == "fact_not_recordable"
    assert await database.write(record()) == 1


class Held:
    """A write in another thread that has begun and goes on only when told to."""

    def __init__(self, database: Database) -> None:
        self._begun, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=database.write_sync, args=(self._hold,))
        self._thread.start()
        assert self._begun.wait(10)

    def _hold(self, transaction: Transaction) -> None:
        transaction.record(fact("held"))
        self._begun.set()
        assert self._go.wait(10)

    def let_go(self) -> None:
        self._go.set()
        self._thread.join(10)


async def test_what_is_put_shares_a_commit_and_is_answered_in_its_own_future(database: Database) -> None:
    commits: list[str] = []
    writer_of(database).set_trace_callback(commits.append)
    loop = asyncio.get_running_loop()
    answers = [loop.create_future(), loop.create_future()]
    for answer in answers:
        database.put(record(), answer)
    assert await asyncio.gather(*answers) == [1, 2]
    assert commits.count("COMMIT") == 1
    database.close()
    late = loop.create_future()
    database.put(record(), late)
    with pytest.raises(Unavailable, match="closed"):
        await late


async def test_a_writer_cancelled_before_its_turn_has_written_nothing(database: Database) -> None:
    held = Held(database)
    waiting = [asyncio.create_task(database.write(record(name))) for name in ("cancelled", "patient")]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    held.let_go()
    assert await waiting[1] == 2
    assert waiting[0].cancelled()
    assert subjects(database) == ["held", "patient"]


async def test_a_full_queue_refuses(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "WRITES_WAITING_MAX", 2)
    held = Held(database)
    waiting = [asyncio.create_task(database.write(record())) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="too many writes") as unavailable:
        await database.write(record())
    assert unavailable.value.retry_after_ms == 1_000
    held.let_go()
    assert await asyncio.gather(*waiting) == [2, 3]


async def test_more_than_a_group_is_written_all_the_same(database: Database) -> None:
    count = GROUP_MAX + 10
    assert await asyncio.gather(*(database.write(record()) for _ in range(count))) == list(range(1, count + 1))


async def test_slow_commits_leave_the_event_loop(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = [await database.write(lambda _: threading.get_ident())]
    monkeypatch.setattr(writer_module, "COMMIT_HERE_NS_MAX", -1)
    threads.append(await database.write(lambda _: threading.get_ident()))
    assert threads[0] == threading.get_ident() != threads[1]


async def test_closing_writes_what_waits(path: Path, clock: VirtualClock) -> None:
    database = Database.open(path, clock)
    held = Held(database)
    waiting = [asyncio.create_task(database.write(record())) for _ in range(3)]
    await asyncio.sleep(0)
    closing_thread = threading.Thread(target=database.close)
    closing_thread.start()
    held.let_go()
    assert await asyncio.gather(*waiting) == [2, 3, 4]
    closing_thread.join(10)
    with pytest.raises(Unavailable, match="closed"):
        await database.write(record())
    with pytest.raises(Unavailable, match="closed"):
        database.read_sync(lambda reader: reader.execute("SELECT 1"))
    with pytest.raises(Unavailable, match="closed"):
        await database.read(lambda reader: reader.execute("SELECT 1"))
    database.close()


def test_several_threads_and_loops_write_at_the_same_time(database: Database) -> None:
    async def loop() -> None:
        for _ in range(50):
            await database.write(record())

    def thread() -> None:
        for _ in range(50):
            database.write_sync(record())

    threads = [threading.Thread(target=asyncio.run, args=(loop(),)) for _ in range(3)]
    threads += [threading.Thread(target=thread) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert database.read_sync(lambda reader: [stored.seq for stored in reader.facts()]) == list(range(1, 251))


async def test_another_program_in_the_file_makes_writing_unavailable_until_it_leaves(
    database: Database, path: Path
) -> None:
    writer_of(database).execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="another program"):
            await database.write(record())
    assert await database.write(record()) == 1


def _large(number: int) -> Callable[[Transaction], int]:
    body: JsonObject = {"text": f"{number}" * 20_000}
    large = Fact(kind="test.large", subject="s", at_ms=1, body=body)
    return lambda transaction: transaction.record(large)


async def test_a_full_disk_breaks_the_whole_group_and_leaves_nothing_half_written(noted: Database) -> None:
    await noted.write(record("before"))
    driver = writer_of(noted)
    (pages,) = driver.execute("PRAGMA page_count").fetchone()
    driver.execute(f"PRAGMA max_page_count = {pages + 4}")

    def row(transaction: Transaction) -> None:
        transaction.record(fact("row"))
        transaction.execute("INSERT INTO notes (text) VALUES ('half')")

    def own(_: Transaction) -> None:
        raise KeyError("mine")

    outcomes = await asyncio.gather(
        noted.write(row), noted.write(own), *(noted.write(_large(n)) for n in range(5)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [Broken, KeyError, *[Broken] * 5]
    assert "full" in str(outcomes[0])
    assert (subjects(noted), notes(noted), noted.last_seq) == (["before"], ["first"], 1)

    driver.execute("PRAGMA max_page_count = 1000000")
    assert await noted.write(_large(1)) == 2


async def test_a_full_disk_inside_a_part_breaks_the_group(noted: Database) -> None:
    driver = writer_of(noted)
    (pages,) = driver.execute("PRAGMA page_count").fetchone()
    driver.execute(f"PRAGMA max_page_count = {pages + 2}")

    def fill(transaction: Transaction) -> None:
        transaction.record(fact())
        transaction.execute("INSERT INTO notes (text) VALUES (?)", ("x" * 100_000,))

    outcomes = await asyncio.gather(
        noted.write(record("a")), noted.write(fill), noted.write(record("b")), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [Broken] * 3
    assert subjects(noted) == []
    assert await noted.write(record("again")) == 1


async def test_a_part_that_hides_a_full_disk_cannot_write_outside_the_transaction(noted: Database) -> None:
    driver = writer_of(noted)
    (pages,) = driver.execute("PRAGMA page_count").fetchone()
    driver.execute(f"PRAGMA max_page_count = {pages + 2}")

    def stubborn(transaction: Transaction) -> None:
        with contextlib.suppress(sqlite3.OperationalError):
            transaction.execute("INSERT INTO notes (text) VALUES (?)", ("x" * 100_000,))
        transaction.execute("INSERT INTO notes (text) VALUES ('outside')")

    with pytest.raises(Broken):
        await noted.write(stubborn)
    assert notes(noted) == ["first"]
