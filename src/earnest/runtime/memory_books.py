"""Memory held against the facts that it is made of, and made anew from them."""

from pathlib import Path
from typing import Final

from earnest.effects.ground.kv.place import KeyValuePlace, beside, exchange, remove
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.hands.scratch import scratch
from earnest.memory.comparing import compared, copy_of
from earnest.memory.service import open_memory
from earnest.runtime.recall import catch_up, changes_in

AT_ONCE: Final = 256


async def memory_faults(place: KeyValuePlace, books: ReadPool, now_ms: int) -> tuple[str, ...]:
    """Rows of memory that the facts do not say, in words; at most 100. It works on copies.

    What has faded is left out on both sides: how much of it the dreamer has deleted is in no fact. Raises `Broken` if
    the store cannot be read, `Refused("memory_missing")`.
    """
    with scratch("memory") as folder:
        copied, anew = folder / "copied", folder / "anew"
        applied_seq = copy_of(place, copied)
        last_seq = books.read_sync(
            lambda reader: next((one.seq for one in reader.facts(newest_first=True, limit=1)), 0)
        )
        if applied_seq > last_seq:
            return (f"memory claims to hold fact {applied_seq}, the last one is {last_seq}",)
        for each in (copied, anew):
            await _caught_up(each, books, now_ms)
        return compared(copied, anew, now_ms)


async def rebuild_memory(place: KeyValuePlace, books: ReadPool) -> int:
    """Make memory anew from the facts, and put it in the place of what is there; the number of its entries.

    The caller holds the data directory. Raises `Unavailable` where the disk takes no more; then all is as it was.
    """
    anew = beside(place)
    try:
        memory = open_memory(anew, changes_in(books))
        try:
            await catch_up(memory)
            count = sum(memory.counts().values())
        finally:
            await memory.close()
        exchange(place, anew)
    except BaseException:
        remove(anew)
        raise
    return count


async def _caught_up(path: Path, books: ReadPool, now_ms: int) -> None:
    memory = open_memory(path, changes_in(books))
    try:
        await catch_up(memory)
        while len(await memory.forget_expired(now_ms, AT_ONCE)) == AT_ONCE:
            pass
    finally:
        await memory.close()
