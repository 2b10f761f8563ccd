"""Limits of requests as those of several servers: each tells the others once a second what it has let in.

No request waits for it. Until a server has heard of them it lets through what the others have let through, too.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from earnest.app.server import kept_up
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.request_counts import hear_counts, tell_counts
from earnest.foundation.errors import EarnestError, Unavailable
from earnest.surfaces.web.limits import MS, Quota, RateLimits

TELL_MS: Final = 1_000
_WORLD: Final = SystemClock()
"""Whatever time the platform is at, servers go by the world's."""


@dataclass(slots=True)
class SharedLimits:
    """The limits of one of several servers."""

    limits: RateLimits
    database: Database
    server: str
    last: int = 0

    async def tell(self) -> None:
        """Tell what was let in since the last time, and hear of others. What cannot be told is kept for the next."""
        now_ms, after = _WORLD.now_ms(), self.last
        told, self.limits.untold = self.limits.untold, Counter()
        texts = _written(told)
        try:
            heard = await (
                self.database.write(lambda transaction: tell_counts(transaction, self.server, after, now_ms, texts))
                if texts
                else self.database.read(lambda reader: hear_counts(reader, self.server, after, now_ms))
            )
        except BaseException:
            self.limits.untold.update(told)
            raise
        self.last = heard.last
        for at_ms, text in heard.told:
            for name, subject, count in json.loads(text):
                self.limits.hear(name, subject, count, max(0, now_ms - at_ms))

    async def run(self) -> None:
        """Tell from time to time, until cancelled."""
        while True:
            with suppress(Unavailable):
                await self.tell()
            await _WORLD.sleep_ms(TELL_MS)


def _written(told: Counter[tuple[Quota, str]]) -> dict[int, str]:
    """By how many ms it counts."""
    counts = defaultdict[int, list[tuple[str, str, int]]](list)
    for (quota, subject), count in told.items():
        counts[quota.window_s * MS].append((quota.name, subject, count))
    return {window_ms: json.dumps(some) for window_ms, some in counts.items()}


@asynccontextmanager
async def shared(limits: RateLimits, database: Database) -> AsyncIterator[None]:
    """Within it the limits are those of all servers on these books; those in a file have one."""
    if database.is_near:
        yield
        return
    limits.shares = True
    sharing = SharedLimits(limits, database, SystemChance().new_id(_WORLD.now_ms()))
    task = asyncio.get_running_loop().create_task(kept_up("limits", sharing.run, _WORLD), name="limits")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        with suppress(EarnestError):
            await sharing.tell()
