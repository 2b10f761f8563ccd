"""The story of a dream: forget, consolidate, let rules fall; each revision is a fact before memory changes."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.engine.memory_messages import DreamEvent
from earnest.engine.messages import FinalResult, Role
from earnest.engine.remembering import SESSION
from earnest.foundation.errors import EarnestError, Refused
from earnest.foundation.facts import Fact
from earnest.memory.consolidation import MemoryRevision
from earnest.memory.dreamer import Dreamer
from earnest.memory.megram import Forgotten
from earnest.memory.service import Memory
from earnest.runtime.completion import to_the_end
from earnest.runtime.recall import OVERTAKEN, REVISED, is_overtaken

EXPIRED: Final = "memory.expired"
"""Attention had faded. Not read again: whatever is remembered anew expires anew."""
PERIOD_MS: Final = 300_000
SETTLE_MS: Final = 30_000
"""How long after a run's end the dreamer leaves memory alone: the next task often follows at once."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dream:
    """What one cycle did, in order."""

    forgotten: tuple[Forgotten, ...]
    revisions: tuple[MemoryRevision, ...]


@dataclass(slots=True, kw_only=True)
class Dreaming:
    """One cycle at a time; over all processes by `alone`.

    Records `memory.expired` and `memory.revised`, and says on the bus what changed.
    """

    memory: Memory
    dreamer: Dreamer
    database: Database
    bus: Bus
    clock: Clock
    alone: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    _cycle: "asyncio.Task[Dream] | None" = None
    _last_final_ns: int | None = None

    async def cycle(self) -> Dream:
        """Dream once, now, or share the cycle that is under way. Raises what the stores raise."""
        if self._cycle is None or self._cycle.done():
            self._cycle = asyncio.get_running_loop().create_task(self._dream())
        return await asyncio.shield(self._cycle)

    async def watch(self) -> None:
        """A cycle at the start and every PERIOD_MS, never within SETTLE_MS of a run's end; until cancelled."""
        end_tap = self.bus.tap("dreamer", self._see)
        try:
            while True:
                while (rest_ms := self._rest_ms()) > 0:
                    await self.clock.sleep_ms(rest_ms)
                try:
                    await self.cycle()
                except EarnestError as error:  # the next cycle tries again
                    _log.warning("a dream failed: %s", error)
                await self.clock.sleep_ms(PERIOD_MS)
        finally:
            end_tap()
            if self._cycle is not None:
                self._cycle.cancel()

    async def expire(self) -> tuple[Forgotten, ...]:
        """Forget what has faded by now; nothing while memory is behind, for a recall may yet come that renews it."""
        if self.memory.is_behind:
            return ()
        gone = await self.dreamer.forget()
        if gone:
            ids = [one.id for one in gone]
            fact = Fact(kind=EXPIRED, subject="memory", at_ms=self.clock.now_ms(), body={"megram_ids": ids})
            seq = await self.database.write(lambda transaction: transaction.record(fact))
            self._tell(seq, DreamEvent(what="expired", gone=tuple(ids), new=()))
        return gone

    async def revise(self, revision: MemoryRevision) -> None:
        """The fact first, so that a crash cannot undo it; then memory; then the message.

        Raises `Refused("memory_moved_on")` where a later fact than what it was decided on concerns it; nothing is done.
        """
        await to_the_end(self._revise(revision))

    async def _dream(self) -> Dream:
        await self.memory.caught_up()
        async with self.alone():
            gone = await self.expire()
            revisions = []
            async for revision in self.dreamer.revisions():
                try:
                    await self.revise(revision)
                except Refused as refusal:
                    if refusal.code != OVERTAKEN:
                        raise
                    continue  # what came since has stirred its pair: the next cycle looks at it again
                revisions.append(revision)
        return Dream(forgotten=gone, revisions=tuple(revisions))

    async def _revise(self, revision: MemoryRevision) -> None:
        fact = Fact(kind=REVISED, subject="memory", at_ms=self.clock.now_ms(), body=revision.to_json())

        def record(transaction: Transaction) -> int:
            if is_overtaken(transaction, revision):
                raise Refused(OVERTAKEN, "others have taught memory about this meanwhile: look at it again")
            return transaction.record(fact)

        seq = await self.database.write(record)
        await self.memory.revise(revision, fact_seq=seq)
        new = tuple(megram.id for megram in revision.remember)
        self._tell(seq, DreamEvent(what=revision.why, gone=revision.forget, new=new))

    def _tell(self, fact_seq: int, event: DreamEvent) -> None:
        self.bus.publish(
            Envelope(
                id=f"dream/{fact_seq}",
                run_id=SESSION,
                sender=Role.R5,
                causation_id=None,
                at_ms=self.clock.now_ms(),
                payload=event,
            )
        )

    def _rest_ms(self) -> int:
        """How long memory is still left alone, by ticks: a clock that is set back keeps nobody waiting."""
        if self._last_final_ns is None:
            return 0
        return SETTLE_MS - (self.clock.ticks_ns() - self._last_final_ns) // 1_000_000

    def _see(self, envelope: Envelope) -> None:
        if isinstance(envelope.payload, FinalResult) and not envelope.replayed:
            self._last_final_ns = self.clock.ticks_ns()
