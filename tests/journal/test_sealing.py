"""Is everything sealed in time, once, and from where it stopped?"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Broken
from earnest.foundation.facts import Fact
from earnest.journal import service
from earnest.journal.heads import SEALED, Head, seal_in
from earnest.journal.service import LOOK_MS, SEAL_AFTER_FACTS, SEAL_AFTER_LOOKS, Sealer
from earnest.journal.verify import verify_journal

from .trees import tree_root


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.sqlite"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def database(path: Path, clock: VirtualClock) -> Iterator[Database]:
    with closing(Database.open(path, clock)) as opened:
        yield opened


def record(count: int = 1) -> Callable[[Transaction], None]:
    def write(transaction: Transaction) -> None:
        for number in range(count):
            transaction.record(Fact(kind="test.happened", subject="s", at_ms=number, body={"n": number}))

    return write


def heads(database: Database) -> list[Head]:
    return database.read_sync(lambda reader: [seal_in(fact.body).head for fact in reader.facts(kind=SEALED)])


async def test_a_head_has_the_root_of_all_facts_before_it(database: Database, clock: VirtualClock) -> None:
    sealer = Sealer(database, clock)
    for count in (3, 1, 7):
        await database.write(record(count))
        await sealer.seal()
    leaves = database.read_sync(lambda reader: list(reader.leaves()))
    assert heads(database) == [Head(size=size, root=tree_root(leaves[:size])) for size in (3, 5, 13)]


async def test_nothing_new_is_not_sealed_and_a_head_alone_is_nothing_new(
    database: Database, clock: VirtualClock
) -> None:
    sealer = Sealer(database, clock)
    assert await sealer.seal() is None
    await database.write(record())
    assert await sealer.seal() is not None
    assert await sealer.seal() is None
    assert await Sealer(database, clock).seal() is None
    assert database.last_seq == 2


async def test_facts_that_arrive_while_sealing_are_sealed_or_left_whole(
    database: Database, clock: VirtualClock
) -> None:
    sealer = Sealer(database, clock)
    for _ in range(5):
        await asyncio.gather(*(database.write(record()) for _ in range(10)), sealer.seal(), sealer.seal())
    await sealer.seal()
    report = database.read_sync(verify_journal)
    assert report.intact
    assert report.unsealed == 0


async def test_many_new_facts_are_sealed_at_the_next_look(database: Database, clock: VirtualClock) -> None:
    sealer = Sealer(database, clock)
    sealer.start()
    await database.write(record(SEAL_AFTER_FACTS))
    await until(clock, LOOK_MS, lambda: database.last_seq > SEAL_AFTER_FACTS)
    await sealer.close()
    assert [head.size for head in heads(database)] == [SEAL_AFTER_FACTS]


async def test_few_new_facts_are_sealed_after_some_looks(database: Database, clock: VirtualClock) -> None:
    sealer = Sealer(database, clock)
    sealer.start()
    await database.write(record())
    started_ms = clock.now_ms()
    await until(clock, LOOK_MS, lambda: database.last_seq == 2)
    assert clock.now_ms() - started_ms >= SEAL_AFTER_LOOKS * LOOK_MS
    await sealer.close()
    assert [head.size for head in heads(database)] == [1]


async def until(clock: VirtualClock, step_ms: int, reached: Callable[[], bool]) -> None:
    """Let time pass; reads of the sealer run in a thread, so one step may need several turns of the loop."""
    for _ in range(1_000):
        if reached():
            return
        await clock.advance_ms(step_ms)
        await asyncio.to_thread(lambda: None)
    pytest.fail("it never happened")


async def test_closing_seals_what_is_left_and_tells_of_it(database: Database, clock: VirtualClock) -> None:
    told: list[Head] = []
    sealer = Sealer(database, clock, told.append)
    sealer.start()
    await database.write(record(2))
    await sealer.close()
    assert told == heads(database)
    assert [head.size for head in told] == [2]


async def test_sealing_goes_on_after_a_crash_between_two_heads(path: Path, clock: VirtualClock) -> None:
    with closing(Database.open(path, clock)) as database:
        await database.write(record(6))
        await Sealer(database, clock).seal()
        await database.write(record(5))
    with closing(Database.open(path, clock)) as database:
        await Sealer(database, clock).seal()
        assert [head.size for head in heads(database)] == [6, 12]
        assert database.read_sync(verify_journal).intact


@pytest.mark.parametrize("body", [{}, {"size": 2, "root": "00" * 32, "subtrees": ["11" * 32]}, {"size": 1, "root": ""}])
async def test_a_last_head_that_contradicts_itself_stops_sealing(
    database: Database, clock: VirtualClock, body: dict[str, int | str]
) -> None:
    await database.write(lambda t: t.record(Fact(kind=SEALED, subject="journal", at_ms=1, body=body)))
    await database.write(record())
    sealer = Sealer(database, clock)
    with pytest.raises(Broken, match="fact 1"):
        await sealer.seal()


async def test_what_ended_the_background_task_is_raised_on_closing(database: Database, clock: VirtualClock) -> None:
    await database.write(lambda t: t.record(Fact(kind=SEALED, subject="journal", at_ms=1, body={})))
    sealer = Sealer(database, clock)
    sealer.start()
    await until(clock, LOOK_MS, lambda: sealer._task is not None and sealer._task.done())
    with pytest.raises(Broken, match="fact 1"):
        await sealer.close()


async def test_a_long_tail_is_sealed_in_parts_and_not_waited_for_on_closing(
    database: Database, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LEAVES_AT_ONCE", 10)
    monkeypatch.setattr(service, "CLOSING_LEAVES_MAX", 50)
    await database.write(record(95))
    cut_short = Sealer(database, clock)
    await cut_short.close()
    assert heads(database) == []
    patient = Sealer(database, clock)
    patient.start()
    await until(clock, LOOK_MS, lambda: bool(heads(database)))
    await patient.close()
    assert [head.size for head in heads(database)] == [95]
    assert database.read_sync(verify_journal).intact
