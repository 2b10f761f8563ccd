"""What the rest of the runtime asks of memory: remember, recall, query, forget, without ever waiting for a disk."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, TypeVar

from earnest.effects.ground.kv.api import REMEDY, KeyValue, StoreChange, StoreView
from earnest.effects.ground.kv.place import KeyValuePlace, open_store
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.memory import store
from earnest.memory.consolidation import CLUSTER_MAX, Cluster, MemoryRevision
from earnest.memory.megram import RECALL_MAX, Forgotten, Level, Megram, Tag
from earnest.memory.potential import Potentials

QUEUE_MAX: Final = 4_096
"""Changes that wait to be written; one more is dropped and counted."""
BATCH_MAX: Final = 256
"""Changes in one transaction."""
DRAIN_MS_MAX: Final = 5_000
"""How long closing waits for the disk."""
RULES_MAX: Final = 5
"""Rules that one question is answered with."""
USED_MAX: Final = 64
ENTRIES_MAX: Final = 1_000

NOT_OURS: Final = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError)
"""What reading a record raises that memory did not write."""
FACTS_MAX: Final = 1_024
"""Facts of others that one transaction applies."""
_NOTHING_LOST: Final = 2**63
_Result = TypeVar("_Result")

Apply: TypeAlias = Callable[[StoreChange], object]
FactChanges: TypeAlias = Callable[[int, int, int], Sequence[tuple[int, Apply]]]
"""What the facts after the first number, up to the second, change: in their order, at most the third of them."""
_log = logging.getLogger(__name__)


class MemoryReader:
    """The questions. All of them answer at once, from what was last committed."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def _look(self, look: Callable[[StoreView], _Result]) -> _Result:
        """What `look` answers. Raises `Broken` if it finds what memory has not written."""
        try:
            return self._kv.read(look)
        except (Broken, *NOT_OURS) as error:
            raise damaged(error) from error

    def query_mk(self, space: str, entity: str, now_ms: int) -> Potentials:
        """What events and knowledge under a pair of tags say, at any number of them. Renews nothing."""
        return self._look(lambda tx: store.query_mk(tx, space, entity, now_ms))

    def recent(self, space: str, entity: str, limit: int = RECALL_MAX) -> tuple[Megram, ...]:
        """The newest events and knowledge of a pair, newest first, at most RECALL_MAX.

        Looking is not a recall: tell `recalled` which of them went into a plan.
        """
        return self._look(lambda tx: store.recent(tx, space, entity, min(limit, RECALL_MAX)))

    def query_c(self, space: str, entity: str) -> tuple[Megram, ...]:
        """The rules of a pair, newest first, at most RULES_MAX. To answer with one is a recall: tell `recalled`."""
        return self._look(lambda tx: store.query_c(tx, space, entity, RULES_MAX))

    def used(self, tool: str) -> tuple[Megram, ...]:
        """The newest events and knowledge about a tool, whatever it was used on, newest first, at most USED_MAX."""
        return self._look(lambda tx: store.used(tx, tool, USED_MAX))

    def cluster(self, tag: Tag, now_ms: int) -> Cluster | None:
        """The newest events of a pair and what is said of it, in one view; None if it has no events."""

        def look(tx: StoreView) -> Cluster | None:
            events = store.recent(tx, tag.space, tag.entity, CLUSTER_MAX)
            if not events:
                return None
            return Cluster(
                tag=tag,
                potentials=store.query_mk(tx, tag.space, tag.entity, now_ms),
                events=events,
                rules=store.query_c(tx, tag.space, tag.entity, RULES_MAX),
            )

        return self._look(look)

    def stirred(self, limit: int) -> tuple[store.Stirred, ...]:
        """Pairs to which something was added since they were `settled`."""
        return self._look(lambda tx: store.stirred(tx, limit))

    def get(self, megram_id: str) -> Megram | None:
        """The Megram with this id."""
        return self._look(lambda tx: store.get(tx, megram_id))

    def entries(
        self,
        space: str | None = None,
        entity: str | None = None,
        level: Level | None = None,
        *,
        after: Megram | None = None,
        limit: int = 100,
    ) -> tuple[Megram, ...]:
        """Megrams that match, in a fixed order, at most ENTRIES_MAX; the next page begins `after` the last of this.

        Raises `Refused("entries_filter")` for an entity without its space.
        """
        if entity is not None and space is None:
            raise Refused("entries_filter", "an entity is looked for within a space")
        bounded = min(limit, ENTRIES_MAX)
        return self._look(
            lambda tx: store.entries(tx, space=space, entity=entity, level=level, after=after, limit=bounded)
        )

    def counts(self) -> dict[Level, int]:
        """How many Megrams each level has."""
        return self._look(store.counts)

    def applied_seq(self) -> int:
        """The last fact up to which every change that was handed in has been kept; 0 at the beginning."""
        return self._look(store.applied_seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """Something to be written. `answered` is None for what nobody waits for."""

    apply: Callable[[StoreChange], object]
    fact_seq: int | None = None
    answered: asyncio.Future[int] | None = None
    follows: int = 0
    """Facts that are applied with it, the next that memory has not seen; 0: up to where the mark goes."""


class Memory(MemoryReader):
    """Memory, to be written. Belongs to one event loop; other processes may write the same store.

    It is a projection of facts. `fact_seq` is the number of the fact that a change follows from; changes come in the
    order of their facts, one for each. At every start `follow` reads and applies, in order, all facts
    after `applied_seq()`: what was kept already does no harm, and what had been forgotten is forgotten again.
    """

    def __init__(
        self,
        kv: KeyValue,
        facts: FactChanges = lambda *_: (),
        *,
        queue_max: int = QUEUE_MAX,
        drain_ms: int = DRAIN_MS_MAX,
    ) -> None:
        """`facts`: where other processes record facts, whose changes are applied in between, before the mark moves."""
        kv.write(store.ensure_format)
        super().__init__(kv)
        self._facts = facts
        self._queue: deque[_Change] = deque()
        self._queue_max = queue_max
        self._drain_ms = drain_ms
        self._draining: asyncio.Task[None] | None = None
        self._first_lost_seq = _NOTHING_LOST
        self.is_behind = False
        """True while older facts are still to be applied: what has faded is then not known."""
        self._caught_up = asyncio.Event()
        self._caught_up.set()
        self.dropped = 0
        """How many changes were lost since the start: the queue was full, the disk failed, or memory was closed."""
        self._closed = False

    async def caught_up(self) -> None:
        """Return when memory is not behind, or nobody is catching up any more."""
        await self._caught_up.wait()

    async def follow(self, limit: int) -> int:
        """Apply the next facts that memory has not seen, at most `limit`; their number. 0: it has caught up.

        Until then the mark moves by this alone. What is handed in meanwhile is kept at once, before its turn, and what
        of it depends on facts that were still to come is applied in its turn again. Raises what the store raises.
        """
        self.is_behind = True
        self._caught_up.clear()
        answered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._enqueue(_Change(apply=_nothing, answered=answered, follows=limit))
        count = 0
        try:
            count = await answered
            self.is_behind = count > 0
        finally:
            if not count:
                self._caught_up.set()
        return count

    @property
    def room(self) -> int:
        """How many changes can be handed in before the next `flush` without loss."""
        return max(0, self._queue_max - len(self._queue))

    def write(self, megram: Megram, *, fact_seq: int | None = None) -> None:
        """Remember, soon. An id that is known already stays as it is."""
        self._hand_in(remembering(megram), fact_seq)

    def recalled(self, ids: Sequence[str], now_ms: int, *, fact_seq: int | None = None) -> None:
        """Renew the age of what was put into a plan. Raises `Refused("recall_limit")` for more than RECALL_MAX."""
        if len(ids) > RECALL_MAX:
            raise Refused("recall_limit", f"a plan is given at most {RECALL_MAX} memories, not {len(ids)}")
        self._hand_in(recalling(tuple(ids), now_ms), fact_seq)

    async def forget(self, megram_id: str, *, fact_seq: int | None = None) -> bool:
        """Delete on request; whether it was there. Raises what the store raises."""
        return await self._ask(lambda tx: store.delete(tx, megram_id) is not None, fact_seq) is not False

    async def revise(self, revision: MemoryRevision, *, fact_seq: int | None = None) -> None:
        """Forget and remember in one step. Raises what the store raises."""
        await self._ask(revising(revision), fact_seq)

    async def settled(self, pairs: Sequence[store.Stirred]) -> None:
        """The dreamer has looked at these pairs. Raises what the store raises."""
        await self._ask(lambda tx: store.settled(tx, pairs))

    async def forget_expired(self, now_ms: int, limit: int = BATCH_MAX) -> tuple[Forgotten, ...]:
        """Delete up to `limit` Megrams that have fallen below their limit. Raises what the store raises."""
        return await self._ask(lambda tx: store.delete_expired(tx, now_ms, limit)) or ()

    async def flush(self) -> None:
        """Return when all that was handed in has been kept, or counted as dropped."""
        while self._draining is not None:
            await asyncio.shield(self._draining)

    async def close(self) -> None:
        """Keep what was handed in, for a bounded time, and free the store. What is too late is counted as dropped."""
        self._closed = True
        try:
            async with asyncio.timeout(self._drain_ms / 1000):
                await self.flush()
        except TimeoutError:
            self._lose(self._queue, Unavailable("memory was closed before the disk was done"))
            self._queue.clear()
        if self._draining is None:
            self._kv.close()
        else:  # a transaction still runs in its thread; it needs the store
            self._draining.add_done_callback(lambda _: self._kv.close())

    def _hand_in(self, apply: Callable[[StoreChange], object], fact_seq: int | None) -> None:
        change = _Change(apply=apply, fact_seq=fact_seq)
        if self._closed or not self.room:
            self._lose([change], Unavailable("memory is closed" if self._closed else "memory's queue is full"))
        else:
            self._enqueue(change)

    async def _ask(self, apply: Callable[[StoreChange], _Result], fact_seq: int | None = None) -> _Result | None:
        """Apply in the order of the queue and wait for the answer; as the asker waits, no limit is needed.

        None where another process has applied the fact.
        """
        if self._closed:
            raise Unavailable("memory is closed")
        answers: list[_Result] = []
        answered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._enqueue(_Change(apply=lambda tx: answers.append(apply(tx)), fact_seq=fact_seq, answered=answered))
        await answered
        return answers[-1] if answers else None

    def _enqueue(self, change: _Change) -> None:
        self._queue.append(change)
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain(), name="memory")

    async def _drain(self) -> None:
        try:
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(BATCH_MAX, len(self._queue)))]
                await self._keep(batch)
        finally:
            self._draining = None

    async def _keep(self, batch: list[_Change]) -> None:
        try:
            apply = partial(
                _apply_all, batch=batch, end_seq=self._first_lost_seq, facts=self._facts, is_behind=self.is_behind
            )
            count = await asyncio.to_thread(self._kv.write, apply)
        except Exception as error:  # memory never stops a run: what is lost is counted, and healed from facts
            self._lose(batch, damaged(error) if isinstance(error, (Broken, *NOT_OURS)) else error)
            return
        for change in batch:
            if change.answered is not None and not change.answered.done():
                change.answered.set_result(count)

    def _lose(self, changes: Iterable[_Change], error: Exception) -> None:
        """Count, and hold the mark before the first fact that lost something, so that the next start hands it in."""
        for change in changes:
            if change.answered is not None:
                if not change.answered.done():
                    change.answered.set_exception(error)
            elif change.apply is not _nothing:
                self.dropped += 1
                if self.dropped & (self.dropped - 1) == 0:  # 1st, 2nd, 4th, 8th …: said, but not for each
                    _log.warning("memory: %d changes dropped so far: %s", self.dropped, error)
            if change.fact_seq is not None:
                self._first_lost_seq = min(change.fact_seq, self._first_lost_seq)


