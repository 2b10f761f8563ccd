"""A grown platform under load, each round with a fault: `python -m surfaces.web.cluster_faults --help`.

Two servers and a worker, PostgreSQL and NATS are killed, stopped, cut off, slowed, or have their clocks set, and
PostgreSQL's disk is full where this program may mount one. After each round the platform works on, and all that must
hold does.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.foundation.errors import Unavailable
from earnest.journal.verify import verify_journal
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.invariants import broken
from earnest.testing import served
from earnest.testing.served import ServedPlatform
from nats_server import NatsServer, Wire, nats_server
from postgresql import OwnServer, database, own_server

from .cluster import LAST_S, Balancer, Member, Pair, await_more, loaded, members, verdicts

PAIRS = 2
CLOCKED = (sys.executable, str(Path(__file__).with_name("clocked_server.py")))
ANSWER_S = 15
RECOMPUTED = 5
DISK_MIB = 1_024 if os.geteuid() == 0 else 0
LEFT_BYTES_MAX = 1024 * 1024


class Network:
    """Wires, in an event loop of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def do(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

    def soon(self, what: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(what)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@dataclass
class Cluster:
    """What faults come to."""

    folder: Path
    address: str
    server: OwnServer
    bus: NatsServer
    network: Network
    wires: list[Wire]
    members: tuple[Member, ...]
    pairs: list[Pair] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)

    def pause(self, chance: random.Random, least_s: float, most_s: float) -> None:
        threading.Event().wait(chance.uniform(least_s, most_s))

    def reading(self, look: Callable[[BooksReader], Any]) -> Any:
        """Of the server itself, once it answers."""
        end_s = time.monotonic() + LAST_S
        while True:
            try:
                with closing(ReadPool.open_reader(ServerBooks(self.address, self.folder / "reading"))) as pool:
                    return pool.read_sync(look)
            except Unavailable:
                assert time.monotonic() < end_s, "the server does not answer"
                threading.Event().wait(0.2)

    def round(self, seed: int, number: int, fault: str | None = None) -> None:
        """A fault, and what must hold after it. Raises `AssertionError`."""
        chance = random.Random(f"cluster {seed} {number}")
        name = fault or chance.choice(list(FAULTS))
        told = f"seed {seed}, round {number}: {name}"
        try:
            FAULTS[name](self, chance)
            self.faults[name] += 1
            await_more(self.pairs, 1)
            failed = [repr(error) for pair in self.pairs for error in pair.failed]
            assert not failed, failed
            self.await_verdicts()
            self.check(recomputes=number % RECOMPUTED == 0)
        except AssertionError as error:
            raise AssertionError(f"{told}: {error}") from error

    def await_verdicts(self) -> None:
        """What was handed in so far is judged, each once."""
        claims = {claim for pair in self.pairs for claim in pair.claims}
        sql = "SELECT id FROM claims WHERE state = 'submitted' AND verdict = ''"
        left = claims
        for _ in range(LAST_S * 4):
            left = claims & {key for (key,) in self.reading(lambda reader: reader.execute(sql).fetchall())}
            if not left:
                return
            threading.Event().wait(0.25)
        raise AssertionError(f"never judged: {sorted(left)}")

    def check(self, *, recomputes: bool) -> None:
        """What holds at every moment."""
        acknowledged = {job for pair in self.pairs for job in tuple(pair.jobs.values())}
        kept = {key for (key,) in self.reading(lambda reader: reader.execute("SELECT id FROM jobs").fetchall())}
        assert acknowledged <= kept, f"acknowledged and lost: {acknowledged - kept}"
        twice = {key: times for key, times in self.reading(verdicts).items() if times > 1}
        assert not twice, f"judged twice: {twice}"
        assert self.reading(lambda reader: list(broken(reader))) == []
        report = self.reading(lambda reader: verify_journal(reader, []))
        assert report.intact, report.findings
        if recomputes:
            assert self.reading(lambda reader: recompute(reader, SystemClock())).differences == ()


def _kill(cluster: Cluster, chance: random.Random) -> None:
    member = chance.choice(cluster.members)
    member.end(signal.SIGKILL)
    cluster.pause(chance, 0, 3)
    member.begin()


def _stop(cluster: Cluster, chance: random.Random) -> None:
    """Longer than a lease, at times."""
    member = chance.choice(cluster.members)
    assert member.process is not None
    member.process.send_signal(signal.SIGSTOP)
    cluster.pause(chance, 0.5, 13)
    member.process.send_signal(signal.SIGCONT)


def _cut(cluster: Cluster, chance: random.Random) -> None:
    """Nothing passes, and nobody is told."""
    wire = chance.choice(cluster.wires)
    cluster.network.soon(wire.cut)
    cluster.pause(chance, 0.5, 12)
    cluster.network.soon(wire.mend)


def _reset(cluster: Cluster, chance: random.Random) -> None:
    cluster.network.do(chance.choice(cluster.wires).reset())


def _kill_postgresql(cluster: Cluster, chance: random.Random) -> None:
    cluster.server.kill()
    cluster.pause(chance, 0, 3)
    cluster.server.begin()


def _end_sessions(cluster: Cluster, _: random.Random) -> None:
    with psycopg.connect(cluster.address, autocommit=True) as asked:
        asked.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )


