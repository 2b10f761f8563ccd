"""The story of forgetting by age, in the background and after each run."""

from dataclasses import dataclass
from typing import Final

from earnest.effects.clock import Clock
from earnest.effects.storage.database import Database
from earnest.foundation.facts import Fact
from earnest.memory.dreamer import Dreamer
from earnest.memory.megram import Forgotten

FORGOTTEN: Final = "memory.forgotten"
"""Somebody asked for it. The subject is the Megram's id."""
EXPIRED: Final = "memory.expired"
"""Its attention had faded. Not read again: whatever is remembered anew expires anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """Every deletion is a fact. Records `memory.expired`."""

    dreamer: Dreamer
    database: Database
    clock: Clock

    async def expire(self) -> tuple[Forgotten, ...]:
        """Forget what has faded by now."""
        gone = await self.dreamer.forget()
        if gone:
            body = {"megram_ids": [one.id for one in gone]}
            fact = Fact(kind=EXPIRED, subject="memory", at_ms=self.clock.now_ms(), body=body)
            await self.database.write(lambda transaction: transaction.record(fact))
        return gone
