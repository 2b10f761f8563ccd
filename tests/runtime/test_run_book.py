"""Does a run's book keep every message in order, whatever becomes of the disk and of those who wait for it?"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.engine.facts import OUTCOME
from earnest.engine.messages import Role, RunResumed
from earnest.foundation.errors import Broken, Refused
from earnest.runtime.run_book import BATCH_MS, RunBook, RunRemains, read_kept

T = TypeVar("T")


class Disk:
    """A database that waits while `held` is clear, and fails with what `failures` holds, one a write."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.held = asyncio.Event()
        self.held.set()
        self.asked = asyncio.Event()
        self.failures: list[Exception | None] = []
        self.writes = 0

    def put(self, fn: Callable[[Transaction], T], answer: asyncio.Future[T]) -> None:
        self.asked.set()
        self._writing = asyncio.create_task(self._put(fn, answer))

    async def _put(self, fn: Callable[[Transaction], T], answer: asyncio.Future[T]) -> None:
        await self.held.wait()
        self.writes += 1
        if self.failures and (failure := self.failures.pop(0)):
            answer.set_exception(failure)
        else:
            self._database.put(fn, answer)


class Bench:
    """A book over a disk that can be troubled."""

    def __init__(self, database: Database) -> None:
        self.clock = VirtualClock()
        self.database = database
        self.disk = Disk(database)
        self.recorded: list[str] = []
        self.failed: list[str] = []
        self.book = RunBook(
            run_id="run",
            database=self.disk,  # type: ignore[arg-type]
            clock=self.clock,
            kept=RunRemains(),
            recorded=lambda _, envelope: self.recorded.append(envelope.id),
            failed=self.failed.append,
        )

    def say(self, message_id: str) -> None:
        payload = RunResumed(downtime_ms=0)
        self.book.see(
            Envelope(id=message_id, run_id="run", sender=Role.RUNTIME, causation_id=None, at_ms=1, payload=payload)
        )

    async def kept(self) -> RunRemains:
        return await self.database.read(lambda reader: read_kept(reader, "run"))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    database = Database.open(tmp_path / "books.sqlite3", VirtualClock())
    yield Bench(database)
    database.close()


async def test_messages_are_kept_in_order_in_small_batches(bench: Bench) -> None:
    for name in "abc":
        bench.say(name)
    await bench.book.intend("key", {})
    assert list((await bench.kept()).messages) == ["a", "b", "c"]
    assert bench.recorded == ["a", "b", "c"]


async def test_a_message_that_comes_while_others_are_written_is_written_soon_as_well(bench: Bench) -> None:
    bench.disk.held.clear()
    bench.say("a")
    await bench.clock.advance_ms(0)
    await bench.clock.advance_ms(BATCH_MS)
    await bench.disk.asked.wait()
    bench.say("b")
    bench.disk.held.set()
    async with asyncio.timeout(5):
        while bench.recorded != ["a", "b"]:
            await bench.clock.advance_ms(BATCH_MS)
    assert list((await bench.kept()).messages) == ["a", "b"]


async def test_those_who_wait_for_the_disk_share_the_next_write(bench: Bench) -> None:
    bench.disk.held.clear()
    first = asyncio.create_task(bench.book.intend("1", {}))
    await bench.disk.asked.wait()
    rest = [asyncio.create_task(bench.book.intend(key, {})) for key in "23456789"]
    await asyncio.sleep(0)
    bench.say("a")
    bench.disk.held.set()
    await asyncio.gather(first, *rest)
    assert list((await bench.kept()).intents) == list("123456789")
    assert bench.disk.writes == 2


async def test_all_who_shared_a_write_that_failed_are_told(bench: Bench) -> None:
    bench.disk.held.clear()
    first = asyncio.create_task(bench.book.intend("1", {}))
    await bench.disk.asked.wait()
    bench.say("a")
    rest = [asyncio.create_task(bench.book.intend(key, {})) for key in "23"]
    await asyncio.sleep(0)
    bench.disk.failures = [None, Broken("the disk is full")]
    bench.disk.held.set()
    await first
    for task in rest:
        with pytest.raises(Broken):
            await task
    await bench.book.close()
    kept = await bench.kept()
    assert (list(kept.messages), list(kept.intents)) == (["a"], ["1"])


