"""Two stores of memory, compared row by row."""

import contextlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from earnest.effects.ground.kv.api import StoreChange, StoreView
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.effects.ground.kv.place import KeyValuePlace, open_store
from earnest.memory import keys, store
from earnest.memory.potential import expires_at_ms

DIFFERENCES_MAX: Final = 100
_OF_THE_WRITER: Final = (keys.FORMAT, keys.APPLIED_SEQ)


def copy_of(place: KeyValuePlace, to: Path) -> int:
    """Copy the rows of one moment into a folder; the fact up to which they are applied. Raises `Broken`, `Refused`."""
    source, target = open_store(place, readonly=True), LmdbKeyValue(to)
    with contextlib.closing(source), contextlib.closing(target):

        def copy(rows: StoreView) -> int:
            store.check_format(rows)

            def put(tx: StoreChange) -> None:
                for key, value in rows.scan(b""):
                    tx.put(key, value)

            target.write(put)
            return store.applied_seq(rows)

        return source.read(copy)


def compared(copied: Path, anew: Path, now_ms: int) -> tuple[str, ...]:
    """Where two stores differ, in words; at most `DIFFERENCES_MAX`. Either is changed by looking."""
    kept, made = LmdbKeyValue(copied), LmdbKeyValue(anew)
    with contextlib.closing(kept), contextlib.closing(made):

        def compare(rows: StoreView) -> tuple[str, ...]:
            made.write(lambda tx: _forget_faded(rows, tx, now_ms))
            return made.read(lambda right: tuple(islice(_differences(rows, right), DIFFERENCES_MAX)))

        return kept.read(compare)


def _forget_faded(kept: StoreView, made: StoreChange, now_ms: int) -> None:
    """Forget what memory had forgotten before it was recalled: a recall renews only what is there."""
    missing = [key for key, _ in made.scan(keys.RECORDS) if kept.get(key) is None]
    for key in missing:
        record = made.get(key)
        megram = None if record is None else store.record_of(record)
        expiry_ms = None if megram is None else expires_at_ms(megram)
        if megram is not None and expiry_ms is not None and expiry_ms <= now_ms:
            store.delete(made, megram.id)


def _differences(kept: StoreView, made: StoreView) -> Iterator[str]:
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


def _rows(tx: StoreView) -> Iterator[tuple[bytes, bytes]]:
    store.check_stirred(tx)
    return (
        (key, value) for key, value in tx.scan(b"") if key not in _OF_THE_WRITER and not key.startswith(keys.STIRRED)
    )


def _shown(key: bytes) -> str:
    return "memory " + key.decode(errors="backslashreplace")
