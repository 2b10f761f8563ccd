"""Four runs and a loaded server on one home, each killed again and again at random, by seed.

`EARNEST_SHARED_SECONDS` says for how long (600 for all of it), `EARNEST_FAULT_SEED` which seed.
"""

import asyncio
import json
import os
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from earnest.app import places
from earnest.audit.journal_check import check_audit_log, check_journal
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.engine.facts import FINISHED, MESSAGES, STARTED
from earnest.foundation.errors import Unavailable
from earnest.runtime.recall import memory_faults
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.invariants import broken
from earnest.testing.served import PROGRAM, RefusedByPlatform, ServedPlatform, served

from .jobs import job_body
from .test_serve_faults import environment_in, processes_of

SECONDS = int(os.environ.get("EARNEST_SHARED_SECONDS", "20"))
SEED = int(os.environ.get("EARNEST_FAULT_SEED", "1"))
RUNNERS = 4
CLIENTS = 2
CUT_OFF = (RefusedByPlatform, OSError, HTTPException)
WRITES_MAX = 900
PRICE_MICRO = 1_000_000
START_MICRO = 1_000 * PRICE_MICRO
LIFE_S = {"server": (2.0, 12.0), "run": (0.3, 5.0)}
LAST_S = 120
PLAYBOOK = r"""
format: earnest-playbook-v1
intent: Leave exactly one line
task_class: shared_home
subtasks:
  - id: outer
    sequence: 1
    intent: An effect outside the workspace that can be looked at
    criteria: [{text: it was noted, check: {kind: files, required: [{path: noted, regex: '^x\n$'}]}}]
    approaches:
      - id: only
        steps:
          - tool: shell
            args: {command: "echo x >> OUTSIDE/ledger"}
            writes: [OUTSIDE]
            look: "test -e OUTSIDE/ledger"
          - {tool: shell, args: {command: "echo x >> noted"}}
  - id: one
    sequence: 2
    intent: One of two at the same time
    criteria: [{text: one line, check: {kind: files, required: [{path: one, regex: '^x\n$'}]}}]
    approaches: [{id: only, steps: [{tool: shell, args: {command: "echo x >> one"}}]}]
  - id: other
    sequence: 2
    intent: The other of two
    criteria: [{text: one line, check: {kind: files, required: [{path: other, regex: '^x\n$'}]}}]
    approaches: [{id: only, steps: [{tool: shell, args: {command: "echo x >> other"}}]}]
criteria:
  - {text: each effect once, check: {kind: command, command: "test \"$(cat noted one other | wc -l)\" = 3"}}
"""


@dataclass(slots=True)
class Client:
    """Posts jobs one after the other, to whichever server listens, and keeps what it was told."""

    key: str
    name: str
    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)

    def post(self, platform: ServedPlatform, name: str) -> dict[str, Any]:
        body = job_body(title=name, amount_micro=PRICE_MICRO)
        return platform.ask("POST", "/jobs", body, key=self.key, idempotency_key=name)

    def load(self, listening: list[ServedPlatform], over: threading.Event) -> None:
        while not over.wait(0.02):
            number = len(self.acknowledged) + len(self.unanswered)
            name = f"{self.name}-{number}"
            try:
                listening[-1].ask("GET", "/agents/me/home", key=self.key)
                if number < WRITES_MAX:
                    self.acknowledged[name] = self.post(listening[-1], name)
            except CUT_OFF:
                self.unanswered.append(name)
                over.wait(0.2)

    def check(self, platform: ServedPlatform, jobs: Counter[str]) -> None:
        """Every write that was acknowledged is there once; every other one can be sent again, and is there once."""
        for name, told in self.acknowledged.items():
            assert self.post(platform, name) == told
        names = {*self.acknowledged, *self.unanswered}
        left = platform.ask("GET", "/agents/me/home", key=self.key)["your_account"]["balance_micro"]
        assert left == START_MICRO - sum(jobs[name] for name in names) * PRICE_MICRO
        assert all(jobs[name] == 1 for name in self.acknowledged)
        assert all(jobs[name] <= 1 for name in names)


