"""Is memory the same wherever it lies, shared by processes where its store can be, and made anew from the facts?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.kv.place import KeyValuePlace, LevelDbFolder, ServerRows
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
from earnest.engine.facts import message_fact
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.lessons import Lesson
from earnest.engine.memory_messages import MegramEmitted, MemoryRecalled
from earnest.engine.messages import Role
from earnest.foundation.errors import Refused
from earnest.memory.megram import Tag
from earnest.memory.service import Memory, open_memory, open_memory_reader
from earnest.runtime.recall import MemoryRecall, catch_up, changes_in, memory_faults, rebuild_memory

TAG = Tag(space="tool:shell", entity="path:a")


@pytest.fixture(params=["lmdb", "leveldb", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> KeyValuePlace:
    if request.param == "lmdb":
        return tmp_path / "memory"
    if request.param == "leveldb":
        pytest.importorskip("plyvel")
        return LevelDbFolder(tmp_path / "memory")
    address = request.getfixturevalue("postgresql_address")
    Database.open(ServerBooks(address, tmp_path / "there"), VirtualClock()).close()
    return ServerRows(address)


@pytest.fixture
async def books(tmp_path: Path) -> AsyncIterator[Database]:
    with closing(Database.open(tmp_path / "books", VirtualClock())) as database:
        yield database


async def learnt(books: Database, count: int, memory: Memory | None = None) -> None:
    for number in range(count):
        lesson = Lesson(state=list(MacroState)[number % 4], tag=TAG, content=f"lesson {number}")
        payload: object = MegramEmitted(megram_id=f"m{number}", lesson=lesson)
        if number % 7 == 6:
            payload = MemoryRecalled(megram_ids=(f"m{number - 1}", f"m{number - 3}"))
        said = Envelope(
            id=f"run/{number}", run_id="run", sender=Role.R7, causation_id=None, at_ms=number, payload=payload
        )

        seq = await books.write(lambda transaction, said=said: transaction.record(message_fact(said)))  # type: ignore[misc]
        if memory:
            MemoryRecall(memory, VirtualClock()).project(seq, said)


async def test_memory_is_what_the_facts_say_and_is_made_anew(place: KeyValuePlace, books: Database) -> None:
    memory = open_memory(place, changes_in(books))
    await learnt(books, 60, memory)
    await memory.flush()
    before, potentials = memory.entries(limit=100), memory.query_mk(TAG.space, TAG.entity, 100)
    await memory.close()
    assert await memory_faults(place, books, 100) == ()
    assert await rebuild_memory(place, books) == len(before)
    with closing(open_memory_reader(place)) as reader:
        assert (reader.entries(limit=100), reader.query_mk(TAG.space, TAG.entity, 100)) == (before, potentials)
        assert reader.applied_seq() == 60


async def test_a_rebuild_that_is_cut_short_leaves_what_was_there(
    place: KeyValuePlace, books: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(place, changes_in(books))
    await learnt(books, 5, memory)
    await memory.close()

    async def full(_: Memory) -> int:
        raise Refused("memory_format", "cut short")

    with monkeypatch.context() as cut:
        cut.setattr("earnest.runtime.recall.catch_up", full)
        with pytest.raises(Refused, match="cut short"):
            await rebuild_memory(place, books)
    assert await memory_faults(place, books, 100) == ()


async def test_memory_that_another_store_kept_is_caught_up_from_the_facts(tmp_path: Path, books: Database) -> None:
    pytest.importorskip("plyvel")
    await learnt(books, 9)
    for at in (tmp_path / "memory", LevelDbFolder(tmp_path / "memory"), tmp_path / "memory"):
        memory = open_memory(at, changes_in(books))
        await catch_up(memory)
        assert sum(memory.counts().values()) == 8
        await memory.close()


@pytest.mark.slow
async def test_writers_on_one_server_share_one_memory(postgresql_address: str, tmp_path: Path) -> None:
    both = [Database.open(ServerBooks(postgresql_address, tmp_path / name), VirtualClock()) for name in "ab"]
    memories = [open_memory(ServerRows(postgresql_address), changes_in(books)) for books in both]
    for number in range(30):
        lesson = Lesson(state=MacroState.ACCEPT, tag=TAG, content=f"lesson {number}")
        said = Envelope(
            id=f"run/{number}",
            run_id=f"run{number}",
            sender=Role.R7,
            causation_id=None,
            at_ms=number,
            payload=MegramEmitted(megram_id=f"m{number}", lesson=lesson),
        )
        seq = await both[number % 2].write(
            lambda transaction, said=said: transaction.record(message_fact(said))  # type: ignore[misc]
        )
        MemoryRecall(memories[number % 2], VirtualClock()).project(seq, said)
    await asyncio.gather(*(memory.flush() for memory in memories))
    seen = [(memory.counts(), memory.applied_seq()) for memory in memories]
    assert seen[0] == seen[1]
    assert (sum(seen[0][0].values()), seen[0][1]) == (30, 30)
    assert await memory_faults(ServerRows(postgresql_address), both[0], 100) == ()
    for memory in memories:
        await memory.close()
    for books in both:
        books.close()
