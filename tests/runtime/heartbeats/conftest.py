"""A runner over a made-up platform and program, by a clock that is moved."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from earnest.client.payloads_home import Home
from earnest.client.payloads_scores import CheckedIn, Due, Heartbeat, Score
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.foundation.canonical import JsonObject, digest_bytes
from earnest.foundation.instants import rfc3339_s
from earnest.runtime.heartbeats.contract_file import ContractFile
from earnest.runtime.heartbeats.program import Said, Work
from earnest.runtime.heartbeats.runner import ActiveHours, CycleReport, HeartbeatRunner
from earnest.runtime.heartbeats.state import RunnerState

START_MS = 1_780_000_000_000
MINUTE_MS = 60_000
TASK = {
    "id": "mail",
    "description": "Look at the mail",
    "verify": "",
    "required": True,
    "attempt": 1,
    "max_attempts": 3,
}


@dataclass
class FakePlatform:
    """Takes what is handed in, once a key. `due_skip`, `taken_skips`: what it says; `failing`: raised, one a call."""

    clock: VirtualClock
    interval_s: int = 900
    next_wake_ms: int = START_MS
    penalty: str = "none"
    has_contract: bool = True
    due_skip: str | None = None
    taken_skips: list[str] = field(default_factory=list)
    failing: list[Exception] = field(default_factory=list)
    loses_answers: int = 0
    unjudged_looks: int = 0
    heartbeats: dict[str, dict[str, Any]] = field(default_factory=dict)
    uploads: list[bytes] = field(default_factory=list)
    state_hash: str = "sha256:aa"
    calls: list[str] = field(default_factory=list)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.failing:
            raise self.failing.pop(0)

    async def home(self) -> Home:
        self._called("home")
        return cast("Home", {"state_hash": self.state_hash, "what_to_do_next": ["Start clm_1."]})

    async def due(self) -> Due:
        self._called("due")
        is_due = self.clock.now_ms() >= self.next_wake_ms
        skip = self.due_skip or (None if is_due and self.has_contract else "nothing_to_do")
        told = {
            "skip": skip,
            "tasks": [TASK] if is_due and self.has_contract else [],
            "penalty": self.penalty,
            "reward": "none",
            "message": "",
            "interval_s": self.interval_s if self.has_contract else None,
            "feedback": [],
            "next_wake_at": rfc3339_s(self.next_wake_ms) if self.has_contract else None,
        }
        return cast("Due", told)

    async def score(self) -> Score:
        self._called("score")
        return cast("Score", {"today": {"score": 10, "target": 50}})

    async def upload(self, content: bytes) -> str:
        self._called("upload")
        self.uploads.append(content)
        return digest_bytes(content)

    async def check_in(self, key: str, body: JsonObject) -> CheckedIn:
        self._called("check_in")
        if self.taken_skips:
            return cast("CheckedIn", {"heartbeat_id": None, "skip": self.taken_skips.pop(0)})
        if key not in self.heartbeats:
            self.heartbeats[key] = {"body": body, "at_ms": self.clock.now_ms()}
            self.next_wake_ms = self.clock.now_ms() + self.interval_s * 1_000
        assert self.heartbeats[key]["body"] == body
        if self.loses_answers:
            self.loses_answers -= 1
            raise ConnectionResetError
        return cast("CheckedIn", {"heartbeat_id": f"hbt_{key}", "skip": None})

    async def heartbeat(self, heartbeat_id: str) -> Heartbeat:
        self._called("heartbeat")
        found = self.heartbeats[heartbeat_id.removeprefix("hbt_")]
        outcome: dict[str, Any] | None = {
            "score": 10,
            "target": 50,
            "penalty": self.penalty,
            "feedback": ["mail: good"],
        }
        if self.unjudged_looks:
            self.unjudged_looks -= 1
            outcome = None
        else:
            assert outcome is not None
            outcome["interval_s"] = self.interval_s
        head = {"heartbeat_id": heartbeat_id, "at": rfc3339_s(found["at_ms"]), "points": 10, "tasks": []}
        return cast("Heartbeat", {**head, "outcome": outcome})


@dataclass
class FakeProgram:
    """Does as `does` says, and remembers what it was given."""

    does: Callable[[Work], Said] = lambda _: Said(reply="done")
    given: list[Work] = field(default_factory=list)

    async def work(self, work: Work) -> Said:
        self.given.append(work)
        (work.folder / "artifacts").mkdir()
        await asyncio.sleep(0)
        return self.does(work)


@dataclass
class Stage:
    """All that a runner has to do with. `reports`: what it told while it was running."""

    folder: Path
    clock: VirtualClock
    platform: FakePlatform
    program: FakeProgram
    contract: Path
    reports: list[CycleReport] = field(default_factory=list)
    active: ActiveHours = field(default_factory=ActiveHours)
    seed: int = 0
    state: RunnerState | None = None
    latest: HeartbeatRunner | None = None

    def runner(self) -> HeartbeatRunner:
        """A new one, as after a kill."""
        if self.state is not None:
            self.state.release()
        self.state = RunnerState(self.folder)
        self.seed += 1
        self.latest = HeartbeatRunner(
            self.platform,
            self.program,
            self.state,
            ContractFile(self.contract),
            clock=self.clock,
            chance=SeededChance(self.seed),
            active=self.active,
        )
        return self.latest

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HeartbeatRunner]:
        """One that runs until the block ends."""
        runner = self.runner()
        task = asyncio.create_task(runner.run(self.reports.append))
        await self.clock.advance_ms(0)
        try:
            yield runner
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def told(self) -> list[str]:
        """The outcomes so far, and why."""
        return [f"{one.outcome} {one.reason}".strip() for one in self.reports]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    clock, contract = VirtualClock(START_MS), tmp_path / "HEARTBEAT.md"
    contract.write_text("## Tasks\n\n- [ ] mail | Look at the mail | required\n")
    found = Stage(tmp_path / "ada", clock, FakePlatform(clock), FakeProgram(), contract)
    yield found
    if found.state is not None:
        found.state.release()
