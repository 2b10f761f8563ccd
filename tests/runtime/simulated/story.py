"""One seed: hosts that work, faults between their steps, then none, and what must hold at the end."""

import asyncio
import gc
import logging
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage import database as writer
from earnest.effects.ground.storage import postgresql_watch
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.schema import BOOKS
from earnest.engine.facts import MESSAGE
from earnest.journal.heads import Head
from earnest.journal.verify import verify_journal
from earnest.runtime import bus_relay
from earnest.runtime.market import judging
from earnest.runtime.market.market import Market
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.invariants import broken

from ..market.conftest import Town, town_on, usd
from ..market.test_jobs_and_claims import claim, post, submit
from .platform import NOTE, OFFICES, ObserverHost, PlatformHost, Shared
from .server import SimulatedReading, SimulatedServer, SimulatedThreads, connect, fresh
from .stream import SimulatedStream
from .world import Host, SimulatedQueue, World, rest_ms

MACHINES = ("a", "b", "c")
OBSERVER = "observer"
FAULTS_MS = 14_000
"""How long something goes wrong."""
HEALED_MS = 90_000
"""How long everything may take to end once nothing does."""
LOOK_MS = 1_000
SUBMITTED = 3
OVERDUE = 2
FAR = (0, 0, 0, -30_000, -2_000, 700, 15_000, 3_600_000)
RECOMPUTED = 50
"""One in so many seeds is replayed from its facts."""
_TICKS = "earnest.effects.ground.clock.SystemClock.ticks_ns"


@dataclass
class Story:
    """What a seed came to."""

    seed: int
    steps: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    wrongs: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


class Stage:
    """What all seeds begin with: a market with work that waits and deadlines that come. Made once."""

    def __init__(self, folder: Path) -> None:
        self.rows = sqlite3.connect(":memory:", isolation_level=None, cached_statements=512)
        self.folder = folder
        with town_on(folder / "books.sqlite3", folder) as town:
            self.market: Market = town.market
            self.start_ms = asyncio.run(_furnished(town))
            with closing(sqlite3.connect(folder / "books.sqlite3")) as kept:
                kept.backup(self.rows)
        self.rows.execute("PRAGMA foreign_keys = ON")
        self.rows.execute("PRAGMA recursive_triggers = ON")

    def play(self, seed: int) -> Story:
        """One story, from the same beginning."""
        with fresh(self.rows), tempfile.TemporaryDirectory(dir=self.folder) as folder:
            with _simulated(seed):
                play = Play(self, seed, Path(folder))
                story = play.played()
            if seed % RECOMPUTED == 0:
                story.wrongs += play.reading(lambda reader: recompute(reader, VirtualClock(self.start_ms))).differences
            return story


async def _furnished(town: Town) -> int:
    """Jobs claimed and handed in; the time shortly before the first deadline."""
    buyer = town.somebody("buyer", usd_micro=usd(1_000))
    sellers = [town.somebody(f"seller{number}") for number in range(SUBMITTED + OVERDUE)]
    for seller in sellers[:OVERDUE]:
        claim(town, seller, await post(town, buyer))
        town.clock.jump_ms(7_000)
    sql = "SELECT min(wake_ms) FROM claims"
    deadline_ms = int(town.database.read_sync(lambda reader: reader.execute(sql).fetchone()[0]))
    town.clock.jump_ms(deadline_ms - town.clock.now_ms() - 5_000)
    for seller in sellers[OVERDUE:]:
        await submit(town, seller, claim(town, seller, await post(town, buyer)))
    return town.clock.now_ms()