def damaged(error: Exception) -> Broken:
    """What is to be said of a record that memory did not write."""
    if isinstance(error, Broken) and REMEDY in str(error):
        return error
    return Broken(f"memory is damaged ({error or type(error).__name__}): {REMEDY}")


def _apply_all(tx: StoreChange, batch: Sequence[_Change], end_seq: int, facts: FactChanges, *, is_behind: bool) -> int:
    """Apply a batch, among what other facts change up to where the mark goes, in the order of facts; their number.

    The mark stays before `end_seq`, and where memory is behind it moves only with a change that `follows`.
    """
    mark, limit = store.applied_seq(tx), max(change.follows for change in batch)
    goal = end_seq - 1
    if not limit:
        goal = mark if is_behind else min(goal, max(change.fact_seq or 0 for change in batch))
    found = facts(mark, goal, limit or FACTS_MAX) if goal > mark else ()
    if limit or len(found) == FACTS_MAX:
        goal = found[-1][0] if found else mark
    ours = {change.fact_seq for change in batch}
    others = deque(one for one in found if one[0] not in ours)
    for change in batch:
        seq = change.fact_seq
        while seq is not None and others and others[0][0] < seq:
            others.popleft()[1](tx)
        if seq is None or seq > mark:  # else another process has applied it, and perhaps what came after it
            change.apply(tx)
    for _, apply in others:
        apply(tx)
    store.set_applied_seq(tx, goal)
    return len(found)


