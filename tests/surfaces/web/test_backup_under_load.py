"""A backup taken while clients write: nothing that was acknowledged before it is missing, and the platform goes on."""

import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import postgresql
from earnest.testing.served import PROGRAM, ServedPlatform, served

from .jobs import job_body
from .test_serve_faults import environment_in

CLIENTS = 3
ROUNDS = int(os.environ.get("EARNEST_BACKUP_ROUNDS", "2"))
BEFORE = 5
"""Writes of each client that are acknowledged before the backup begins."""


@dataclass
class Writer:
    """Posts jobs and brings artifacts until it is told to stop; remembers what was acknowledged, in order."""

    key: str
    name: str
    done: list[str] = field(default_factory=list)
    enough: threading.Event = field(default_factory=threading.Event)

    def write(self, platform: ServedPlatform, stop: threading.Event) -> None:
        while not stop.is_set():
            name = f"{self.name}-{len(self.done)}"
            body = job_body(title=name, amount_micro=1_000)
            self.done.append(platform.ask("POST", "/jobs", body, key=self.key, idempotency_key=name)["job_id"])
            if len(self.done) == BEFORE:
                self.enough.set()


@pytest.fixture(params=["file", "server"])
def books(request: pytest.FixtureRequest) -> Iterator[tuple[dict[str, str], dict[str, str], list[str]]]:
    """What says where the books of a platform are, where those of the restored one, and how they get there."""
    if request.param == "file":
        yield {}, {}, []
        return
    with postgresql.server() as server, postgresql.database(server) as one, postgresql.database(server) as other:
        yield {"EARNEST_DATABASE": one}, {"EARNEST_DATABASE": other}, ["--to", other]


def earnest(environment: dict[str, str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *map(str, words)], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow  # two platforms, and a backup under load
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_nothing_that_was_acknowledged_before_a_backup_is_missing_and_the_restored_platform_goes_on(
    number: int, tmp_path: Path, books: tuple[dict[str, str], dict[str, str], list[str]]
) -> None:
    environment, home = {**environment_in(tmp_path), **books[0]}, tmp_path / "home"
    backup, keys, again = tmp_path / "backup", tmp_path / "keys", tmp_path / "again"
    stop = threading.Event()
    with served(home, environment) as platform:
        platform.become_operator()
        writers = [Writer(platform.agent(f"buyer{n}", 10**9)["live"], f"{number}-{n}") for n in range(CLIENTS)]
        threads = [threading.Thread(target=writer.write, args=(platform, stop)) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            for writer in writers:
                assert writer.enough.wait(60)
            acknowledged = {writer.key: list(writer.done) for writer in writers}
            made = earnest(environment, "backup", backup, "--keys", keys, "--home", home, "--json")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert made.returncode == 0, made
    environment = {**environment_in(tmp_path), **books[1], "EARNEST_HOME": str(again)}
    restored = earnest(environment, "restore", backup, "--keys", keys, "--home", again, *books[2], "--json")
    assert restored.returncode == 0, restored
    for command in (["journal", "verify"], ["recompute"]):
        found = earnest(environment, *command)
        assert found.returncode == 0, found
    with served(again, environment) as platform:
        for key, jobs in acknowledged.items():
            for job in jobs:
                assert platform.ask("GET", f"/jobs/{job}", key=key)["job_id"] == job
        later = platform.ask("POST", "/jobs", job_body(title="later", amount_micro=1_000), key=writers[0].key)
        assert later["job_id"]
    verified = earnest(environment, "journal", "verify")
    assert verified.returncode == 0, verified
