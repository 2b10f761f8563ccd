"""Memory held against the facts that it is made of, and made anew from them."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from earnest.effects.kv.api import Reading, Writing
from earnest.effects.kv.lmdb import LmdbKeyValue
from earnest.effects.storage.reader import ReadPool
from earnest.foundation.errors import Refused, Unavailable
from earnest.memory import keys, store
from earnest.memory.megram import Megram
from earnest.memory.potential import expires_at_ms
from earnest.memory.service import Memory, open_memory
from earnest.runtime.recall import catch_up

DIFFERENCES_MAX: Final = 100
AT_ONCE: Final = 256
_OF_THE_WRITER: Final = (keys.FORMAT, keys.APPLIED_SEQ)


async def memory_faults(path: Path, books: ReadPool, now_ms: int) -> tuple[str, ...]:
    """Rows of memory that the facts do not say, in words; at most `DIFFERENCES_MAX`. It works on copies.

    What has faded is left out on both sides: how much of it the dreamer has deleted is in no fact. Raises `Broken` if
    the store cannot be read, `Refused("memory_missing")`.
    """
    with tempfile.TemporaryDirectory(prefix="earnest-memory-") as folder:
        copied, anew = Path(folder) / "copied", Path(folder) / "anew"
        applied_seq = _copy(path, copied)
        last_seq = books.read_sync(lambda reader: next((one.seq for one in reader.facts(newest_first=True, limit=1)), 0))
        if applied_seq > last_seq:
            return (f"memory claims to hold fact {applied_seq}, the last one is {last_seq}",)
        for each in (copied, anew):
            await _caught_up(each, books, now_ms)
        return _compared(copied, anew, now_ms)


async def rebuild_memory(path: Path, books: ReadPool) -> int:
    """Make memory anew from the facts, and put it in the place of what is there; the number of its entries.

    The caller holds the data directory. Raises `Unavailable` where the disk takes no more; then all is as it was.
    """
    anew, old = path.with_name(f"{path.name}.new"), path.with_name(f"{path.name}.old")
    for left in (anew, old):
        _remove(left)
    memory = open_memory(anew)
    try:
        await catch_up(memory, books)
        count = sum(memory.counts().values())
    finally:
        await memory.close()
    if memory.dropped:
        _remove(anew)
        raise Unavailable(f"{memory.dropped} changes could not be written to {anew}")
    if path.exists():
        path.rename(old)
    anew.rename(path)
    _remove(old)
    return count


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy(path: Path, to: Path) -> int:
    """Copy the rows of one moment; the fact up to which they are applied."""
    source, target = LmdbKeyValue(path, readonly=True), LmdbKeyValue(to)
    with contextlib.closing(source), contextlib.closing(target):

        def copy(rows: Reading) -> int:
            store.check_format(rows)

            def put(tx: Writing) -> None:
                for key, value in rows.scan(b""):
                    tx.put(key, value)

            target.write(put)
            return store.applied_seq(rows)

        return source.read(copy)


async def _caught_up(path: Path, books: ReadPool, now_ms: int) -> None:
    memory: Memory = open_memory(path)
    try:
        await catch_up(memory, books)
        while len(await memory.forget_expired(now_ms, AT_ONCE)) == AT_ONCE:
            pass
    finally:
        await memory.close()


def _compared(copied: Path, anew: Path, now_ms: int) -> tuple[str, ...]:
    kept, made = LmdbKeyValue(copied), LmdbKeyValue(anew)
    with contextlib.closing(kept), contextlib.closing(made):

        def compare(rows: Reading) -> tuple[str, ...]:
            made.write(lambda tx: _forget_faded(rows, tx, now_ms))
            return made.read(lambda right: tuple(islice(_differences(rows, right), DIFFERENCES_MAX)))

        return kept.read(compare)


def _forget_faded(kept: Reading, made: Writing, now_ms: int) -> None:
    """Forget what memory had forgotten before it was recalled: a recall renews only what is there."""
    missing = [key for key, _ in made.scan(keys.RECORDS) if kept.get(key) is None]
    for key in missing:
        record = made.get(key)
        megram = None if record is None else store.record_of(record)
        if megram is not None and _has_faded(megram, now_ms):
            store.delete(made, megram.id)


def _has_faded(megram: Megram, now_ms: int) -> bool:
    expiry_ms = expires_at_ms(megram)
    return expiry_ms is not None and expiry_ms <= now_ms


def _differences(kept: Reading, made: Reading) -> Iterator[str]:
    """Both in one order. Pairs that the dreamer has yet to look at are its own notes: they need only be readable."""
    left, right = _rows(kept), _rows(made)
    one, other = next(left, None), next(right, None)
    while one or other:
        if one and (not other or one[0] < other[0]):
            yield f"{_shown(one[0])}: no fact says it"
            one = next(left, None)
        elif other and (not one or other[0] < one[0]):
            yield f"{_shown(other[0])}: it is missing"
            other = next(right, None)
        elif one and other:
            if one[1] != other[1]:
                yield f"{_shown(one[0])}: it is not what the facts say"
            one, other = next(left, None), next(right, None)


def _rows(tx: Reading) -> Iterator[tuple[bytes, bytes]]:
    store.check_stirred(tx)
    return (
        (key, value) for key, value in tx.scan(b"") if key not in _OF_THE_WRITER and not key.startswith(keys.STIRRED)
    )


def _shown(key: bytes) -> str:
    return "memory " + key.decode(errors="backslashreplace")