def remembering(megram: Megram) -> Apply:
    """An id that is known already stays as it is."""
    return partial(store.put, megram=megram)


def recalling(ids: Iterable[str], now_ms: int) -> Apply:
    """The age of each is renewed."""
    return lambda tx: [store.recall(tx, megram_id, now_ms) for megram_id in ids]


def forgetting(megram_id: str) -> Apply:
    """It is deleted, if it is there."""
    return partial(store.delete, megram_id=megram_id)


def revising(revision: MemoryRevision) -> Apply:
    """Some are forgotten and others remembered."""
    return partial(store.revise, revision=revision)


def _nothing(tx: StoreChange) -> None:
    """A change that only follows the facts."""


class OpenReader(MemoryReader):
    """A reader that is to be closed."""

    def close(self) -> None:
        """Free what was taken."""
        self._kv.close()


def open_memory(place: KeyValuePlace, facts: FactChanges = lambda *_: ()) -> Memory:
    """Memory in a place, beside others who write it: see `Memory`. Raises `Refused("memory_in_use")`."""
    kv = open_store(place)
    try:
        return Memory(kv, facts)
    except BaseException:
        kv.close()
        raise


def open_memory_reader(place: KeyValuePlace) -> OpenReader:
    """The questions alone, beside a process that writes. Raises `Refused("memory_missing")` where there is none."""
    kv = open_store(place, readonly=True)
    try:
        kv.read(store.check_format)
    except BaseException:
        kv.close()
        raise
    return OpenReader(kv)
