"""Does what a process says reach those on other machines, whatever happens to the bus between?"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import asdict
from itertools import count
from pathlib import Path

import nats
import pytest
from nats.js.api import StreamConfig

from bus_promises import BusPromises
from earnest.audit.event import LogEvent, Note
from earnest.audit.following import HeardBus
from earnest.audit.log import AuditLog
from earnest.audit.reading import read_lines
from earnest.audit.tap import Auditor
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.bus.nats import STREAM, SUBJECTS, NatsReader, NatsWriter
from earnest.effects.ground.bus.wire import HeardEnvelope
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.engine.facts import FINISHED, message_fact
from earnest.engine.messages import GroupStarted, Role
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.foundation.facts import Fact
from earnest.runtime import bus_relay
from earnest.runtime.bus_relay import BusRelay
from nats_server import NatsServer, Wire, nats_server

CLOCK = SystemClock()
WITHIN_S = 60


def message(run_id: str, number: int) -> Envelope:
    return Envelope(
        id=f"{run_id}/{number}",
        run_id=run_id,
        sender=Role.DISPATCHER,
        causation_id=f"{run_id}/{number - 1}" if number else None,
        at_ms=CLOCK.now_ms(),
        payload=GroupStarted(round=1, sequence=number, subtask_ids=("a",)),
    )


class Side:
    """A process of engines: its books, its bus, and what tells that on."""

    def __init__(self, home: Path, address: str) -> None:
        self.home, self.address = home, address
        self.bus = Bus()
        self.numbers: dict[str, Iterator[int]] = {}

    async def __aenter__(self) -> "Side":
        self._stack = AsyncExitStack()
        self.database = self._stack.enter_context(closing(Database.open(self.home / "books.sqlite3", CLOCK)))
        self.writer = NatsWriter(self.address)
        self._stack.push_async_callback(self.writer.close)
        self.relay = BusRelay(self.writer, books=self.database, folder=self.home / "bus", clock=CLOCK)
        self.running = asyncio.create_task(self.relay.run())
        self._stack.callback(self.running.cancel)
        self.bus.tap("relay", self.relay.see)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def say(self, run_id: str, many: int) -> list[str]:
        """Publish messages of a run, and record them as facts; their ids."""
        numbers = self.numbers.setdefault(run_id, count())
        said = [message(run_id, next(numbers)) for _ in range(many)]
        for one in said:
            self.bus.publish(one)
        await self.record(*map(message_fact, said))
        return [one.id for one in said]

    async def end(self, run_id: str) -> None:
        await self.record(Fact(kind=FINISHED, subject=run_id, at_ms=CLOCK.now_ms(), body={}))

    async def record(self, *facts: Fact) -> None:
        await self.database.write(lambda transaction: [transaction.record(fact) for fact in facts])

    @property
    def lost(self) -> float:
        return self.relay.gauges()["bus_lost"][1]()

    @property
    def behind(self) -> list[str]:
        return sorted(path.name for path in (self.home / "bus").iterdir())


class Follower:
    """An auditor on another machine."""

    def __init__(self, home: Path, address: str) -> None:
        self.path, self.address = home / "audit.jsonl", address
        self.bus = HeardBus()

    async def __aenter__(self) -> "Follower":
        self.auditor = Auditor(
            bus=self.bus,
            log=AuditLog.open(self.path, CLOCK.now_ms()),
            clock=CLOCK,
            encode=as_heard,
            senders={"GroupStarted": frozenset({"dispatcher"})},
            on_report=lambda _: None,
        )
        self.reader = NatsReader(self.address)
        self.following = asyncio.create_task(self.bus.follow(self.reader, CLOCK, *self.auditor.place))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.following.cancel()
        await asyncio.wait([self.following])
        await self.reader.close()
        self.auditor.close()

    def lines(self) -> list[LogEvent]:
        return [line.event for line in read_lines(self.path) if line.event is not None]

    def heard(self) -> list[str]:
        return [event.id for event in self.lines() if event.id]

    async def hears(self, ids: Sequence[str]) -> None:
        """Return when the log has just these messages, in this order, each once."""
        await until(lambda: len(self.heard()) >= len(ids))
        assert self.heard() == list(ids)
        assert not any(event.repeat for event in self.lines())


def as_heard(payload: object) -> JsonObject:
    assert isinstance(payload, dict)
    return payload


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():
            await CLOCK.sleep_ms(20)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as running:
        yield running


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    """Of the engines and of the auditor."""
    there, here = tmp_path / "engines", tmp_path / "auditor"
    there.mkdir()
    here.mkdir()
    return there, here


class TestBusThatIsToldOn(BusPromises):
    """All promises of a bus, and whatever it carried is read on the other side, in its order."""

    @pytest.fixture
    async def bus(self, server: NatsServer, tmp_path: Path) -> AsyncIterator[Bus]:
        bus, seen = Bus(), list[Envelope]()
        bus.tap("seen", seen.append)
        writer, reader = NatsWriter(server.address("engine")), NatsReader(server.address("auditor"))
        with closing(Database.open(tmp_path / "books.sqlite3", CLOCK)) as books:
            relay = BusRelay(writer, books=books, folder=tmp_path / "bus", clock=CLOCK, encode=asdict)  # type: ignore[arg-type]
            running = asyncio.create_task(relay.run())
            bus.tap("relay", relay.see)
            yield bus
            found: list[HeardEnvelope] = []
            async with asyncio.timeout(WITHIN_S):
                while len(found) < len(seen):
                    try:
                        found += await reader.read(len(found))
                    except Unavailable:
                        await CLOCK.sleep_ms(20)
            running.cancel()
            await writer.close()
            await reader.close()
        told = [as_told(one, one.payload) for one in found]
        assert told == [as_told(one, asdict(one.payload)) for one in seen]  # type: ignore[call-overload]


def as_told(one: Envelope, payload: object) -> tuple[object, ...]:
    return one.id, one.run_id, one.kind, one.sender, one.causation_id, one.at_ms, payload, one.replayed


@pytest.mark.slow
async def test_the_auditor_s_log_lacks_nothing_whatever_is_killed_under_load(
    server: NatsServer, homes: tuple[Path, Path]
) -> None:
    async with Side(homes[0], server.address("engine")) as side:
        said: list[str] = []
        for _ in range(3):
            async with Follower(homes[1], server.address("auditor")) as follower:
                said += await side.say("run_a", 700)
                await until(follower.heard)
                server.kill()
                said += await side.say("run_a", 700)
                server.start()
                said += await side.say("run_a", 700)
            # and the auditor goes away with whatever it has read so far, and comes back
        async with Follower(homes[1], server.address("auditor")) as follower:
            await follower.hears(said)
            assert follower.bus.dropped == side.lost == 0
            assert not any(event.violation for event in follower.lines()[1:])


@pytest.mark.slow
async def test_a_cut_wire_is_noticed_and_what_was_said_meanwhile_follows(
    server: NatsServer, homes: tuple[Path, Path]
) -> None:
    wires = Wire(server.port), Wire(server.port)
    ports = [await wire.open() for wire in wires]
    async with (
        Side(homes[0], server.address("engine", ports[0])) as side,
        Follower(homes[1], server.address("auditor", ports[1])) as follower,
    ):
        said = await side.say("run_a", 300)
        await follower.hears(said)
        for wire in wires:
            wire.cut()
        said += await side.say("run_a", 300)
        await until(lambda: side.writer.fault)
        for wire in wires:
            wire.mend()
        said += await side.say("run_a", 300)
        await follower.hears(said)
    for wire in wires:
        await wire.close()


@pytest.mark.slow
async def test_what_does_not_fit_is_counted_and_taken_from_the_facts(
    server: NatsServer, homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_relay, "WAITING_MAX", 100)
    server.kill()
    async with Side(homes[0], server.address("engine")) as side:
        said = await side.say("run_a", 600)
        await side.end("run_a")
        assert side.lost == 500
        assert side.behind == ["run_a"]
        server.start()
        async with Follower(homes[1], server.address("auditor")) as follower:
            await follower.hears(said)
            await until(lambda: not side.behind)
            assert {name: ask() for name, (_, ask) in side.relay.gauges().items()} == {
                "bus_away": 0,
                "bus_waiting": 0,
                "bus_lost": 500,
                "bus_behind": 0,
            }


@pytest.mark.slow
async def test_what_did_not_fit_follows_soon_though_a_look_was_made_just_before(
    server: NatsServer, homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_relay, "WAITING_MAX", 100)
    async with Side(homes[0], server.address("engine")) as side:
        await side.say("run_a", 10)
        await until(lambda: not side.writer.fault and not side.relay.gauges()["bus_waiting"][1]())
        await side.say("run_a", 600)
        await side.end("run_a")
        assert side.lost
        async with asyncio.timeout(bus_relay.LOOK_MS / 2_000):
            await until(lambda: not side.behind)


@pytest.mark.slow
async def test_what_a_killed_process_left_is_told_by_the_next_one(server: NatsServer, homes: tuple[Path, Path]) -> None:
    server.kill()
    async with Side(homes[0], server.address("engine")) as side:
        said = await side.say("run_a", 300)
        await side.end("run_a")
        waiting = await side.say("run_b", 10)
    server.start()
    async with (
        Side(homes[0], server.address("engine")) as side,
        Follower(homes[1], server.address("auditor")) as follower,
    ):
        await follower.hears(said + waiting)
        await until(lambda: side.behind == ["run_b"])  # which has no end yet, and may go on elsewhere


@pytest.mark.slow
async def test_a_process_that_ends_at_once_tells_what_was_left_behind(
    server: NatsServer, homes: tuple[Path, Path]
) -> None:
    server.kill()
    async with Side(homes[0], server.address("engine")) as side:
        said = await side.say("run_a", 30)
        await side.end("run_a")
    server.start()
    async with Side(homes[0], server.address("engine")) as side:
        await side.relay.close()
        assert side.behind == []
    async with Follower(homes[1], server.address("auditor")) as follower:
        await follower.hears(said)


@pytest.mark.slow
async def test_what_the_stream_let_go_before_the_auditor_read_it_is_counted(
    server: NatsServer, homes: tuple[Path, Path]
) -> None:
    client = await nats.connect(server.address("engine"))
    few = StreamConfig(name=STREAM, subjects=list(SUBJECTS), allow_direct=True, max_msgs=50, duplicate_window=60)
    await client.jetstream().add_stream(few)
    await client.close()
    async with Side(homes[0], server.address("engine")) as side:
        async with Follower(homes[1], server.address("auditor")) as follower:
            first = await side.say("run_a", 20)
            await follower.hears(first)
        said = await side.say("run_a", 400)
        await until(lambda: not side.relay.gauges()["bus_waiting"][1]())
        async with Follower(homes[1], server.address("auditor")) as follower:
            await follower.hears(first + said[-50:])
            assert follower.bus.dropped == 350
    assert [event.fields["count"] for event in follower.lines() if event.kind == Note.DROPPED] == [350]


@pytest.mark.slow
async def test_a_stream_that_was_made_anew_is_read_from_its_start(
    server: NatsServer, homes: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        Side(homes[0], server.address("engine")) as side,
        Follower(homes[1], server.address("auditor")) as before,
    ):
        said = await side.say("run_a", 40)
        await before.hears(said)
    server.kill()
    shutil.rmtree(server.kept)
    server.start()
    async with (
        Side(homes[0], server.address("engine")) as side,
        Follower(homes[1], server.address("auditor")) as after,
    ):
        said += await side.say("run_b", 30)
        # The folder still names run_a, which has no end: it is told again, and the auditor knows that it was.
        await until(lambda: [event.id for event in after.lines() if event.id and not event.repeat] == said)
    assert "the stream is read from its start" in caplog.text


async def test_an_engine_never_waits_for_a_bus_that_is_away(server: NatsServer, homes: tuple[Path, Path]) -> None:
    server.kill()
    async with Side(homes[0], server.address("engine")) as side:
        begun_ns = CLOCK.ticks_ns()
        for number in range(2_000):
            side.bus.publish(message("run_a", number))
        assert CLOCK.ticks_ns() - begun_ns < 1_000_000_000