class Play:
    """A seed being played."""

    def __init__(self, stage: Stage, seed: int, folder: Path) -> None:
        self.stage, self.folder = stage, folder
        self.story = Story(seed)
        self.world = world = World(seed, stage.start_ms)
        self.server = SimulatedServer(stage.rows, world)
        self.stream = SimulatedStream(world)
        world.server = self.server  # type: ignore[attr-defined]
        self.shared = Shared(world, self.server, self.stream, stage.market)
        self.lives = Counter[str]()
        self.over: list[Host] = []
        self.next_fault = 0

    def played(self) -> Story:
        world, chance = self.world, self.world.chance
        self.server.faults_of_commits = chance.choice((0, 0.01, 0.05))
        self.stream.faults_of_sends = chance.choice((0, 0.1, 0.3))
        often = chance.choice((25, 80, 250))
        for name in MACHINES[: chance.choice((2, 2, 3))]:
            self.begin(name)
        self.begin(OBSERVER)
        self.next_fault = chance.randrange(often)

        def between() -> None:
            if world.steps >= self.next_fault:
                self.next_fault = world.steps + 1 + chance.randrange(2 * often)
                self.fault()

        world.run(FAULTS_MS, between)
        self.heal()
        for _ in range(0, HEALED_MS, LOOK_MS):
            world.run(world.now_ms + LOOK_MS)
            if not self.missing():
                break
        world.wrongs += [f"in {HEALED_MS // 1000} s: {what}" for what in self.missing()]
        world.wrongs += self.found()
        for host in (*world.hosts, *self.over):
            world.wrongs += [f"{host.name}: {fault}" for fault in host.loop.faults]
            host.drain()
        self.story.steps, self.story.wrongs, self.story.told = world.steps, world.wrongs, world.told
        return self.story

    def begin(self, machine: str) -> None:
        """A new life of a machine's process."""
        self.lives[machine] += 1
        if machine == OBSERVER:
            ObserverHost(self.shared, self.lives[machine])
        else:
            PlatformHost(self.shared, machine, self.folder / machine, self.lives[machine])

    def fault(self) -> None:
        """What goes wrong now."""
        world, chance = self.world, self.world.chance
        host = chance.choice(world.hosts)
        kind = chance.choice(tuple(FAULTS))
        self.story.faults[kind] += 1
        world.say(f"{kind}: {host.name}")
        FAULTS[kind](self, host)

    def kill(self, host: Host) -> None:
        """kill -9; its service manager begins it again."""
        machine = host.name.rstrip("0123456789")
        self.world.hosts.remove(host)
        host.is_over = True
        self.over.append(host)
        self.server.forget(host)
        self.begin(machine)
        self.world.hosts[-1].stopped_until_ms = self.world.now_ms + self.world.chance.choice((0, 500, 6_000))

    def heal(self) -> None:
        """From now on nothing goes wrong."""
        self.world.say("nothing goes wrong any more")
        self.server.faults_of_commits = self.stream.faults_of_sends = 0
        self.server.down_until_ms = self.stream.away_until_ms = 0
        for host in self.world.hosts:
            host.cut_until_ms = host.set_by_ms = 0

    def reading(self, look: Callable[[BooksReader], Any]) -> Any:
        return look(BooksReader(SimulatedReading(self.server, self.world.hosts[0]), BOOKS))

    def missing(self) -> list[str]:
        """What has not ended yet; what costs more to find is looked at once nothing else is left."""
        rows, now_ms = self.stage.rows, self.world.start_ms + self.world.now_ms
        found = [f"the run of {name} goes on" for name in self.lives if self.goes_on(name)]
        due = "SELECT id FROM claims WHERE wake_ms <= ? UNION ALL SELECT id FROM jobs WHERE wake_ms <= ?"
        found += [f"{key} is due" for (key,) in rows.execute(due, (now_ms, now_ms))]
        waiting = rows.execute("SELECT id FROM claims WHERE state = 'submitted' AND verdict = ''")
        found += [f"{key} waits for a verdict" for (key,) in waiting]
        if not self.shared.heard or self.shared.heard[-1][0] != len(self.stream.kept):
            found.append("the observer is behind")
        for office in OFFICES:
            holders = [one.name for one in self.world.hosts if isinstance(one, PlatformHost) and one.does(office)]
            if len(holders) != 1:
                found.append(f"{office} is the office of {holders}")
        return found or [f"the bus lacks {one}" for one in self.untold()]

    def untold(self) -> Iterator[str]:
        """Messages of runs that the facts know and the stream does not."""
        for fact in self.reading(lambda reader: list(reader.facts(kind=MESSAGE))):
            if (name := str(fact.body["id"])) not in self.stream.ids:
                yield name

    def goes_on(self, name: str) -> bool:
        return name != OBSERVER and f"run_{name}" not in self.shared.ended

    def found(self) -> Iterator[str]:
        """What is wrong at the end."""
        facts = self.reading(lambda reader: list(reader.facts()))
        if [fact.seq for fact in facts] != list(range(1, len(facts) + 1)):
            yield "the facts have gaps"
        notes = {fact.seq: fact.subject for fact in facts if fact.kind == NOTE}
        yield from (
            f"acknowledged and lost: {seq} {name}"
            for seq, name in self.shared.acknowledged.items()
            if notes.get(seq) != name
        )
        events = Counter((f.subject, str(f.body.get("event"))) for f in facts if f.kind == "claim.changed")
        yield from (f"{one} happened {times} times" for one, times in events.items() if times > 1)
        judged = Counter(f.subject for f in facts if f.kind == "submission.changed" and "verdict" in str(f.body["set"]))
        if len(judged) != SUBMITTED or set(judged.values()) != {1}:
            yield f"verdicts were given so often: {judged}"
        expired = sum(event == "clock:grace_ended" for _, event in events)
        if expired != OVERDUE:
            yield f"{expired} of {OVERDUE} claims were overdue"
        heads = [Head(size=size, root=root) for size, root in self.shared.heads.items()]
        report = self.reading(lambda reader: verify_journal(reader, heads))
        yield from (f"journal: {one.what} {one.detail}" for one in report.findings)
        yield from self.reading(lambda reader: list(broken(reader)))
        if len(self.shared.heard) + self.shared.dropped != len(self.stream.kept):
            yield f"of {len(self.stream.kept)} messages {len(self.shared.heard)} heard, {self.shared.dropped} dropped"
        places = [place for place, _ in self.shared.heard]
        if places != sorted(set(places)):
            yield "messages were heard twice or in another order"


