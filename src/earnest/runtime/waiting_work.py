"""Work that waits in the books, done several pieces at a time, each by whoever has its lease.

Whoever works at a piece has a lease on it and renews it. A holder that dies or is stopped says nothing more: after
`LEASE_MS` another begins the piece anew, and what is written at its end is written once.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.leases import (
    RENEW_MS,
    give_lease,
    leave_leases,
    renew_leases,
    take_lease,
    take_leases,
)
from earnest.effects.ground.storage.news import within
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import Members
from earnest.foundation.errors import EarnestError
from earnest.runtime.desk import Act, Desk, StoryContext

WORKERS: Final = 4
LOOK_AGAIN_MS: Final = 5_000
_WORLD: Final = SystemClock()
"""Whatever time the platform is at, leases and looks go by the world's."""
_LOG: Final = logging.getLogger("earnest.work")


class WaitingWork(ABC):
    """Work of one kind, for a process. What waits stands in the books; a fact of `kinds` hints that there is some.

    `holder` is a name that no other process can have at the same time: it takes up what it was at before it died.
    """

    def __init__(self, desk: Desk, *kinds: str, holder: str = "") -> None:
        self._desk = desk
        self._kinds = kinds
        self._holder = holder or desk.chance.new_id(desk.now_ms())
        self._hint = asyncio.Event()
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._taken: set[str] = set()
        """What is not begun yet: whether it will stand in the books is not known."""
        self._ending: set[str] = set()
        """Of what is under way that of which only the result is still to be written: it takes up no room."""
        self._is_leaving = False

    @property
    def under_way(self) -> int:
        """How many pieces are being worked at."""
        return len(self._under_way)

    async def run(self) -> None:
        """Do what waits, until `leave` has been called; cancelled, it gives what it was at to others."""
        renewing = asyncio.create_task(self._renew())
        try:
            await self._give_all()
            self._desk.takers.update(dict.fromkeys(self._kinds, self))
            with self._desk.database.news.heard(*self._kinds) as self._hint:
                while not self._is_leaving:
                    self._hint.clear()
                    await self._take()
                    await within(self._hint, _WORLD, LOOK_AGAIN_MS)
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        finally:
            for kind in self._kinds:
                self._desk.takers.pop(kind, None)
            await self._end(renewing)

    def take(self, transaction: Transaction, key: str, now_ms: int) -> bool:
        """See `Taker`. Work that is left here is taken with it: nobody looks for it, and no lease is a commit more."""
        if key not in self._taken:
            if self._is_leaving or key in self._under_way or self._room <= 0:
                return False
            self._taken.add(key)
        take_lease(transaction, self._holder, key, now_ms)
        return True

    def begin(self, key: str) -> None:
        """See `Taker`."""
        self.drop(key)
        if self in self._desk.takers.values():
            self._begin(key)

    def drop(self, key: str) -> None:
        """See `Taker`. A lease that was written all the same runs out."""
        self._taken.discard(key)

    def leave(self) -> None:
        """Begin nothing more: `run` ends with what is under way."""
        self._is_leaving = True
        self._hint.set()

    async def drain(self) -> None:
        """Do everything that waits now."""
        while await self._take() or self._under_way:
            await asyncio.gather(*self._under_way.values())

    @abstractmethod
    def _waiting(self, reader: BooksReader, now_ms: int, limit: int) -> Sequence[str]:
        """The ids of what waits and is `FREE`, the oldest first."""

    @abstractmethod
    async def _do(self, key: str) -> tuple[Act, Ahead]:
        """One piece, but for what is written at its end, with what that will look for.

        It is written once, whoever else comes to it. What is raised here is told, and tried again when the books are
        next looked at.
        """

    @property
    def _room(self) -> int:
        return WORKERS - len(self._under_way) - len(self._taken) + len(self._ending)

    async def _take(self) -> int:
        """Begin what can be begun; how much."""
        room, now_ms = self._room, self._desk.now_ms()
        if room <= 0:
            return 0
        database = self._desk.database

        def free(reader: BooksReader) -> list[str]:
            waiting = [] if self._is_leaving else self._waiting(reader, now_ms, room)
            return [key for key in waiting if key not in self._under_way]

        if not await database.ask(free):
            return 0
        # Looked for again in the turn: what was free a moment ago may have been done, and its lease given back.
        taken = await database.write(lambda turn: take_leases(turn, self._holder, free(turn), now_ms))
        for key in taken:
            self._begin(key)
        return len(taken)

    def _begin(self, key: str) -> None:
        task = asyncio.get_running_loop().create_task(self._work(key))
        self._under_way[key] = task
        task.add_done_callback(partial(self._done, key))

    async def _work(self, key: str) -> None:
        """The lease goes back with what is written, or with the word why nothing was."""
        try:
            act, ahead = await self._do(key)
            self._ending.add(key)

            def written(entry: StoryContext) -> Members:
                told = act(entry)
                give_lease(entry.transaction, self._holder, key)
                return told

            await self._desk.tick(written, ahead)
        except Exception:
            with suppress(EarnestError):  # it runs out by itself
                await self._desk.database.write(lambda transaction: give_lease(transaction, self._holder, key))
            raise

    def _done(self, key: str, task: asyncio.Task[None]) -> None:
        self._under_way.pop(key, None)
        self._ending.discard(key)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("%s is done later: %s", key, error)
            return  # and not at once, for ever
        self._hint.set()

    async def _renew(self) -> None:
        while True:
            await _WORLD.sleep_ms(RENEW_MS)
            if not (held := self._under_way.copy()):
                continue
            with suppress(EarnestError):  # the next time, or it runs out
                # No others: one whose commit was not answered may stand, with nobody at the work, and has to run out.
                renewing = partial(renew_leases, holder=self._holder, held=held, now_ms=self._desk.now_ms())
                renewed = await self._desk.database.write(renewing)
                if renewed < sum(not task.done() for task in held.values()):
                    _LOG.warning("leases have run out: others begin the same work anew")

    async def _end(self, renewing: "asyncio.Task[None]") -> None:
        """Give back all that is not done."""
        tasks = [renewing, *self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        with suppress(EarnestError):  # they run out by themselves
            await self._give_all()

    async def _give_all(self) -> None:
        now_ms = self._desk.now_ms()
        await self._desk.database.write(lambda transaction: leave_leases(transaction, self._holder, now_ms))
