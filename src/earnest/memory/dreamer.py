"""What memory does by itself: forget what has faded, make rules of what is clear, let rules fall that are refuted."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final, Protocol

from earnest.effects.ground.clock import Clock
from earnest.memory.consolidation import Cluster, MemoryRevision, consolidated, fall, has_fallen
from earnest.memory.distilling import Complete, distilled
from earnest.memory.megram import Forgotten, Level, Megram, Tag
from earnest.memory.potential import Potentials
from earnest.memory.store import Stirred

BATCH_MAX: Final = 256
"""Deletions in one transaction, pairs and rules looked at in one read; writes that wait go in between."""
PAIRS_MAX: Final = 4_096
"""Pairs looked at in one cycle; the others wait for the next."""


class Dreamable(Protocol):
    """What the dreamer needs of memory."""

    async def forget_expired(self, now_ms: int, limit: int) -> tuple[Forgotten, ...]:
        """Delete up to `limit` Megrams that have fallen below their limit."""

    def applied_seq(self) -> int:
        """The last fact up to which all is applied."""

    def stirred(self, limit: int) -> tuple[Stirred, ...]:
        """Pairs to which something was added since they were `settled`."""

    async def settled(self, pairs: tuple[Stirred, ...]) -> None:
        """These were looked at."""

    def cluster(self, tag: Tag, now_ms: int) -> Cluster | None:
        """The events of a pair, if it has any."""

    def query_mk(self, space: str, entity: str, now_ms: int) -> Potentials:
        """What the events of a pair say."""

    def entries(
        self, space: str | None = None, entity: str | None = None, level: Level | None = None, *, after: Megram | None
    ) -> tuple[Megram, ...]:
        """A page of entries."""


class Dreamer:
    """Decides what is to change (seed R5, Λ_gc, Λ_demote and consolidation). Forgetting it does itself."""

    def __init__(self, memory: Dreamable, clock: Clock, complete: Complete | None = None) -> None:
        self._memory = memory
        self._clock = clock
        self._complete = complete

    async def forget(self) -> tuple[Forgotten, ...]:
        """One pass: all that has expired by now, found in an index. Raises what the store raises."""
        now_ms = self._clock.now_ms()
        forgotten: list[Forgotten] = []
        while True:
            batch = await self._memory.forget_expired(now_ms, BATCH_MAX)
            forgotten.extend(batch)
            if len(batch) < BATCH_MAX:
                return tuple(forgotten)

    async def revisions(self) -> AsyncIterator[MemoryRevision]:
        """What is to be revised, one after the other: apply each before asking for the next.

        Rules fall first, so that what remains of them counts when their pair gets another; at most one a pair. Looks
        only at rules and at pairs that were stirred, so a cycle in which nothing was learnt costs as much as there are
        rules. Raises what the store raises.
        """
        seen_seq = self._memory.applied_seq()
        async for rule in self._rules():
            if has_fallen(rule, self._memory.query_mk(rule.space, rule.entity, self._clock.now_ms())):
                yield replace(fall(rule), seen_seq=seen_seq)
        for _ in range(0, PAIRS_MAX, BATCH_MAX):
            pairs, seen_seq = self._memory.stirred(BATCH_MAX), self._memory.applied_seq()
            if not pairs:
                return
            for pair in pairs:
                cluster = self._memory.cluster(pair.tag, self._clock.now_ms())
                if cluster is not None and cluster.ripe:
                    words = await distilled(cluster, self._complete)
                    yield replace(consolidated(cluster, words, self._clock.now_ms()), seen_seq=seen_seq)
            await self._memory.settled(pairs)

    async def _rules(self) -> AsyncIterator[Megram]:
        last: Megram | None = None
        while page := self._memory.entries(level=Level.C, after=last):
            for rule in page:
                yield rule
            last = page[-1]