def _kill_nats(cluster: Cluster, chance: random.Random) -> None:
    cluster.bus.kill()
    cluster.pause(chance, 0, 3)
    cluster.bus.start()


def _set_clock(cluster: Cluster, chance: random.Random) -> None:
    number = chance.randrange(len(cluster.members))
    clock = cluster.folder / f"clock{number}"
    clock.write_text(str(chance.choice((-40_000, -3_000, 3_000, 40_000))))
    cluster.pause(chance, 1, 8)
    if chance.random() < 0.5:  # and whoever is at work there dies before it is put right
        cluster.members[number].end(signal.SIGKILL)
        clock.unlink()
        cluster.members[number].begin()
    clock.unlink(missing_ok=True)


def _slow_disk(cluster: Cluster, chance: random.Random) -> None:
    """The server stands still more often than it works."""
    for _ in range(chance.randrange(5, 15)):
        cluster.server.send(signal.SIGSTOP)
        cluster.pause(chance, 0.1, 0.6)
        cluster.server.send(signal.SIGCONT)
        cluster.pause(chance, 0, 0.2)


def _full_disk(cluster: Cluster, chance: random.Random) -> None:
    """Until a client was refused, and longer. A table finds no place, or PostgreSQL's log, and then PostgreSQL ends."""
    balancer, server = cluster.pairs[0].balancer, cluster.server
    told = balancer.refused["maintenance"]
    with server.full(chance.choice((0, 0, chance.randrange(LEFT_BYTES_MAX)))):
        end_s = time.monotonic() + 3 * LAST_S  # what is written first goes where there is place in a table
        while balancer.refused["maintenance"] == told:
            assert time.monotonic() < end_s, "nobody is told of a full disk"
            cluster.pause(chance, 0.1, 0.1)
        cluster.pause(chance, 0, 8)
    server.begin()


FAULTS: Mapping[str, Callable[[Cluster, random.Random], None]] = {
    "kill": _kill,
    "stop": _stop,
    "cut": _cut,
    "reset": _reset,
    "kill PostgreSQL": _kill_postgresql,
    "end sessions": _end_sessions,
    "kill NATS": _kill_nats,
    "set a clock": _set_clock,
    "slow disk": _slow_disk,
    **({"full disk": _full_disk} if DISK_MIB else {}),
}


def _close(network: Network, wire: Wire) -> None:
    network.do(wire.close())


@contextmanager
def under_load(folder: Path) -> Iterator[Cluster]:
    """A cluster that works until the block ends. Whoever leaves then gives back what it holds."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(served, "ANSWER_S", ANSWER_S))
        server = stack.enter_context(own_server(DISK_MIB))
        address = stack.enter_context(database(server.address))
        bus = stack.enter_context(nats_server(folder))
        network = stack.enter_context(closing(Network()))
        wires = [Wire(server.socket) for _ in range(3)]
        ports = [network.do(wire.open()) for wire in wires]
        for wire in wires:
            stack.callback(_close, network, wire)
        name = address.partition("?")[0].rpartition("/")[2]
        addresses = [f"postgresql://postgres@127.0.0.1:{port}/{name}?sslmode=disable" for port in ports]
        told = {"EARNEST_BUS": bus.address("engine")}
        everyone = stack.enter_context(members(folder, *addresses, program=CLOCKED, **told))
        cluster = Cluster(folder, address, server, bus, network, wires, everyone)
        first, second, _ = everyone
        platform = ServedPlatform(first.url, first.home, first.process, first.told["setup_url"])  # type: ignore[arg-type]
        platform.become_operator()
        balancer = Balancer([first, second], threading.Event())
        for number in range(PAIRS):
            buyer, seller = platform.agent(f"buyer{number}", 10**10), platform.agent(f"seller{number}")
            cluster.pairs.append(Pair(balancer, f"p{number}", buyer["live"], seller["live"]))
        with loaded(cluster.pairs, balancer):
            await_more(cluster.pairs, 1)
            yield cluster
        cluster.await_verdicts()
        cluster.check(recomputes=True)


def play(seed: int, rounds: int, first: int = 0, fault: str | None = None) -> Counter[str]:
    """Rounds of a seed. Raises `AssertionError`, with the seed and the round."""
    with tempfile.TemporaryDirectory(prefix="earnest-cluster-") as folder, under_load(Path(folder)) as cluster:
        for number in range(first, first + rounds):
            cluster.round(seed, number, fault)
            print(f"seed {seed}, round {number}: {dict(cluster.faults)}", file=sys.stderr, flush=True)
        return cluster.faults


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m surfaces.web.cluster_faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=1, help="which faults they are")
    parser.add_argument("--fault", choices=FAULTS, help="this one in each round")
    given = parser.parse_args()
    print(f"{given.rounds} rounds: {dict(play(given.seed, given.rounds, given.first, given.fault))}")


if __name__ == "__main__":
    main()