async def test_after_a_failed_write_no_later_message_is_kept_without_the_earlier_ones(bench: Bench) -> None:
    bench.disk.failures.append(Broken("the disk is full"))
    bench.say("a")
    with pytest.raises(Broken):
        await bench.book.intend("key", {})
    bench.say("b")
    await bench.book.close()
    assert list((await bench.kept()).messages) == ["a", "b"]
    assert not (await bench.kept()).intents


async def test_a_noted_outcome_is_kept_before_what_follows_from_it_even_after_a_failed_write(bench: Bench) -> None:
    bench.disk.failures.append(Broken("the disk is full"))
    bench.book.note("verdict", {"answer": "verified"})
    with pytest.raises(Broken):
        await bench.book.intend("key", {})
    bench.say("a")
    await bench.book.flush()
    facts = await bench.database.read(lambda reader: list(reader.facts(subject="run")))
    assert [fact.kind for fact in facts] == [OUTCOME, "run.message"]
    assert (await bench.kept()).outcomes["verdict"]["answer"] == "verified"


async def test_a_disk_that_fails_in_the_background_is_reported(bench: Bench) -> None:
    bench.disk.failures.append(Broken("the disk is full"))
    bench.say("a")
    await bench.clock.advance_ms(0)
    await bench.clock.advance_ms(BATCH_MS)
    assert bench.failed == ["the run's messages could not be kept: the disk is full"]


async def test_a_message_that_can_never_be_written_does_not_keep_the_run_from_its_end(bench: Bench) -> None:
    bench.disk.failures.append(Refused("fact_not_recordable", "too large"))
    bench.say("a")
    with pytest.raises(Refused):
        await bench.book.conclude("key", {})
    bench.say("b")
    await bench.book.close()
    assert list((await bench.kept()).messages) == ["b"]


@pytest.mark.parametrize("times", [1, 2])
async def test_an_outcome_is_written_even_if_whoever_waits_for_it_is_cancelled(bench: Bench, times: int) -> None:
    bench.disk.held.clear()
    concluding = asyncio.create_task(bench.book.conclude("key", {"record": {}}))
    await bench.disk.asked.wait()
    for _ in range(times):
        concluding.cancel()
        await asyncio.sleep(0)
    assert not concluding.done(), "the caller does not go on before the book is written"
    bench.disk.held.set()
    with pytest.raises(asyncio.CancelledError):
        await concluding
    assert list((await bench.kept()).outcomes) == ["key"]
    facts = await bench.database.read(lambda reader: [fact.kind for fact in reader.facts()])
    assert facts == [OUTCOME]


async def test_whoever_is_cancelled_while_others_are_written_is_written_next(bench: Bench) -> None:
    bench.disk.held.clear()
    first, second, third = (asyncio.create_task(bench.book.intend(key, {})) for key in "123")
    await bench.disk.asked.wait()
    await asyncio.sleep(0)
    second.cancel()
    bench.disk.held.set()
    await asyncio.gather(first, third)
    with pytest.raises(asyncio.CancelledError):
        await second
    assert list((await bench.kept()).intents) == list("123")


async def test_a_cancelled_caller_hears_of_that_even_if_the_disk_failed(bench: Bench) -> None:
    bench.disk.held.clear()
    bench.disk.failures.append(Broken("the disk is full"))
    bench.say("a")
    concluding = asyncio.create_task(bench.book.conclude("key", {}))
    await bench.disk.asked.wait()
    concluding.cancel()
    bench.disk.held.set()
    with pytest.raises(asyncio.CancelledError):
        await concluding
    await bench.book.close()
    assert list((await bench.kept()).messages) == ["a"]


async def test_whoever_follows_the_messages_and_fails_stops_the_run_and_holds_nobody_up(bench: Bench) -> None:
    def fail(_: int, envelope: Envelope) -> None:
        raise Broken(f"{envelope.id} is too much")

    bench.book._recorded = fail
    bench.say("a")
    await bench.book.intend("1", {})
    await bench.book.intend("2", {})
    assert bench.failed == ["what follows a kept message failed: a is too much"]
    assert list((await bench.kept()).intents) == ["1", "2"]


async def test_a_message_that_an_effect_takes_along_is_not_waited_for_again(bench: Bench) -> None:
    bench.say("a")
    await bench.book.intend("key", {})
    await bench.clock.advance_ms(BATCH_MS)
    assert bench.disk.writes == 1
