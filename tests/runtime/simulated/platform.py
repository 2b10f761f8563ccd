"""What runs on a simulated host: what servers and workers share, joined as `app.server` does."""

import asyncio
import zlib
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from earnest.app.server import TIMERS, elected, kept_up
from earnest.audit.following import HeardBus
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.bus.wire import HeardEnvelope
from earnest.effects.ground.clock import SeededChance
from earnest.effects.ground.storage.database import Database, GroupWriter
from earnest.effects.ground.storage.driver import ServerFault
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.postgresql_watch import CERTAIN_NS
from earnest.effects.ground.storage.schema import BOOKS
from earnest.effects.ground.storage.transaction import Transaction
from earnest.engine.facts import FINISHED, message_fact
from earnest.engine.messages import GroupStarted, Role
from earnest.foundation.errors import Unavailable
from earnest.foundation.facts import Fact
from earnest.journal.heads import Head
from earnest.journal.service import Sealer
from earnest.runtime.bus_relay import BusRelay
from earnest.runtime.desk import Desk
from earnest.runtime.market.clocks import TIMETABLE
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.market import Market
from earnest.runtime.timers import Timers

from .server import SimulatedEngine, SimulatedServer, SimulatedWatch, SimulatedWriting
from .stream import SimulatedStream, SimulatedStreamReader, SimulatedStreamWriter
from .world import Host, SimulatedQueue, World, rest_ms

OFFICES = ("sealer", TIMERS)
MESSAGES_OF_A_RUN = 8
NOTE = "test.note"


class Shared:
    """What outlives processes: the server, the stream, folders, and what was acknowledged to whom."""

    def __init__(self, world: World, server: SimulatedServer, stream: SimulatedStream, market: Market) -> None:
        self.world, self.server, self.stream, self.market = world, server, stream, market
        self.acknowledged: dict[int, str] = {}
        self.heads: dict[int, bytes] = {}
        self.ended: set[str] = set()
        """Runs that were told to be finished."""
        self.heard: list[tuple[int, str]] = []
        self.dropped = 0

    def see_head(self, head: Head) -> None:
        if self.heads.setdefault(head.size, head.root) != head.root:
            self.world.wrong(f"two heads of {head.size} facts")


