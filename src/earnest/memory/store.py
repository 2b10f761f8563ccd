"""How Megrams stand in the key-value store: every index and sum changes in the transaction of its Megram."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from earnest.effects.ground.kv.api import REMEDY, StoreChange, StoreView
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.instants import EPOCH, rfc3339
from earnest.memory import keys
from earnest.memory.consolidation import MemoryRevision
from earnest.memory.megram import INSTANT_MS_MAX, Forgotten, Level, Megram, Tag, decode_megram, encode_megram, tool_of
from earnest.memory.potential import DecaySum, Potentials, expires_at_ms, potentials

FORMAT: Final = b"megrams-1"
EVENTS: Final = (Level.M, Level.K)
"""The levels that decay, count for potentials and have recent contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stirred:
    """A pair, and its row with the Megram `by` which it was stirred last."""

    tag: Tag
    key: bytes
    by: bytes


def check_format(tx: StoreView) -> None:
    """Raises `Refused("memory_format")` if another version wrote this store."""
    found = tx.get(keys.FORMAT)
    if found not in (None, FORMAT):
        raise Refused("memory_format", f"memory has the format {found!r}, this version reads {FORMAT!r}: {REMEDY}")


def ensure_format(tx: StoreChange) -> None:
    """Check, and mark a new store."""
    check_format(tx)
    tx.put(keys.FORMAT, FORMAT)


def put(tx: StoreChange, megram: Megram) -> bool:
    """Remember, unless its id is known already; whether it was new."""
    key = keys.of(keys.RECORDS, megram.id)
    if tx.get(key) is not None:
        return False
    reference = megram.id.encode()
    tx.put(key, _encoded(replace(megram, last_recalled_at_ms=None)))
    for row in _rows(megram):
        tx.put(row, reference)
    if megram.level in EVENTS:
        _stir(tx, megram, megram.id)
    _count(tx, megram.level, 1)
    _weigh_in(tx, megram)
    return True


def _stir(tx: StoreChange, megram: Megram, by: str) -> None:
    """Have the dreamer look at the pair again."""
    tx.put(
        keys.below(keys.STIRRED, megram.space, megram.entity), json.dumps([megram.space, megram.entity, by]).encode()
    )


def recall(tx: StoreChange, megram_id: str, now_ms: int) -> bool:
    """Count its age from `now_ms`, if that is later; whether anything changed. It stirs its pair."""
    megram = get(tx, megram_id)
    at_ms = min(now_ms, INSTANT_MS_MAX)
    if megram is None or at_ms <= megram.renewed_at_ms:
        return False
    _weigh_out(tx, megram)
    _weigh_in(tx, replace(megram, last_recalled_at_ms=at_ms))
    _stir(tx, megram, f"{megram.id}@{at_ms}")
    return True


def delete(tx: StoreChange, megram_id: str) -> Forgotten | None:
    """Forget for good; None if it was not known."""
    megram = get(tx, megram_id)
    if megram is None:
        return None
    _weigh_out(tx, megram)
    tx.delete(keys.of(keys.RECORDS, megram.id))
    for row in _rows(megram):
        tx.delete(row)
    if not any(True for _ in tx.scan(keys.below(keys.CREATED, megram.space, megram.entity))):
        tx.delete(keys.below(keys.STIRRED, megram.space, megram.entity))
    _count(tx, megram.level, -1)
    return Forgotten(id=megram.id, level=megram.level, space=megram.space, entity=megram.entity)


def revise(tx: StoreChange, revision: MemoryRevision) -> None:
    """Forget what is to be forgotten, then remember what takes its place."""
    for megram_id in revision.forget:
        delete(tx, megram_id)
    for megram in revision.remember:
        put(tx, megram)


def delete_expired(tx: StoreChange, now_ms: int, limit: int) -> tuple[Forgotten, ...]:
    """Forget what has fallen below its limit, at most `limit` of it, the longest expired first."""
    due: list[str] = []
    for key, reference in tx.scan(keys.EXPIRIES):
        if len(due) == limit or keys.expiry_instant_ms(key) > now_ms:
            break
        due.append(reference.decode(errors="replace"))
    return tuple(forgotten for megram_id in due if (forgotten := delete(tx, megram_id)))


def get(tx: StoreView, megram_id: str) -> Megram | None:
    """The Megram with this id."""
    data = tx.get(keys.of(keys.RECORDS, megram_id))
    return None if data is None else _decoded(tx, data)


