"""A platform under faults, by seed: killed, stopped, or with a disk that fails at a commit, while clients write.

`EARNEST_FAULT_ROUNDS` says how many rounds (300 for all), `EARNEST_FAULT_SEED` plays one again.
"""

import os
import random
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from earnest.app import places
from earnest.effects.ground.storage.reader import ReadPool
from earnest.foundation.errors import Unavailable
from earnest.runtime.simulation.invariants import broken
from earnest.testing.served import RefusedByPlatform, ServedPlatform, served

from .jobs import job_body

ENDINGS = {"SIGKILL": {-signal.SIGKILL}, "EIO": {0, 3}, "ENOSPC": {0, 3}}
"""Exit codes: a disk that fails while the last facts are sealed is told as such, which loses nothing."""
FAULTS = ("SIGKILL", "SIGTERM", "SIGINT", "EIO", "ENOSPC")
ROUNDS = int(os.environ.get("EARNEST_FAULT_ROUNDS", "5"))
SEEDS = [int(os.environ["EARNEST_FAULT_SEED"])] if "EARNEST_FAULT_SEED" in os.environ else list(range(ROUNDS))
FAULTY = (sys.executable, str(Path(__file__).with_name("faulty_server.py")))
CUT_OFF = (RefusedByPlatform, OSError, HTTPException)
CLIENTS = 3
WRITES_MAX = 40
WRITES_AFTER = 4
START_MICRO = 1_000_000_000
PRICE_MICRO = 1_000_000


@dataclass(slots=True)
class Client:
    """Posts jobs one after the other, each with a key of its own, and keeps what it was told."""

    key: str
    name: str
    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)

    def post(self, platform: ServedPlatform, name: str) -> dict[str, Any]:
        body = job_body(title=name, amount_micro=PRICE_MICRO)
        return platform.ask("POST", "/jobs", body, key=self.key, idempotency_key=name)

    def work(self, platform: ServedPlatform, faulted: Path) -> None:
        after = 0
        for number in range(WRITES_MAX):
            after += faulted.exists()
            if after > WRITES_AFTER:
                return
            name = f"{self.name}-{number}"
            try:
                self.acknowledged[name] = self.post(platform, name)
            except CUT_OFF:
                self.unanswered.append(name)

    def check(self, platform: ServedPlatform) -> None:
        """Every write that was acknowledged is there once; every other one can be sent again, and is there once."""
        for name, told in self.acknowledged.items():
            assert self.post(platform, name) == told
        jobs = {name: self.post(platform, name)["job_id"] for name in (*self.acknowledged, *self.unanswered)}
        listed = platform.ask("GET", "/jobs?mine=true&limit=100", key=self.key)["data"]
        assert sorted(job["job_id"] for job in listed) == sorted(jobs.values())
        left = platform.ask("GET", "/agents/me/home", key=self.key)["your_account"]["balance_micro"]
        assert left == START_MICRO - len(jobs) * PRICE_MICRO


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A home with an operator and buyers, and the keys of those."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    with served(home, environment_in(home.parent)) as platform:
        platform.become_operator()
        keys = [platform.agent(f"buyer{number}", START_MICRO)["live"] for number in range(CLIENTS)]
    return home, keys


def environment_in(folder: Path) -> dict[str, str]:
    (folder / "tmp").mkdir(exist_ok=True)
    known = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    return {**known, "TMPDIR": str(folder / "tmp")}


def processes_of(folder: Path) -> Iterator[str]:
    """Whoever has our place for temporary files is a child of what we started."""
    mark = f"TMPDIR={folder / 'tmp'}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                yield (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # it has ended, or is somebody else's
            continue


def faults_of_books(home: Path) -> list[str]:
    with closing(ReadPool.open_reader(places.books(home))) as books:
        return books.read_sync(lambda reader: list(broken(reader)))


@pytest.mark.slow  # each round is two platforms
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_fails_whenever_no_acknowledged_write_is_lost_or_doubled(
    seed: int, tmp_path: Path, prepared: tuple[Path, list[str]]
) -> None:
    chance = random.Random(f"served faults {seed}")
    home = tmp_path / "home"
    shutil.copytree(prepared[0], home)
    clients = [Client(key, f"write-{number}") for number, key in enumerate(prepared[1])]
    fault = FAULTS[seed % len(FAULTS)]
    told = f"{fault} {chance.randint(1, 24)} {chance.choice((1, 5))} {chance.choice(('before', 'after'))}"
    environment, faulted = environment_in(tmp_path), tmp_path / "faulted"
    try:
        with served(home, {**environment, "FAULT": told, "FAULTED": str(faulted)}, program=FAULTY) as platform:
            threads = [threading.Thread(target=client.work, args=(platform, faulted)) for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert platform.process.returncode in ENDINGS.get(fault, {0}), told
    except Unavailable:  # the fault came before it listened
        assert not any(client.acknowledged for client in clients)
    assert faulted.exists()
    with served(home, environment) as platform:
        for client in clients:
            client.check(platform)
    assert faults_of_books(home) == [], told
    assert list(processes_of(tmp_path)) == [], told
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == [], told
