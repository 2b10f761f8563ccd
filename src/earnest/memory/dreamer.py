"""When memory forgets by itself: every five minutes and after a run, in small batches that hold nobody up."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from earnest.effects.clock import Clock
from earnest.foundation.errors import EarnestError
from earnest.memory.megram import Forgotten

PERIOD_MS: Final = 300_000
BATCH_MAX: Final = 256
"""Deletions in one transaction; writes that wait go in between."""

_log = logging.getLogger(__name__)


class Forgetful(Protocol):
    """What the dreamer needs of memory."""

    async def forget_expired(self, now_ms: int, limit: int) -> tuple[Forgotten, ...]:
        """Delete up to `limit` Megrams that have fallen below their limit."""
        ...


class Dreamer:
    """Forgetting (seed R5, Λ_gc). What it deletes is found in an index of expiry, so a pass costs what it deletes."""

    def __init__(self, memory: Forgetful, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock

    async def forget(self) -> tuple[Forgotten, ...]:
        """One pass: all that has expired by now. Raises what the store raises."""
        now_ms = self._clock.now_ms()
        forgotten: list[Forgotten] = []
        while True:
            batch = await self._memory.forget_expired(now_ms, BATCH_MAX)
            forgotten.extend(batch)
            if len(batch) < BATCH_MAX:
                return tuple(forgotten)

    async def run(self, publish: Callable[[tuple[Forgotten, ...]], Awaitable[None]]) -> None:
        """A pass every PERIOD_MS until cancelled; `publish` is told what a pass deleted, if anything."""
        while True:
            await self._clock.sleep_ms(PERIOD_MS)
            try:
                if forgotten := await self.forget():
                    await publish(forgotten)
            except EarnestError as error:  # the next pass tries again
                _log.warning("dreamer: a pass failed: %s", error)