def _stop(play: Play, host: Host) -> None:
    host.stopped_until_ms = play.world.now_ms + play.world.chance.choice((200, 2_500, 4_000, 13_000))


def _cut(play: Play, host: Host) -> None:
    host.cut_until_ms = play.world.now_ms + play.world.chance.choice((50, 2_500, 4_000, 15_000))


def _set_clock(play: Play, host: Host) -> None:
    host.set_by_ms = play.world.chance.choice(FAR)


def _kill_server(play: Play, _: Host) -> None:
    play.server.kill(play.world.chance.choice((0, 300, 5_000)))


def _bus_away(play: Play, _: Host) -> None:
    play.stream.away_until_ms = play.world.now_ms + play.world.chance.choice((300, 5_000))


def _let_go(play: Play, _: Host) -> None:
    """The stream drops what it has kept for long, but for its last: what comes after shows how much."""
    play.stream.let_go = play.world.chance.randrange(max(1, len(play.stream.kept)))


FAULTS: Mapping[str, Callable[[Play, Host], None]] = {
    "kill": Play.kill,
    "stop": _stop,
    "cut": _cut,
    "set the clock": _set_clock,
    "kill the server": _kill_server,
    "bus away": _bus_away,
    "let go": _let_go,
}


async def _judged(market: Market, what: Any) -> Mapping[str, Any]:
    """A verdict that takes its time, in the place of a sandbox."""
    await rest_ms(World.running().chance.choice((0, 300, 3_000, 7_000)))
    return {"verdict": "verified", "criteria": [], "reason": ""}


@contextmanager
def _simulated(seed: int) -> Iterator[None]:
    """What would wait, wake or ask a server does so in the world of the seed."""
    with ExitStack() as stack:
        for where, name, value in (
            (writer, "SimpleQueue", SimulatedQueue),
            (writer, "threading", SimulatedThreads),
            (postgresql_watch, "threading", SimulatedThreads),
            (postgresql_watch, "connect", connect),
            (judging, "_verdict", _judged),
        ):
            stack.enter_context(patch.object(where, name, value))
        if seed % 2:  # the relay's room and its batches are so small that they do not suffice
            stack.enter_context(patch.multiple(bus_relay, WAITING_MAX=3, BATCH=2))
        stack.enter_context(patch(_TICKS, lambda _: World.running().now_ms * 1_000_000))
        yield


@contextmanager
def staged() -> Iterator[Stage]:
    """A stage in memory, where there is some."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="earnest-simulated-", dir=place))
    log = logging.getLogger("earnest")
    level = log.level
    log.setLevel(logging.CRITICAL)  # of faults there are thousands
    try:
        stage = Stage(folder)
        gc.freeze()  # what the program consists of is not looked through again for each seed
        yield stage
    finally:
        log.setLevel(level)
        gc.unfreeze()
        shutil.rmtree(folder)