class PlatformHost(Host):
    """A host with a process of the platform. `number` counts the lives of the process on one machine."""

    def __init__(self, shared: Shared, name: str, folder: Path, number: int) -> None:
        super().__init__(shared.world, f"{name}{number}")
        self.shared, self.server = shared, shared.server
        self.machine, self.folder, self.number = name, folder, number
        self.calls = SimulatedQueue.__new__(SimulatedQueue)
        self.database: Database | None = None
        self.at_timers = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self.world.hosts.append(self)
        self.loop.create_task(self._main())

    def office_taken(self, key: int) -> None:
        """An office came here: whoever had it must not believe so still, when they run or wake.

        But for the moment after a server was killed, in which who is cut off cannot know it.
        """
        if self.world.now_ms - self.server.killed_ms < CERTAIN_NS // 1_000_000:
            return
        for other in self.world.hosts:
            if isinstance(other, PlatformHost) and other is not self and not other.is_over and other.database:
                held = other.database._watch._held  # type: ignore[attr-defined]
                for office in held:
                    if zlib.crc32(office.encode()) & 0x7FFF_FFFF == key and other.database.leads(office):
                        self.world.wrong(f"{self.name} and {other.name} both hold the office of {office}")

    def does(self, office: str) -> bool:
        """Whether it does what the office is for."""
        if office == TIMERS:
            return self.at_timers > 0
        return self.database is not None and self.database.leads(office)

    async def _time(self, timers: Timers) -> None:
        self.at_timers += 1
        try:
            await timers.run(self.clock)
        finally:
            self.at_timers -= 1

    async def _main(self) -> None:
        while True:
            try:
                return self._begin()
            except ServerFault:  # a service manager begins it again
                await rest_ms(1_000)

    def _begin(self) -> None:
        shared, clock, news = self.shared, self.clock, News()
        chance = SeededChance(self.world.chance.randrange(2**40))
        engine: Any = SimulatedEngine(self.server, self)
        writing: Any = SimulatedWriting(self.server, self)
        watch = SimulatedWatch(self, news)
        writer = GroupWriter(writing, BOOKS, clock, news)
        self.calls = writer._calls  # type: ignore[assignment]
        self.database = database = Database(engine, BOOKS, writer, watch=watch, held=ExitStack())
        desk = Desk(database, clock, chance)
        market = replace(shared.market, desk=desk)
        self.sealer = Sealer(database, clock, shared.see_head, leads=partial(database.leads, "sealer"))
        self.sealer.start()
        self.judging = Judging(market)
        timers = Timers(desk, market.terms, TIMETABLE, lambda told: self.world.say(f"{self.name}: {told}"))
        self.bus = Bus()
        self.relay = BusRelay(
            SimulatedStreamWriter(shared.stream, self), books=database, folder=self.folder, clock=clock
        )
        self.bus.tap("relay", self.relay.see)
        self._keep("sealer", self.sealer._task)
        self._keep("judging", kept_up("judging", self.judging.run, clock))
        self._keep(
            "timers",
            kept_up("timers", partial(elected, TIMERS, "timers", partial(self._time, timers), database, clock), clock),
        )
        self._keep("relay", self.relay.run())
        self._keep("notes", self._notes(database))
        self._keep("run", self._run(database))

    def _keep(self, name: str, work: "asyncio.Task[Any] | Coroutine[Any, Any, Any] | None") -> None:
        assert work is not None
        task = work if isinstance(work, asyncio.Task) else asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)

        def look(ended: "asyncio.Task[Any]") -> None:
            if not self.is_over and not ended.cancelled() and (error := ended.exception()) is not None:
                self.world.wrong(f"{self.name}: {name} has ended with {error!r}")

        task.add_done_callback(look)

    async def _notes(self, database: Database) -> None:
        """Somebody who writes, and remembers what was acknowledged."""
        for number in range(1_000_000):
            subject = f"{self.name}-{number}"
            with suppress(Unavailable):
                seq = await database.write(partial(_noted, subject))
                self.shared.acknowledged[seq] = subject
            await rest_ms(self.world.chance.choice((50, 1_000, 3_000)))

    async def _run(self, database: Database) -> None:
        """A run of this machine, which a later process goes on with: it is told anew, by the same ids."""
        run_id = f"run_{self.machine}"
        for number in range(MESSAGES_OF_A_RUN):
            await rest_ms(self.world.chance.choice((0, 20, 1_000)))
            said = Envelope(
                id=f"{run_id}/{number}",
                run_id=run_id,
                sender=Role.DISPATCHER,
                causation_id=None,
                at_ms=self.clock.now_ms(),
                payload=GroupStarted(round=1, sequence=number, subtask_ids=("a",)),
            )
            self.bus.publish(said)
            await self._recorded(database, message_fact(said), said.id)
        await self._recorded(database, Fact(kind=FINISHED, subject=run_id, at_ms=0, body={}), "")
        self.shared.ended.add(run_id)

    async def _recorded(self, database: Database, fact: Fact, message_id: str) -> None:
        """Once, however often it is tried."""

        def write(transaction: Transaction) -> None:
            known = transaction.facts(kind=fact.kind, subject=fact.subject)
            if not any(one.body.get("id", "") == message_id for one in known):
                transaction.record(fact)

        while True:
            try:
                return await database.write(write)
            except Unavailable:
                await rest_ms(500)


def _noted(subject: str, transaction: Transaction) -> int:
    return transaction.record(Fact(kind=NOTE, subject=subject, at_ms=0, body={}))


class ObserverHost(Host):
    """A host with an auditor, which reads the stream and keeps what it read."""

    def __init__(self, shared: Shared, number: int) -> None:
        super().__init__(shared.world, f"observer{number}")
        self.shared = shared
        self.world.hosts.append(self)
        self.loop.create_task(self._follow())

    async def _follow(self) -> None:
        bus = HeardBus()
        before = self.shared.dropped

        def hear(one: Envelope) -> None:
            assert isinstance(one, HeardEnvelope)
            self.shared.heard.append((one.place, one.id))
            self.shared.dropped = before + bus.dropped

        bus.tap("auditor", hear)
        reader = SimulatedStreamReader(self.shared.stream, self)
        await bus.follow(reader, self.clock, *(self.shared.heard[-1] if self.shared.heard else (0, "")))