@dataclass(slots=True)
class Runner:
    """Works one playbook after the other in the home, each until it has ended well, however often it is killed."""

    home: Path
    folder: Path
    environment: dict[str, str]
    chance: random.Random
    over: threading.Event
    ended: list[str] = field(default_factory=list)
    kills: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def work(self) -> None:
        number = 0
        while not self.over.is_set():
            number += 1
            outside = self.folder / str(number)
            outside.mkdir(parents=True)
            playbook = outside / "playbook.yaml"
            playbook.write_text(PLAYBOOK.replace("OUTSIDE", str(outside)))
            self._end(outside, ["run", str(playbook), "--json", "--allow-write", str(outside)])

    def _end(self, outside: Path, arguments: list[str]) -> None:
        last = time.monotonic() + LAST_S + SECONDS
        while True:
            mortal = not self.over.is_set() and self.chance.random() < 0.6
            code, output, errors = self._live(arguments, self.chance.uniform(*LIFE_S["run"]) if mortal else LAST_S)
            self.codes[code] += 1
            lines = (outside / "ledger").read_text().splitlines() if (outside / "ledger").exists() else []
            if code == 0 or (code == -9 and output.endswith("\n") and json.loads(output).get("exit_code") == 0):
                self.ended.append(json.loads(output)["run"])  # told, if perhaps killed on its last steps
                if lines != ["x"]:
                    self.faults.append(f"{self.ended[-1]} left {lines} in {outside}")
                return
            if time.monotonic() > last or (code not in {-9, 4} and not self._may_pass(code, errors)):
                self.faults.append(f"{arguments} ended with {code}: {output[-500:]} {errors[-2_000:]}")
                return

    def _live(self, arguments: list[str], life_s: float) -> tuple[int, str, str]:
        process = subprocess.Popen(
            [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment, text=True
        )
        try:
            output, errors = process.communicate(timeout=life_s)
        except subprocess.TimeoutExpired:
            process.kill()
            self.kills += 1
            output, errors = process.communicate()
        return process.returncode, output, errors

    @staticmethod
    def _may_pass(code: int, errors: str) -> bool:
        """A server that was killed while it had read all of the memory, or the like, is waited for."""
        return code == 3 and "in use" in errors


def killed_again_and_again(
    home: Path,
    environment: dict[str, str],
    chance: random.Random,
    listening: list[ServedPlatform],
    over: threading.Event,
    killed: list[int],
) -> None:
    """Servers, one after the other, and the pids of those that were killed."""
    while not over.is_set():
        with served(home, environment) as platform:
            listening.append(platform)
            over.wait(chance.uniform(*LIFE_S["server"]))
            if not over.is_set():
                platform.process.kill()
                killed.append(platform.process.pid)


def reading(home: Path, look: Callable[[BooksReader], Any]) -> Any:
    with closing(ReadPool.open_reader(places.books(home))) as books:
        return books.read_sync(look)


def faults_of(home: Path) -> list[str]:
    """Whatever is wrong with the books, the journal, the audit log and memory."""
    books, log = places.books(home), places.audit_log(home)
    found = [f"journal: {finding.what} {finding.detail}" for finding in check_journal(books, log).findings]
    found += check_audit_log(log, books).findings
    found += reading(home, lambda reader: list(broken(reader)))
    found += reading(home, lambda reader: recompute(reader, SystemClock()).differences)
    with closing(ReadPool.open_reader(books)) as pool:
        found += asyncio.run(memory_faults(places.memory(home), pool, SystemClock().now_ms()))
    return found


def doubled(reader: BooksReader) -> list[str]:
    """Runs that were begun or ended twice, and messages that stand there twice."""
    begun = Counter((fact.kind, fact.subject) for fact in reader.facts(kind=(STARTED, FINISHED)))
    told = Counter((fact.subject, str(fact.body["id"])) for fact in reader.facts(kind=MESSAGES))
    return [str(one) for one, times in (*begun.items(), *told.items()) if times > 1]


@pytest.mark.slow  # minutes of killing
@pytest.mark.timeout(SECONDS + 900)
def test_runs_and_a_server_share_a_home_whoever_is_killed(tmp_path: Path) -> None:
    home, environment, over = tmp_path / "home", environment_in(tmp_path), threading.Event()
    chance = random.Random(f"shared home {SEED}")
    with served(home, environment) as platform:
        platform.become_operator()
        clients = [Client(platform.agent(f"buyer{n}", START_MICRO)["live"], f"write-{n}") for n in range(CLIENTS)]
    mine = {**environment, "EARNEST_HOME": str(home)}
    runners = [Runner(home, tmp_path / f"runner{n}", mine, random.Random(f"{SEED} {n}"), over) for n in range(RUNNERS)]
    listening, killed = [platform], list[int]()
    threads = [threading.Thread(target=runner.work) for runner in runners]
    threads += [threading.Thread(target=client.load, args=(listening, over)) for client in clients]
    killer = threading.Thread(target=killed_again_and_again, args=(home, environment, chance, listening, over, killed))
    for thread in (*threads, killer):
        thread.start()
    over.wait(SECONDS)
    while killer.is_alive() and not killed:  # a busy machine's first server may begin late
        killer.join(0.1)
    over.set()
    killer.join()
    for thread in threads:
        thread.join()
    assert [fault for runner in runners for fault in runner.faults] == [], f"EARNEST_FAULT_SEED={SEED}"
    assert killed
    for runner in runners:
        assert runner.ended
    jobs: Counter[str] = Counter(
        reading(home, lambda reader: [title for (title,) in reader.execute("SELECT title FROM jobs").fetchall()])
    )
    with served(home, environment) as platform:
        for client in clients:
            client.check(platform, jobs)
    ended = Counter(run for runner in runners for run in runner.ended)
    finished = reading(home, lambda reader: {fact.subject for fact in reader.facts(kind=FINISHED)})
    assert set(ended) <= finished
    assert reading(home, doubled) == []
    assert faults_of(home) == []
    with suppress(Unavailable):
        assert list(processes_of(tmp_path)) == []
    print(
        f"{sum(ended.values())} runs, killed {sum(r.kills for r in runners)} of their processes, {len(killed)} servers",
        f"{sum(len(c.acknowledged) for c in clients)} posts, exit codes {sum((r.codes for r in runners), Counter())}",
    )
