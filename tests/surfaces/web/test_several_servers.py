"""Two servers and a worker over one PostgreSQL, each restarted in turn, gently and by force, while agents work."""

import json
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

import postgresql
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.journal.verify import verify_journal
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.invariants import broken
from earnest.testing.served import GENEROUS, PROGRAM, RefusedByPlatform, ServedPlatform

from .jobs import RIGHT, job_body
from .test_serve_faults import environment_in

PAIRS = 3
SETTINGS = f"{GENEROUS}drain_s = 2\n"
CLIENTS_WAIT_S = 0.05
LAST_S = 90


@dataclass
class Member:
    """A process of the platform that can be ended and begun again; a worker has no port."""

    words: tuple[str, ...]
    home: Path
    environment: dict[str, str]
    port: int = 0
    process: "subprocess.Popen[str] | None" = None
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        command = [*PROGRAM, *self.words, "--json", "--home", str(self.home)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it did not begin"
        self.told = json.loads(line)

    def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=10) as answer:
                return bool(answer.status == 200)
        except (OSError, HTTPException):
            return False


@dataclass
class Balancer:
    """As a proxy does: sends each request to the next server that says it is ready, and a refused one to another."""

    servers: list[Member]
    stops: threading.Event
    ready: tuple[Member, ...] = ()
    turn: int = 0
    cut: list[str] = field(default_factory=list)

    def watch(self) -> None:
        while not self.stops.wait(0.1):
            self.ready = tuple(server for server in self.servers if server.is_ready())

    def ask(self, method: str, path: str, body: object = None, *, key: str, once: str = "") -> dict[str, Any]:
        while True:
            self.turn += 1
            among = self.ready or tuple(self.servers)
            server = among[self.turn % len(among)]
            try:
                platform = ServedPlatform(server.url, server.home, server.process, "")  # type: ignore[arg-type]
                return platform.ask(method, path, body, key=key, idempotency_key=once)
            except RefusedByPlatform as refused:
                if refused.status != 503:
                    raise
            except (OSError, HTTPException) as error:
                if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                    self.cut.append(f"{method} {path}: {error!r}")
            threading.Event().wait(CLIENTS_WAIT_S)


@dataclass
class Pair:
    """A buyer and a seller, job after job. What was acknowledged is kept."""

    balancer: Balancer
    name: str
    buyer: str
    seller: str
    jobs: dict[str, str] = field(default_factory=dict)
    claims: list[str] = field(default_factory=list)
    failed: list[BaseException] = field(default_factory=list)

    def work(self, stops: threading.Event) -> None:
        try:
            while not stops.is_set():
                self.one(f"{self.name}-{len(self.jobs)}")
        except BaseException as error:
            self.failed.append(error)

    def one(self, name: str) -> None:
        ask = self.balancer.ask
        ask("GET", "/agents/me/home", key=self.seller)
        body = job_body(title=name, amount_micro=1_000_000)
        job = ask("POST", "/jobs", body, key=self.buyer, once=name)
        self.jobs[name] = job["job_id"]
        claim = ask("POST", f"/jobs/{job['job_id']}/claim", key=self.seller, once=f"{name}-claim")["claim_id"]
        ask("POST", f"/claims/{claim}/evidence", RIGHT, key=self.seller, once=f"{name}-work")
        self.claims.append(claim)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def members(folder: Path, address: str) -> Iterator[tuple[Member, Member, Member]]:
    environment = {**environment_in(folder), "EARNEST_DATABASE": address}
    home, aside = folder / "home", folder / "worker"
    for place in (home, aside):
        place.mkdir()
        (place / "settings.toml").write_text(SETTINGS)
    ports = [free_port(), free_port()]
    first = Member(("serve", "--no-work", "--port", str(ports[0])), home, environment, ports[0])
    second = Member(("serve", "--port", str(ports[1])), home, environment, ports[1])
    worker = Member(("worker",), aside, environment)
    try:
        first.begin()
        (aside / "artifacts").symlink_to(home / "artifacts")
        second.begin()
        worker.begin()
        yield first, second, worker
    finally:
        for member in (first, second, worker):
            if member.process is not None and member.process.poll() is None:
                member.end(signal.SIGKILL)


