"""The stories of forgetting: by age, in the background and after each run, and on request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from earnest.effects.clock import Clock
from earnest.effects.storage.database import Database
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.memory.dreamer import Dreamer
from earnest.memory.megram import Forgotten
from earnest.memory.service import Memory

FORGOTTEN: Final = "memory.forgotten"
"""Somebody asked for it. The subject is the Megram's id."""
EXPIRED: Final = "memory.expired"
"""Its attention had faded. Not read again: whatever is remembered anew expires anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """Every deletion is a fact. Records `memory.forgotten` and `memory.expired`."""

    memory: Memory
    dreamer: Dreamer
    database: Database
    clock: Clock

    async def expire(self) -> None:
        """One pass of the dreamer, now."""
        if gone := await self.dreamer.forget():
            await self._note(gone)

    async def watch(self) -> None:
        """A pass every few minutes, until cancelled."""
        await self.dreamer.run(self._note)

    async def forget(self, megram_id: str) -> None:
        """Forget one entry. The fact comes first, so that a crash cannot bring it back. Raises `Refused`."""
        if self.memory.get(megram_id) is None:
            raise Refused("megram_unknown", f"there is no entry {megram_id}; see `earnest memory show`")
        fact = Fact(kind=FORGOTTEN, subject=megram_id, at_ms=self.clock.now_ms(), body={"by": "user"})
        seq = await self.database.write(lambda transaction: transaction.record(fact))
        await self.memory.forget(megram_id, fact_seq=seq)
        self.memory.advance(seq)

    async def _note(self, gone: Sequence[Forgotten]) -> None:
        body = {"megram_ids": [one.id for one in gone]}
        fact = Fact(kind=EXPIRED, subject="memory", at_ms=self.clock.now_ms(), body=body)
        await self.database.write(lambda transaction: transaction.record(fact))
