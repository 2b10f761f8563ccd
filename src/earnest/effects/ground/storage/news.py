"""News of facts: whoever waits for some is woken by the commit that recorded them, of this process or another."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from earnest.effects.ground.clock import Clock


@dataclass(frozen=True, slots=True, eq=False)
class _Ear:
    """Somebody who waits in an event loop for facts of these kinds; for all where there are none."""

    kinds: frozenset[str]
    event: asyncio.Event
    loop: asyncio.AbstractEventLoop


class News:
    """Told of every commit, from any thread. What is told is a hint: the books say what there is."""

    def __init__(self) -> None:
        self.ears: tuple[_Ear, ...] = ()
        """Who listens."""
        self.ours: dict[str, int] = {}
        """The newest fact of each kind that this process has recorded."""
        self._changing = threading.Lock()
        self._newest: dict[str, int] = {}
        self._newest_of_any = 0

    @contextmanager
    def heard(self, *kinds: str) -> Iterator[asyncio.Event]:
        """An event that is set by each commit that recorded one of `kinds`; of any kind where none is named.

        Whoever waits clears it, looks into the books, and waits: what comes in between sets it again.
        """
        ear = _Ear(frozenset(kinds), asyncio.Event(), asyncio.get_running_loop())
        with self._changing:
            self.ears = (*self.ears, ear)
        try:
            yield ear.event
        finally:
            with self._changing:
                self.ears = tuple(other for other in self.ears if other is not ear)

    def newest_of(self, kinds: Collection[str]) -> int:
        """No fact of these kinds that was heard of has a higher number."""
        told = [max(self.ours.get(kind, 0), self._newest.get(kind, 0)) for kind in kinds]
        return max([self._newest_of_any, *told])

    def tell(self, kinds: Collection[str] | None, newest: int) -> None:
        """Facts of these kinds, none newer than `newest`, are durable; None: of any, as some may have been missed."""
        with self._changing:
            if kinds is None:
                self._newest_of_any = max(self._newest_of_any, newest)
            for kind in kinds or ():
                self._newest[kind] = max(self._newest.get(kind, 0), newest)
        for ear in self.ears:
            if kinds is not None and ear.kinds and ear.kinds.isdisjoint(kinds):
                continue
            if not ear.event.is_set():
                with suppress(RuntimeError):  # its loop is closed
                    ear.loop.call_soon_threadsafe(ear.event.set)


async def within(event: asyncio.Event, clock: Clock, wait_ms: int) -> None:
    """Wait until it is set, or for `wait_ms`."""
    waiting = [asyncio.ensure_future(one) for one in (event.wait(), clock.sleep_ms(wait_ms))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
