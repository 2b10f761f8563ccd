"""A worker: judges what waits in the books, beside the servers that take it in, on any machine with a sandbox."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from earnest.app import places
from earnest.app.market import market_of, practising
from earnest.app.platform import open_sandbox_in
from earnest.app.server import kept_up, stopped
from earnest.app.settings import Settings
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.api import SELF_TEST_VALID_MS
from earnest.foundation.errors import Refused, Unavailable
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.desk import Desk
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.market import Market
from earnest.runtime.waiting_work import WaitingWork

KINDS: Final[Mapping[str, Callable[[Market], WaitingWork]]] = {"verify": Judging, "heartbeats": HeartbeatJudging}
"""Submissions of jobs, and check-ins of heartbeats. The runs of agents and their cycles are not worked at here."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What it works at, by name, and the tasks that do."""

    works: Mapping[str, WaitingWork]
    tasks: Collection[asyncio.Task[None]]

    async def ended(self) -> None:
        """When all have ended. Raises what ended one."""
        await asyncio.gather(*self.tasks)

    def leave(self) -> None:
        """Begin nothing more, and end with what is under way."""
        for work in self.works.values():
            work.leave()


def kinds_of(text: str) -> tuple[str, ...]:
    """The kinds in a list with commas. Raises `Refused("validation")`."""
    kinds = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for kind in kinds:
        if kind not in KINDS:
            raise Refused("validation", f"a worker does not work at {kind[:80]!r}, but at {', '.join(KINDS)}")
    return kinds


@contextlib.asynccontextmanager
async def open_worker(settings: Settings, kinds: Collection[str]) -> AsyncIterator[Worker]:
    """Begin to work. At the end of the block what is under way is given to others.

    It needs the artifacts of the servers below its data directory, and their settings of checks and of the market, and
    none of their keys. Raises `Unavailable` where there is no sandbox: what it judged would be unclear.
    """
    clock, chance = SystemClock(), SystemChance()
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if places.practice(settings.home).exists():
        settings = practising(settings)
    async with contextlib.AsyncExitStack() as stack:
        database = stack.enter_context(contextlib.closing(Database.open(settings.books, clock)))
        sandbox = await open_sandbox_in(stack, settings, clock)
        tested = await sandbox.self_test(SELF_TEST_VALID_MS)
        if not tested.green:
            raise Unavailable(f"code cannot be run safely here: {tested.reason}")
        market = market_of(settings, Desk(database, clock, chance), sandbox, clock, chance)
        works = {kind: KINDS[kind](market) for kind in kinds}
        tasks = [
            asyncio.get_running_loop().create_task(kept_up(kind, work.run, clock), name=kind)
            for kind, work in works.items()
        ]
        stack.push_async_callback(stopped, tasks)
        yield Worker(works, tasks)