def query_mk(tx: StoreView, space: str, entity: str, now_ms: int) -> Potentials:
    """Potentials over levels M and K. Its cost grows only with what was renewed after `now_ms`: as a rule, nothing."""
    sums: dict[float, DecaySum] = {}
    for key, data in tx.scan(keys.below(keys.SUMS, space, entity)):
        level, k = keys.decay_sum_class(key)
        if level in EVENTS:
            part = DecaySum.decode(data)
            sums[k] = sums[k] + part if k in sums else part
    return potentials(sums, _renewed_after(tx, space, entity, now_ms), now_ms)


def recent(tx: StoreView, space: str, entity: str, limit: int) -> tuple[Megram, ...]:
    """The newest Megrams of levels M and K by creation, newest first."""
    return _newest(tx, keys.below(keys.CREATED, space, entity), limit)


def query_c(tx: StoreView, space: str, entity: str, limit: int) -> tuple[Megram, ...]:
    """The newest rules (level C) of a pair, newest first."""
    return _newest(tx, keys.below(keys.RULES, space, entity), limit)


def used(tx: StoreView, tool: str, limit: int) -> tuple[Megram, ...]:
    """The newest Megrams of levels M and K about a tool, newest first."""
    return _newest(tx, keys.below(keys.USED, tool), limit)


def stirred(tx: StoreView, limit: int) -> tuple[Stirred, ...]:
    """Pairs to which something was added since they were last `settled`."""
    found: list[Stirred] = []
    for key, by in tx.scan(keys.STIRRED):
        if len(found) == limit:
            break
        space, entity, _ = json.loads(by)
        found.append(Stirred(tag=Tag(space=space, entity=entity), key=key, by=by))
    return tuple(found)


def check_stirred(tx: StoreView) -> None:
    """Raises `Broken` unless each pair that waits for the dreamer stands under its own key."""
    for key, by in tx.scan(keys.STIRRED):
        try:
            space, entity, megram_id = json.loads(by)
        except (ValueError, TypeError):
            space, entity, megram_id = None, None, None
        if not isinstance(megram_id, str) or keys.below(keys.STIRRED, str(space), str(entity)) != key:
            raise Broken(f"memory holds a pair to look at that it did not write: {key!r}")


def settled(tx: StoreChange, pairs: Iterable[Stirred]) -> None:
    """The dreamer has looked at these pairs; what was stirred again meanwhile stays so."""
    for pair in pairs:
        if tx.get(pair.key) == pair.by:
            tx.delete(pair.key)


def entries(
    tx: StoreView,
    *,
    space: str | None = None,
    entity: str | None = None,
    level: Level | None = None,
    after: Megram | None = None,
    limit: int,
) -> tuple[Megram, ...]:
    """Megrams in the order of the narrowest index: of tags (`entity` needs `space`), else of levels, else of ids."""
    prefix, start = _place(space, entity, level, after)
    found: list[Megram] = []
    for key, value in tx.scan(prefix, start=start):
        if key == start:
            continue
        if len(found) == limit:
            break
        megram = _decoded(tx, value) if prefix == keys.RECORDS else get(tx, value.decode(errors="replace"))
        if megram and (level is None or megram.level == level):
            found.append(megram)
    return tuple(found)


def counts(tx: StoreView) -> dict[Level, int]:
    """How many Megrams each level has."""
    return {level: int(tx.get(keys.of(keys.COUNTS, level)) or b"0") for level in Level}


def applied_seq(tx: StoreView) -> int:
    """The fact up to which everything has been applied; 0 at the beginning."""
    return int(tx.get(keys.APPLIED_SEQ) or b"0")


def set_applied_seq(tx: StoreChange, fact_seq: int) -> None:
    """Move the mark forward; never back."""
    if fact_seq > applied_seq(tx):
        tx.put(keys.APPLIED_SEQ, b"%d" % fact_seq)


def _place(space: str | None, entity: str | None, level: Level | None, after: Megram | None) -> tuple[bytes, bytes]:
    """The index that fits the question, and where in it `after` stands."""
    if space is not None:
        prefix = keys.below(keys.TAGGED, space) if entity is None else keys.below(keys.TAGGED, space, entity)
        return prefix, b"" if after is None else keys.of(keys.TAGGED, after.space, after.entity, after.id)
    if level is not None:
        return keys.below(keys.LEVELLED, level), b"" if after is None else keys.of(keys.LEVELLED, after.level, after.id)
    return keys.RECORDS, b"" if after is None else keys.of(keys.RECORDS, after.id)


