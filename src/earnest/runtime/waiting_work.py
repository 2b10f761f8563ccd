"""Work that waits in the books, done several pieces at a time, and found again after a restart."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Final

from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader

WORKERS: Final = 4
LOOKED_AT_MAX: Final = 2 * WORKERS
"""Of those that wait the oldest, so that beside all that are under way there are as many again."""
LOOK_AGAIN_MS: Final = 5_000
_LOG: Final = logging.getLogger("earnest.work")


class WaitingWork(ABC):
    """Work of one kind, for a process. What waits stands in the books; a `hint` only says that there is some."""

    def __init__(self, database: Database, hint: asyncio.Event) -> None:
        self._database = database
        self._hint = hint
        self._under_way: dict[str, asyncio.Task[None]] = {}

    @property
    def under_way(self) -> int:
        """How many pieces are being worked at."""
        return len(self._under_way)

    async def run(self) -> None:
        """Do what waits, for ever; cancelled, it leaves what it was at to the next start."""
        try:
            while True:
                self._hint.clear()
                self._take()
                try:
                    async with asyncio.timeout(LOOK_AGAIN_MS / 1000):
                        await self._hint.wait()
                except TimeoutError:
                    continue
        finally:
            for task in self._under_way.values():
                task.cancel()

    async def drain(self) -> None:
        """Do everything that waits now."""
        while self._take() or self._under_way:
            await asyncio.gather(*self._under_way.values())

    @abstractmethod
    def _waiting(self, reader: BooksReader, limit: int) -> Sequence[str]:
        """The ids of what waits, the oldest first."""

    @abstractmethod
    async def _do(self, key: str) -> None:
        """One piece, to its end. What it raises is told, and tried again when the books are next looked at."""

    def _take(self) -> int:
        """Begin what can be begun; how much."""
        if len(self._under_way) == WORKERS:
            return 0
        waiting = self._database.read_sync(lambda reader: self._waiting(reader, LOOKED_AT_MAX))
        free = [key for key in waiting if key not in self._under_way]
        taken = free[: WORKERS - len(self._under_way)]
        for key in taken:
            task = asyncio.get_running_loop().create_task(self._do(key))
            self._under_way[key] = task
            task.add_done_callback(partial(self._done, key))
        return len(taken)

    def _done(self, key: str, task: asyncio.Task[None]) -> None:
        self._under_way.pop(key, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("%s is done later: %s", key, error)
            return  # and not at once, for ever
        self._hint.set()
