"""Two servers and a worker over one PostgreSQL, who works with them, and a balancer between."""

import json
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from earnest.effects.ground.storage.reader import BooksReader
from earnest.testing.served import GENEROUS, PROGRAM, RefusedByPlatform, ServedPlatform

from .jobs import RIGHT, job_body
from .test_serve_faults import environment_in

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
    program: Sequence[str] = PROGRAM
    process: "subprocess.Popen[str] | None" = None
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        command = [*self.program, *self.words, "--json", "--home", str(self.home)]
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
    refused: Counter[str] = field(default_factory=Counter)

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
                self.refused[str(refused.problem.get("code"))] += 1
                if refused.status != 503 and refused.problem.get("code") != "idempotency_in_progress":
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
def members(
    folder: Path, *addresses: str, program: Sequence[str] = PROGRAM, **told: str
) -> Iterator[tuple[Member, Member, Member]]:
    """`addresses`: that of the books, or for each of the three its own. `told`: more of their environment."""
    common = {**environment_in(folder), **told}
    environments = [
        {**common, "EARNEST_DATABASE": address, "EARNEST_TEST_CLOCK": str(folder / f"clock{number}")}
        for number, address in enumerate(addresses * (3 // len(addresses)))
    ]
    home, aside = folder / "home", folder / "worker"
    for place in (home, aside):
        place.mkdir()
        (place / "settings.toml").write_text(SETTINGS)
    ports = [free_port(), free_port()]
    first = Member(("serve", "--no-work", "--port", str(ports[0])), home, environments[0], ports[0], program)
    second = Member(("serve", "--port", str(ports[1])), home, environments[1], ports[1], program)
    worker = Member(("worker",), aside, environments[2], program=program)
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