def _weigh_in(tx: StoreChange, megram: Megram) -> None:
    """Write all that depends on how old it is: sum, expiry, recall."""
    key = keys.decay_sum(megram.space, megram.entity, megram.level, megram.k)
    tx.put(key, _sum(tx, key).plus(megram).encode())
    expiry_ms = expires_at_ms(megram)
    if expiry_ms is not None:
        tx.put(keys.of(keys.EXPIRIES, expiry_ms, megram.id), megram.id.encode())
    if megram.last_recalled_at_ms is not None:
        tx.put(keys.of(keys.RECALLS, megram.id), rfc3339(megram.last_recalled_at_ms).encode())
        if megram.level in EVENTS:
            at_ms = megram.renewed_at_ms
            tx.put(keys.of(keys.RENEWED, megram.space, megram.entity, at_ms, megram.id), megram.id.encode())


def _weigh_out(tx: StoreChange, megram: Megram) -> None:
    """Undo `_weigh_in`."""
    key = keys.decay_sum(megram.space, megram.entity, megram.level, megram.k)
    rest = _sum(tx, key).minus(megram)
    if rest.count:
        tx.put(key, rest.encode())
    else:
        tx.delete(key)
    expiry_ms = expires_at_ms(megram)
    if expiry_ms is not None:
        tx.delete(keys.of(keys.EXPIRIES, expiry_ms, megram.id))
    if megram.last_recalled_at_ms is not None:
        tx.delete(keys.of(keys.RECALLS, megram.id))
        tx.delete(keys.of(keys.RENEWED, megram.space, megram.entity, megram.renewed_at_ms, megram.id))


def _renewed_after(tx: StoreView, space: str, entity: str, now_ms: int) -> tuple[Megram, ...]:
    """Megrams of levels M and K that were created or recalled later than now, each once."""
    rows = (
        (keys.below(keys.CREATED, space, entity), keys.of(keys.CREATED, space, entity, now_ms + 1)),
        (keys.below(keys.RENEWED, space, entity), keys.of(keys.RENEWED, space, entity, now_ms + 1)),
    )
    references = {reference for prefix, start in rows for _, reference in tx.scan(prefix, start=start)}
    return tuple(megram for reference in references for megram in _referenced(tx, reference))


def _rows(megram: Megram) -> Iterator[bytes]:
    """The keys under which it is found, besides its record, that do not depend on its age."""
    yield keys.of(keys.TAGGED, megram.space, megram.entity, megram.id)
    yield keys.of(keys.LEVELLED, megram.level, megram.id)
    if megram.level is Level.C:
        yield keys.of(keys.RULES, megram.space, megram.entity, megram.created_at_ms, megram.id)
    if megram.level in EVENTS:
        yield keys.of(keys.CREATED, megram.space, megram.entity, megram.created_at_ms, megram.id)
        if (tool := tool_of(megram.space)) is not None:
            yield keys.of(keys.USED, tool, megram.created_at_ms, megram.id)


def _newest(tx: StoreView, prefix: bytes, limit: int) -> tuple[Megram, ...]:
    found: list[Megram] = []
    for _, reference in tx.scan(prefix, reverse=True):
        if len(found) == limit:
            break
        found.extend(_referenced(tx, reference))
    return tuple(found)


def _referenced(tx: StoreView, reference: bytes) -> Iterator[Megram]:
    megram = get(tx, reference.decode(errors="replace"))
    if megram is not None:
        yield megram


def _sum(tx: StoreView, key: bytes) -> DecaySum:
    data = tx.get(key)
    return DecaySum() if data is None else DecaySum.decode(data)


def _count(tx: StoreChange, level: Level, change: int) -> None:
    key = keys.of(keys.COUNTS, level)
    tx.put(key, b"%d" % (int(tx.get(key) or b"0") + change))


def _encoded(megram: Megram) -> bytes:
    return json.dumps(encode_megram(megram), ensure_ascii=False, separators=(",", ":")).encode()


def record_of(data: bytes) -> Megram:
    """A record as it was made, without its recall. Raises `Broken` for what memory did not write."""
    try:
        return decode_megram(json.loads(data))
    except ValueError as error:
        raise Broken(f"memory holds a record that it did not write: {error}") from error


def _decoded(tx: StoreView, data: bytes) -> Megram:
    """A record with its last recall, which stands apart so that records never change."""
    megram = record_of(data)
    recalled_at = tx.get(keys.of(keys.RECALLS, megram.id))
    if recalled_at is None:
        return megram
    since_epoch = datetime.fromisoformat(recalled_at.decode()) - EPOCH
    return replace(megram, last_recalled_at_ms=since_epoch // timedelta(milliseconds=1))