@contextmanager
def loaded(pairs: list[Pair], balancer: Balancer) -> Iterator[None]:
    threads = [threading.Thread(target=balancer.watch)]
    threads += [threading.Thread(target=pair.work, args=(balancer.stops,)) for pair in pairs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        balancer.stops.set()
        for thread in threads:
            thread.join()


def await_more(pairs: list[Pair], count: int = 3) -> None:
    """Until each pair has handed in so much more."""
    aims = [len(pair.claims) + count for pair in pairs]
    for _ in range(LAST_S * 10):
        if all(len(pair.claims) >= aim or pair.failed for pair, aim in zip(pairs, aims, strict=True)):
            return
        threading.Event().wait(0.1)
    raise AssertionError(f"nothing goes on: {[len(pair.claims) for pair in pairs]}")


def states(reader: BooksReader) -> Counter[str]:
    return Counter(dict(reader.execute("SELECT state, count(*) FROM claims GROUP BY state").fetchall()))


def verdicts(reader: BooksReader) -> Counter[str]:
    return Counter(
        fact.subject for fact in reader.facts(kind="submission.changed") if "verdict" in str(fact.body["set"])
    )


@pytest.mark.slow  # two servers and a worker, each begun three times
@pytest.mark.timeout(600)
def test_a_rolling_restart_loses_no_request_and_a_kill_no_acknowledged_write(tmp_path: Path) -> None:
    with ExitStack() as stack:
        address = stack.enter_context(postgresql.database(stack.enter_context(postgresql.server())))
        first, second, worker = stack.enter_context(members(tmp_path, address))
        platform = ServedPlatform(first.url, first.home, first.process, first.told["setup_url"])  # type: ignore[arg-type]
        platform.become_operator()
        balancer = Balancer([first, second], threading.Event())
        buyers = [platform.agent(f"buyer{n}", 10**9)["live"] for n in range(PAIRS)]
        sellers = [platform.agent(f"seller{n}")["live"] for n in range(PAIRS)]
        pairs = [Pair(balancer, f"p{n}", buyers[n], sellers[n]) for n in range(PAIRS)]
        with loaded(pairs, balancer):
            await_more(pairs)
            for member in (first, second, worker):
                assert member.end(signal.SIGTERM) == 0
                member.begin()
                await_more(pairs)
            cut = list(balancer.cut)
            for member in (first, second, worker):
                member.end(signal.SIGKILL)
                await_more(pairs)
                member.begin()
                await_more(pairs)
        assert [pair.failed for pair in pairs] == [[] for _ in pairs]
        assert cut == [], "a restart that was asked for cuts nobody off"
        pool = stack.enter_context(closing(ReadPool.open_reader(ServerBooks(address, tmp_path / "reading"))))
        for _ in range(LAST_S * 4):
            if not pool.read_sync(states)["submitted"]:
                break
            threading.Event().wait(0.25)
        handed_in = [claim for pair in pairs for claim in pair.claims]
        found = pool.read_sync(states)
        assert found["submitted"] == 0, found
        judged = pool.read_sync(verdicts)
        assert len(judged) == len(handed_in)
        assert set(judged.values()) == {1}, "each submission is judged once"
        kept = {job for (job,) in pool.read_sync(lambda reader: reader.execute("SELECT id FROM jobs").fetchall())}
        assert {job for pair in pairs for job in pair.jobs.values()} <= kept
        for member in (first, second, worker):
            assert member.end(signal.SIGTERM) == 0
        assert pool.read_sync(lambda reader: list(broken(reader))) == []
        assert pool.read_sync(lambda reader: verify_journal(reader, [])).intact
        assert pool.read_sync(lambda reader: recompute(reader, SystemClock())).differences == ()
        leases = pool.read_sync(lambda reader: reader.execute("SELECT count(*) FROM leases").fetchone())
        assert leases == (0,), "whoever leaves gives its leases back"
