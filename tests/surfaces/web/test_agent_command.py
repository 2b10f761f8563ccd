"""Does `earnest agent` live on a real platform, as it is made by `init`, whoever is killed at random on the way?"""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from earnest.app import places
from earnest.client.credentials import Credentials, save_credentials
from earnest.effects.ground.storage.reader import ReadPool
from earnest.runtime.simulation.invariants import broken
from earnest.testing.served import GENEROUS, PROGRAM, ServedPlatform, served

pytestmark = pytest.mark.slow

ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
DEADLINE_S = 90
KILLS = int(os.environ.get("EARNEST_FAULT_ROUNDS", "8"))
SEED = int(os.environ.get("EARNEST_FAULT_SEED", "1"))
PAUSE = threading.Event()
JOBS = 4


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        PAUSE.wait(0.1)


@dataclass
class Home:
    """A data directory with two agents, and a folder for each."""

    platform: ServedPlatform
    folder: Path
    keys: dict[str, str]

    def environment(self, **more: str) -> dict[str, str]:
        return {**ENVIRONMENT, "EARNEST_HOME": str(self.folder / "home"), "USE_LANGGRAPH": "0", **more}

    def run(self, handle: str, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        command = [*PROGRAM, "agent", *words, "--as", handle]
        place, environment = self.folder / handle, self.environment(**more)
        return subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )

    def begin(self, handle: str, *words: str, **more: str) -> "subprocess.Popen[bytes]":
        command = [*PROGRAM, "agent", "--every", "1", *words, "--as", handle]
        environment = self.environment(**more)
        with (self.folder / f"{handle}.log").open("a") as log:
            return subprocess.Popen(command, cwd=self.folder / handle, env=environment, stdout=log, stderr=log)

    def balance(self, handle: str) -> int:
        found = self.platform.ask("GET", "/wallet", key=self.keys[handle])["balances"]
        return int(next(one["balance_micro"] for one in found if one["currency"] == "AID"))

    def jobs(self) -> list[dict[str, Any]]:
        path = "/jobs?mine=true&state=all&limit=100"
        return list(self.platform.ask("GET", path, key=self.keys["pat"])["data"])

    def claims(self) -> list[dict[str, Any]]:
        return list(self.platform.ask("GET", "/claims?limit=100", key=self.keys["exe"])["data"])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with served(tmp_path / "platform", ENVIRONMENT, settings=GENEROUS) as platform:
        platform.become_operator()
        keys = {}
        for handle in ("pat", "exe"):
            given = platform.agent(handle)
            keys[handle] = given["live"]
            credentials = Credentials(handle=handle, url=platform.url, key=given["live"], id=given["id"])
            save_credentials(tmp_path / "home", credentials)
            command = [*PROGRAM, "agent", "init", str(tmp_path / handle)]
            subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, timeout=DEADLINE_S)
        yield Home(platform, tmp_path, keys)


