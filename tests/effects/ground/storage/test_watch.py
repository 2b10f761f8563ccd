"""What processes hear of each other, and which of them does what one does for all: asked of both engines."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

import postgresql
from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.news import News, within
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.postgresql_session import CHANNEL
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.sqlite import LOOKED_AT_MAX
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Unavailable
from earnest.foundation.facts import Fact

WAIT_S = 30.0
HOLDER = """
import pathlib, sys, time
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
database = Database.open(ServerBooks(sys.argv[1], pathlib.Path(sys.argv[2])), SystemClock())
while True:
    print(int(database.leads("sealer")), flush=True)
    time.sleep(0.05)
"""


@pytest.fixture
def two(books: Books) -> Iterator[tuple[Database, Database]]:
    """The same books, as two processes have them."""
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(Database.open(books, SystemClock()))) for _ in range(2)]
        yield opened[0], opened[1]


def record(kind: str) -> Callable[[Transaction], int]:
    return lambda transaction: transaction.record(Fact(kind=kind, subject="s", at_ms=1, body={}))


def eventually(holds: Callable[[], bool]) -> float:
    """Seconds until it held."""
    start_s, pause = time.monotonic(), threading.Event()
    while not holds():
        assert time.monotonic() - start_s < WAIT_S
        pause.wait(0.01)
    return time.monotonic() - start_s


@pytest.mark.slow
def test_one_of_two_holds_an_office_until_it_ends_and_then_the_other_does(two: tuple[Database, Database]) -> None:
    first, second = two
    eventually(lambda: first.leads("sealer"))
    assert not any(second.leads("sealer") for _ in range(20))
    eventually(lambda: second.leads("timers"))
    assert not first.leads("timers"), "offices are held one by one"
    first.close()
    eventually(lambda: second.leads("sealer"))
    assert not first.leads("sealer")


async def test_who_waits_is_woken_by_a_commit_of_the_kinds_that_it_waits_for(two: tuple[Database, Database]) -> None:
    first, _ = two
    with first.news.heard("test.wanted") as wanted, first.news.heard() as any_kind:
        for event in (wanted, any_kind):
            event.clear()
        await first.write(record("test.other"))
        await asyncio.wait_for(any_kind.wait(), WAIT_S)
        assert not wanted.is_set()
        await first.write(record("test.wanted"))
        await asyncio.wait_for(wanted.wait(), WAIT_S)


@pytest.mark.slow
async def test_a_commit_of_another_process_shows(two: tuple[Database, Database]) -> None:
    first, second = two
    await second.write(record("test.one"))
    await asyncio.to_thread(eventually, lambda: first.last_seq == 1)


@pytest.mark.parametrize("count", [1, LOOKED_AT_MAX + 1])
def test_of_a_file_no_kind_that_another_process_may_have_recorded_is_passed_over(tmp_path: Path, count: int) -> None:
    clock = VirtualClock(0)
    with closing(Database.open(tmp_path / "b", clock)) as first, closing(Database.open(tmp_path / "b", clock)) as other:
        assert not first.last_seq
        other.write_sync(record("test.theirs"))
        for _ in range(count):
            first.write_sync(record("test.ours"))
        clock.jump_ms(10)
        assert first.may_hold(["test.theirs"], 0)
        assert first.may_hold(["test.ours"], count)
        newest = first.last_seq
        first.write_sync(record("test.ours"))
        clock.jump_ms(10)
        assert not first.may_hold(["test.theirs"], newest), "since then nobody else has recorded anything"
        assert first.may_hold(["test.ours"], newest)


@pytest.mark.slow
def test_a_strangers_notice_ends_nobodys_hearing(postgresql_server: str, tmp_path: Path) -> None:
    with postgresql.database(postgresql_server) as address:
        books = ServerBooks(address, tmp_path)
        with (
            closing(Database.open(books, SystemClock())) as first,
            closing(Database.open(books, SystemClock())) as other,
        ):
            with psycopg.connect(address, autocommit=True) as stranger:
                stranger.execute(f"NOTIFY {CHANNEL}, '{'9' * 5_000}'".encode())
            other.write_sync(record("test.one"))
            eventually(lambda: first.last_seq == 1)
            other.write_sync(record("test.two"))
            eventually(lambda: first.last_seq == 2)


async def test_within_ends_with_the_event_or_the_time() -> None:
    clock, event = SystemClock(), asyncio.Event()
    await within(event, clock, 10)
    assert not event.is_set()
    waiting = asyncio.create_task(within(event, clock, 3_600_000))
    event.set()
    await asyncio.wait_for(waiting, WAIT_S)


async def test_who_has_stopped_listening_is_told_nothing_and_a_closed_loop_hinders_nobody() -> None:
    news = News()

    async def listen() -> None:
        with news.heard("a") as event:
            news.tell({"b"}, 1)
            await asyncio.sleep(0)
            assert not event.is_set()
            left.append(event)

    left: list[asyncio.Event] = []
    await listen()
    news.tell({"a"}, 2)
    await asyncio.sleep(0)
    assert not left[0].is_set()


@pytest.mark.slow
async def test_a_commit_elsewhere_wakes_by_its_kind_over_postgresql(postgresql_address: str, tmp_path: Path) -> None:
    books = ServerBooks(postgresql_address, tmp_path)
    with (
        closing(Database.open(books, SystemClock())) as one,
        closing(Database.open(books, SystemClock())) as other,
        one.news.heard("submission.opened") as event,
    ):
        await other.write(record("submission.opened"))
        await asyncio.wait_for(event.wait(), WAIT_S)
        assert one.last_seq == 1, "who is told of a fact finds it"


@pytest.mark.slow
async def test_what_nobody_told_is_found_by_its_kind_and_wakes_nobody_else(
    postgresql_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("earnest.effects.ground.storage.postgresql.CHANNEL", "elsewhere")
    books = ServerBooks(postgresql_address, tmp_path)
    with (
        closing(Database.open(books, SystemClock())) as one,
        closing(Database.open(books, SystemClock())) as other,
        one.news.heard("test.one") as event,
        one.news.heard("test.other") as another,
    ):
        await other.write(record("test.one"))
        await asyncio.wait_for(event.wait(), WAIT_S)
        assert not another.is_set()
        assert one.may_hold(["test.one"], 0)
        assert not one.may_hold(["test.other"], 0)


@pytest.mark.slow
async def test_a_session_that_breaks_is_made_anew_its_offices_are_free_and_what_was_missed_is_heard(
    postgresql_address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    books = ServerBooks(postgresql_address, tmp_path)
    with closing(Database.open(books, SystemClock())) as one, closing(Database.open(books, SystemClock())) as other:
        await asyncio.to_thread(eventually, lambda: one.leads("sealer"))
        with one.news.heard("test.missed") as event:
            event.clear()
            end_listeners(postgresql_address)
            await other.write(record("test.missed"))
            await asyncio.wait_for(event.wait(), WAIT_S)
            await asyncio.to_thread(eventually, lambda: one.last_seq == 1)
        assert any("session with the database has ended" in told and "sealer" in told for told in caplog.messages), (
            "the reason is told"
        )
        await asyncio.to_thread(eventually, lambda: one.leads("sealer") or other.leads("sealer"))
        assert not (one.leads("sealer") and other.leads("sealer"))


def end_listeners(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid IN "
            "(SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)"
        )


@pytest.mark.slow  # it waits until the server gives somebody up
def test_a_holder_that_is_stopped_loses_its_office_within_5_s_and_knows_it_when_it_wakes(
    postgresql_address: str, tmp_path: Path
) -> None:
    books = ServerBooks(postgresql_address, tmp_path)
    with closing(Database.open(books, SystemClock())) as waiting:
        command = [sys.executable, "-c", HOLDER, postgresql_address, str(tmp_path / "holder")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            try:
                while holder.stdout.readline() != "1\n":
                    continue
                assert not waiting.leads("sealer")
                os.kill(holder.pid, signal.SIGSTOP)
                assert eventually(lambda: waiting.leads("sealer")) < 5
                os.kill(holder.pid, signal.SIGCONT)
                said = [holder.stdout.readline() for _ in range(40)]
                assert "1\n" not in said[2:], "what it said before it was stopped may still lie in the pipe"
                assert waiting.leads("sealer")
            finally:
                holder.kill()


@pytest.mark.slow  # it waits until a connection is made anew
def test_a_server_that_does_not_answer_is_unavailable_and_found_again(
    postgresql_server: str, postgresql_address: str, tmp_path: Path
) -> None:
    """Who goes by what it knows must not do so for long: a key may have been revoked meanwhile."""
    name = urlsplit(postgresql_address).path[1:]
    with closing(Database.open(ServerBooks(postgresql_address, tmp_path), SystemClock())) as database:
        assert database.last_seq == 0
        let_in(postgresql_server, name, "false")
        try:
            eventually(lambda: is_unavailable(database))
            with pytest.raises(Unavailable):
                database.read_sync(lambda reader: reader.execute("SELECT 1"))
            with pytest.raises(Unavailable):
                ReadPool.open_reader(ServerBooks(postgresql_address, tmp_path))
        finally:
            let_in(postgresql_server, name, "true")
        eventually(lambda: not is_unavailable(database))


def let_in(server_address: str, name: str, allowed: str) -> None:
    """Let nobody connect to a database, and end who is there; or let them again."""
    with psycopg.connect(server_address, autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}".encode())
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def is_unavailable(database: Database) -> bool:
    try:
        _ = database.last_seq
    except Unavailable:
        return True
    return False


def test_the_newest_fact_of_some_kinds_is_known_in_whatever_order_it_is_told() -> None:
    news = News()
    news.tell({"a", "b"}, 5)
    news.tell({"a"}, 3)
    news.tell({"c"}, 9)
    assert news.newest_of({"a", "other"}) == 5
    news.tell(None, 7)
    assert news.newest_of({"a", "other"}) == 7
    assert news.newest_of({"c"}) == 9
