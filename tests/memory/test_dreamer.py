"""Does memory forget by itself, at its time, in small steps, and say what?"""

import asyncio
from pathlib import Path

from megrams import START_MS, TAG, megram

from earnest.effects.ground.clock import VirtualClock
from earnest.foundation.instants import DAY_MS
from earnest.memory.dreamer import BATCH_MAX, Dreamer
from earnest.memory.megram import Forgotten, Level, MegramState
from earnest.memory.service import open_memory


async def test_a_pass_forgets_what_has_faded_and_says_what(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    clock = VirtualClock(START_MS)
    memory.write(megram("faint", MegramState.REFINE))
    memory.write(megram("strong", MegramState.ABANDON))
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
    memory.write(megram("faint", MegramState.REFINE))
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
        memory.write(megram(f"m{number}", MegramState.REFINE))
    await memory.flush()
    clock.jump_ms(2 * DAY_MS)
    dreaming = asyncio.ensure_future(Dreamer(memory, clock).forget())
    await asyncio.sleep(0)
    memory.write(megram("new", at_ms=clock.now_ms()))
    await memory.flush()
    assert len(await dreaming) == 3 * BATCH_MAX
    assert [one.id for one in memory.entries()] == ["new"]
    await memory.close()