@pytest.mark.parametrize("graph", ["0", "1"])
def test_what_init_makes_works_as_it_stands(home: Home, graph: str) -> None:
    posted = home.run("pat", "--role", "proposer", "--once", "--json", USE_LANGGRAPH=graph)
    assert posted.returncode == 0, posted.stderr
    assert json.loads(posted.stdout)["actions"][0]["kind"] == "propose_job"
    worked = home.run("exe", "--once", USE_LANGGRAPH=graph)
    assert "execute_job: handed in: verified, released" in worked.stdout, worked.stdout + worked.stderr
    assert home.balance("exe") == 102_000_000
    status = home.run("exe", "status", "--json")
    assert (status.returncode, json.loads(status.stdout)["status"]) == (0, "well")
    remembered = subprocess.run(
        [*PROGRAM, "memory", "show", "--json"],
        env=home.environment(EARNEST_HOME=str(home.folder / "home" / "agents" / "exe")),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Add up: approved, verified" in remembered.stdout


def resident_mb(process: "subprocess.Popen[bytes]") -> float:
    (line,) = (line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "VmRSS" in line)
    return int(line.split()[1]) / 1_000


def test_an_agent_that_has_worked_on_langgraph_idles_in_little_memory(home: Home) -> None:
    home.run("pat", "--role", "proposer", "--once")
    process = home.begin("exe", USE_LANGGRAPH="1")
    log = home.folder / "exe.log"
    try:
        until(lambda: "verified, released" in log.read_text() and resident_mb(process) > 60)
        until(lambda: resident_mb(process) <= 60 and log.read_text().count("idle") > 8)
        process.send_signal(signal.SIGUSR1)
        posted = home.run("pat", "--role", "proposer", "--once", USE_LANGGRAPH="0")
        assert "idle" in posted.stdout  # its backlog holds one entry
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 130
    finally:
        process.kill()
        process.wait(DEADLINE_S)
    assert log.read_text().count("execute_job") == 1


def test_a_playbook_does_a_job_through_the_engine(home: Home) -> None:
    home.run("pat", "--role", "proposer", "--once")
    (home.folder / "exe" / "sum.yaml").write_text(
        "format: earnest-playbook-v1\nintent: Add up\ntask_class: adding_up\nsubtasks:\n  - id: add\n"
        "    intent: Write the sum\n    criteria:\n      - text: it is there\n"
        "        check: {kind: files, required: [answer.json]}\n    approaches:\n      - id: write\n"
        "        steps: [{tool: write_file, args: {path: answer.json, content: '{\"sum\": 42}'}}]\n"
    )
    (home.folder / "exe" / "agent.toml").write_text(
        'categories = ["data-extraction"]\n[[skills]]\ntitle = "Add up"\nplaybook = "sum.yaml"\n'
    )
    worked = home.run("exe", "--once")
    assert "handed in: verified, released" in worked.stdout, worked.stdout + worked.stderr


def test_a_platform_that_is_down_is_waited_for(home: Home) -> None:
    home.platform.process.terminate()
    home.platform.process.wait(DEADLINE_S)
    gone = home.run("exe", "--once")
    assert (gone.returncode, "unanswered" in gone.stdout) == (3, True)
    status = home.run("exe", "status")
    assert (status.returncode, "! platform: the platform cannot be reached" in status.stdout) == (1, True)


def test_a_second_process_of_an_agent_is_refused(home: Home) -> None:
    first = home.begin("exe")
    try:
        until((home.folder / "home" / "agents" / "exe" / "resident" / "health.json").exists)
        second = home.run("exe", "--once")
        assert (second.returncode, "is in use by the process" in second.stderr) == (3, True)
    finally:
        first.kill()
        first.wait(DEADLINE_S)


def test_agents_killed_at_random_do_every_job_once(home: Home) -> None:
    chance = random.Random(SEED)
    backlog = home.folder / "pat" / "agent.toml"
    backlog.write_text(backlog.read_text().replace('amount = "1.00"', f'amount = "1.00"\ntimes = {JOBS}'))
    words = {"pat": ("--role", "proposer"), "exe": ()}
    running = {handle: home.begin(handle, *words[handle]) for handle in words}
    try:
        for _ in range(KILLS):
            handle = chance.choice(list(words))
            PAUSE.wait(chance.uniform(0.2, 3))
            running[handle].send_signal(signal.SIGKILL)
            running[handle].wait(DEADLINE_S)
            running[handle] = home.begin(handle, *words[handle])
        until(lambda: [job["state"] for job in home.jobs()] == ["done"] * JOBS)
    finally:
        for process in running.values():
            process.kill()
            process.wait(DEADLINE_S)
    assert sorted(claim["state"] for claim in home.claims()) == ["released"] * JOBS
    assert len({claim["job_id"] for claim in home.claims()}) == JOBS
    assert home.balance("exe") == 100_000_000 + JOBS * 2_000_000
    assert home.balance("pat") == 100_000_000
    with closing(ReadPool.open_reader(places.books(home.platform.home))) as books:
        assert books.read_sync(lambda reader: list(broken(reader))) == []
