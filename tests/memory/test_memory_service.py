"""Is nothing lost silently between handing a Megram in and finding it again?"""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from megrams import START_MS, TAG, megram

from earnest.effects.ground.kv.api import StoreChange, StoreView
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.instants import DAY_MS
from earnest.memory import service, store
from earnest.memory.megram import Level, MegramState
from earnest.memory.potential import Advice
from earnest.memory.service import Apply, Memory, open_memory, open_memory_reader

_Result = TypeVar("_Result")


class SlowDisk:
    """A store whose writes wait for `released`, and fail while `failing`."""

    def __init__(self, path: Path) -> None:
        self._kv = LmdbKeyValue(path)
        self.released = threading.Event()
        self.released.set()
        self.failing = False
        self.closed = False

    def read(self, look: Callable[[StoreView], _Result]) -> _Result:
        return self._kv.read(look)

    def write(self, change: Callable[[StoreChange], _Result]) -> _Result:
        assert self.released.wait(30)
        if self.failing:
            raise Unavailable("the disk is full")
        return self._kv.write(change)

    def close(self) -> None:
        self.closed = True
        self._kv.close()


async def test_what_is_written_counts_and_is_found(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    memory.write(megram("a"))
    memory.write(megram("b", MegramState.ACCEPT, level=Level.K, at_ms=START_MS + 1))
    await memory.flush()
    assert memory.query_mk(TAG.space, TAG.entity, START_MS + 1).action is Advice.CAUTION
    assert [one.id for one in memory.recent(TAG.space, TAG.entity)] == ["b", "a"]
    assert memory.entries(level=Level.K) == (memory.get("b"),)
    assert memory.counts() == {Level.M: 1, Level.K: 1, Level.C: 0, Level.T: 0}
    await memory.close()


async def test_writing_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    memory = Memory(disk)
    disk.released.clear()
    memory.write(megram())
    await asyncio.sleep(0)
    assert memory.get("run/1") is None
    disk.released.set()
    await memory.flush()
    assert memory.get("run/1") == megram()
    await memory.close()


async def test_a_query_renews_nothing_and_a_recall_does(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    memory.write(megram())
    await memory.flush()
    later_ms = START_MS + 20 * DAY_MS
    for _ in range(2):
        assert memory.query_mk(TAG.space, TAG.entity, later_ms).attention == pytest.approx(0.95 / 2.718281828)
        memory.recent(TAG.space, TAG.entity)
    memory.recalled(["run/1", "unknown"], later_ms)
    await memory.flush()
    assert memory.query_mk(TAG.space, TAG.entity, later_ms).attention == pytest.approx(0.95)
    await memory.close()


async def test_more_than_ten_memories_are_never_given_nor_recalled(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    for number in range(12):
        memory.write(megram(f"m{number}"))
    await memory.flush()
    assert len(memory.recent(TAG.space, TAG.entity, 100)) == 10
    with pytest.raises(Refused) as refusal:
        memory.recalled([f"m{number}" for number in range(11)], START_MS)
    assert refusal.value.code == "recall_limit"
    await memory.close()


async def test_forgetting_on_request_comes_after_what_was_handed_in_before(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    memory.write(megram())
    assert await memory.forget("run/1")
    assert not await memory.forget("run/1")
    assert memory.query_mk(TAG.space, TAG.entity, START_MS).attention == 0
    await memory.close()


async def test_a_full_queue_drops_counts_and_holds_the_mark(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    memory = Memory(disk, queue_max=2)
    disk.released.clear()
    for fact_seq in range(1, 6):
        memory.write(megram(f"m{fact_seq}"), fact_seq=fact_seq)
    assert (memory.dropped, memory.room) == (3, 0)
    disk.released.set()
    await memory.flush()
    memory.write(megram("m6"), fact_seq=6)
    await memory.flush()
    assert memory.applied_seq() == 2
    assert [one.id for one in memory.entries()] == ["m1", "m2", "m6"]
    await memory.close()

    healed = open_memory(tmp_path)
    for fact_seq in range(healed.applied_seq() + 1, 7):
        healed.write(megram(f"m{fact_seq}"), fact_seq=fact_seq)
    await healed.flush()
    assert (healed.applied_seq(), len(healed.entries()), healed.dropped) == (6, 6, 0)
    await healed.close()


async def test_a_failing_disk_loses_a_batch_audibly_and_the_next_start_heals_it(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    memory = Memory(disk)
    disk.failing = True
    memory.write(megram("a"), fact_seq=1)
    with pytest.raises(Unavailable):
        await memory.forget("a", fact_seq=2)
    disk.failing = False
    memory.write(megram("b"), fact_seq=3)
    await memory.close()
    assert memory.dropped == 1
    again = open_memory(tmp_path)
    assert (again.applied_seq(), again.get("a")) == (0, None)
    await again.close()


async def test_replaying_everything_in_order_brings_nothing_forgotten_back(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)

    async def replay() -> None:
        memory.write(megram("a"), fact_seq=1)
        memory.write(megram("b"), fact_seq=2)
        memory.recalled(["b"], START_MS + DAY_MS, fact_seq=3)
        await memory.forget("a", fact_seq=4)
        await memory.flush()

    await replay()
    remembered = memory.entries()
    await replay()
    assert [one.id for one in remembered] == ["b"]
    assert (memory.entries(), memory.applied_seq()) == (remembered, 4)
    await memory.close()


async def test_closing_keeps_what_was_handed_in(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    for number in range(1_000):
        memory.write(megram(f"m{number}"))
    await memory.close()
    again = open_memory(tmp_path)
    assert again.counts()[Level.M] == 1_000
    await again.close()


async def test_closing_does_not_wait_for_ever(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    memory = Memory(disk, drain_ms=1)
    disk.released.clear()
    memory.write(megram("a"), fact_seq=1)
    await asyncio.sleep(0)
    memory.write(megram("b"), fact_seq=2)
    asked = asyncio.ensure_future(memory.forget("a"))
    await asyncio.sleep(0)
    await memory.close()
    assert memory.dropped == 1
    assert not disk.closed, "a transaction still runs"
    with pytest.raises(Unavailable):
        await asked
    disk.released.set()
    await memory.flush()
    await asyncio.sleep(0)
    assert disk.closed


async def test_after_closing_nothing_is_taken_in(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    await memory.close()
    memory.write(megram())
    assert memory.dropped == 1
    with pytest.raises(Unavailable):
        await memory.forget("run/1")
    with pytest.raises(Unavailable):
        memory.query_mk(TAG.space, TAG.entity, START_MS)


async def test_an_entity_is_looked_for_within_a_space(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    with pytest.raises(Refused) as refusal:
        memory.entries(entity=TAG.entity)
    assert refusal.value.code == "entries_filter"
    await memory.close()


async def test_another_process_reads_beside_the_writer(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    memory.write(megram())
    await memory.flush()
    script = f"""
from pathlib import Path
from earnest.memory.service import open_memory, open_memory_reader
reader = open_memory_reader(Path({str(tmp_path)!r}))
print(reader.query_mk({TAG.space!r}, {TAG.entity!r}, {START_MS}).action, [one.id for one in reader.entries()])
reader.close()
"""
    answer = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines() == ["avoid ['run/1']"]
    await memory.close()


async def test_the_mark_moves_past_facts_of_another_process_only_with_what_they_change(tmp_path: Path) -> None:
    kv = LmdbKeyValue(tmp_path)
    log = [(seq, partial(store.put, megram=megram(name))) for seq, name in ((1, "theirs"), (2, "ours"), (3, "later"))]
    ours = Memory(kv, lambda after, up_to, limit: [one for one in log if after < one[0] <= up_to][:limit])
    ours.write(megram("ours"), fact_seq=2)
    await ours.flush()
    assert (ours.applied_seq(), {one.id for one in ours.entries()}) == (2, {"theirs", "ours"})
    await ours.close()


async def test_what_another_process_has_forgotten_is_not_remembered_again_by_who_comes_late(tmp_path: Path) -> None:
    kv = LmdbKeyValue(tmp_path)
    log: list[tuple[int, Apply]] = [
        (1, partial(store.put, megram=megram("a"))),
        (2, partial(store.delete, megram_id="a")),
    ]
    late, early = (
        Memory(kv, lambda after, up_to, limit: [one for one in log if after < one[0] <= up_to]) for _ in "12"
    )
    assert await early.forget("a", fact_seq=2)
    await early.flush()
    late.write(megram("a"), fact_seq=1)
    await late.flush()
    assert (late.applied_seq(), late.entries()) == (2, ())
    assert await late.forget("a", fact_seq=2)
    await late.close()


async def test_facts_of_others_are_applied_in_bounded_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FACTS_MAX", 2)
    log = [(seq, partial(store.put, megram=megram(f"m{seq}"))) for seq in range(1, 6)]
    memory = Memory(
        LmdbKeyValue(tmp_path), lambda after, up_to, limit: [one for one in log if after < one[0] <= up_to][:limit]
    )
    memory.write(megram("m5"), fact_seq=5)
    await memory.flush()
    marks = [(memory.applied_seq(), len(memory.entries()))]
    while await memory.follow(2):
        marks.append((memory.applied_seq(), len(memory.entries())))
    assert marks == [(2, 3), (4, 5), (5, 5)]
    await memory.close()


def test_a_reader_of_no_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        open_memory_reader(tmp_path / "nothing")
    assert refusal.value.code == "memory_missing"
