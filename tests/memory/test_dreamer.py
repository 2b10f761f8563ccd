"""Does memory forget by itself, at its time, in small steps, and say what?"""

import asyncio
from pathlib import Path

import pytest
from megrams import START_MS, TAG, megram

from earnest.effects.clock import VirtualClock
from earnest.foundation.errors import Unavailable
from earnest.foundation.instants import DAY_MS
from earnest.memory.dreamer import BATCH_MAX, PERIOD_MS, Dreamer
from earnest.memory.megram import Forgotten, Level, State
from earnest.memory.service import open_memory


async def test_a_pass_forgets_what_has_faded_and_says_what(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    clock = VirtualClock(START_MS)
    memory.write(megram("faint", State.REFINE))
    memory.write(megram("strong", State.ABANDON))
    await memory.flush()
    dreamer = Dreamer(memory, clock)
    assert await dreamer.forget() == ()
    clock.jump_ms(2 * DAY_MS)
    gone = Forgotten(id="faint", level=Level.M, space=TAG.space, entity=TAG.entity)
    assert await dreamer.forget() == (gone,)
    assert [one.id for one in memory.entries()] == ["strong"]
    await memory.close()


async def test_a_recall_puts_forgetting_off(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    clock = VirtualClock(START_MS)
    memory.write(megram("faint", State.REFINE))
    memory.recalled(["faint"], START_MS + DAY_MS)
    await memory.flush()
    dreamer = Dreamer(memory, clock)
    clock.jump_ms(2 * DAY_MS)
    assert await dreamer.forget() == ()
    clock.jump_ms(DAY_MS)
    assert [one.id for one in await dreamer.forget()] == ["faint"]
    await memory.close()


async def test_a_large_pass_goes_in_batches_and_lets_writes_through(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    clock = VirtualClock(START_MS)
    for number in range(3 * BATCH_MAX):
        memory.write(megram(f"m{number}", State.REFINE))
    await memory.flush()
    clock.jump_ms(2 * DAY_MS)
    dreaming = asyncio.ensure_future(Dreamer(memory, clock).forget())
    await asyncio.sleep(0)
    memory.write(megram("new", at_ms=clock.now_ms()))
    await memory.flush()
    assert len(await dreaming) == 3 * BATCH_MAX
    assert [one.id for one in memory.entries()] == ["new"]
    await memory.close()


class FadingMemory:
    """Forgets one Megram a pass, and has a bad day."""

    def __init__(self) -> None:
        self.passes: list[int] = []
        self.failing = False

    async def forget_expired(self, now_ms: int, limit: int) -> tuple[Forgotten, ...]:
        self.passes.append(now_ms)
        if self.failing:
            raise Unavailable("the disk is full")
        return (Forgotten(id=f"m{len(self.passes)}", level=Level.M, space=TAG.space, entity=TAG.entity),)


async def test_the_dreamer_wakes_every_five_minutes_and_survives_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    memory, clock = FadingMemory(), VirtualClock(START_MS)
    published: list[str] = []

    async def publish(forgotten: tuple[Forgotten, ...]) -> None:
        published.extend(one.id for one in forgotten)

    running = asyncio.ensure_future(Dreamer(memory, clock).run(publish))
    await asyncio.sleep(0)
    await clock.advance_ms(PERIOD_MS)
    memory.failing = True
    await clock.advance_ms(PERIOD_MS)
    memory.failing = False
    await clock.advance_ms(PERIOD_MS)
    running.cancel()
    assert memory.passes == [START_MS + number * PERIOD_MS for number in (1, 2, 3)]
    assert published == ["m1", "m3"]
    assert "the disk is full" in caplog.text
