"""Resident agents on a platform in this process: their means, a transport that dies, an obedient mind."""

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2

from earnest.agents.backlog import Backlog, Backlogged
from earnest.agents.book import JsonLinesBook
from earnest.agents.graph import Graph
from earnest.agents.loop import PlainLoop
from earnest.agents.means import Means, Mind, Scout, VerdictFeedback, WorkFailed, WorkOrder, WorkReport, World
from earnest.agents.state import AgentRole, class_of
from earnest.client.client import AsyncClient
from earnest.client.payloads import Job
from earnest.client.retrying import Patience
from earnest.effects.ground.clock import Clock, SeededChance, VirtualClock
from earnest.effects.outside.llm.api import Message
from earnest.foundation.canonical import JsonObject
from earnest.runtime.agents.health import ResidentHealth
from earnest.runtime.agents.resident import ResidentRunner
from earnest.runtime.market.judging import Judging

from .conftest import URL, Site

SPEC = """\
format: earnest-spec-v1
title: Add up
text: Add up 40 and 2.
acceptance: {acceptance}
criteria:
  - id: C1
    text: answer.json holds the sum
{check}"""
SCHEMA = "{type: object, properties: {sum: {const: 42}}, required: [sum]}"
CHECK = f"    check: {{kind: json_schema, path: answer.json, schema: {SCHEMA}}}\n"
SEEDS = itertools.count(1)
"""No two lives draw the same ids."""
WHY = {"goal": "g", "facts": ["f"], "expected_value": "v"}


class Killed(BaseException):
    """The process of an agent is gone."""


class MortalTransport(httpx2.ASGITransport):
    """Dies when the platform has done request number `dies_after`, before anybody hears the answer."""

    def __init__(self, app: Any, dies_after: int | None = None) -> None:
        super().__init__(app=app)
        self.dies_after = dies_after
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        self.asked.append(f"{request.method} {request.url.path}")
        if len(self.asked) == self.dies_after:
            raise Killed
        return answer


@dataclass
class JudgingClock(VirtualClock):
    """Whoever waits by it gives the platform time to judge."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.clock.now_ms())
        self._site = site

    async def sleep_ms(self, duration_ms: int) -> None:
        await Judging(self._site.market).drain()
        self.jump_ms(max(1, duration_ms))


@dataclass
class Adder:
    """Hands that add up; `slips`: so often the sum is wrong first. `worked` tells how often they worked."""

    slips: int = 0
    fails: int = 0
    worked: int = 0
    shown: list[tuple[str, ...]] = field(default_factory=list)
    """What was said of the revision before, each time."""

    def can(self, job: Job) -> bool:
        return True

    async def work(self, order: WorkOrder) -> WorkReport:
        self.worked += 1
        if self.worked <= self.fails:
            raise WorkFailed("no numbers")
        total = 42 + (self.worked if self.worked <= self.slips else 0)
        self.shown.append(order.feedback)
        (order.workspace / "answer.json").write_text(f'{{"sum": {total}}}')
        return WorkReport(said="## Evidence\n\n- C1: answer.json", task_class=class_of(order.job), approach="adder")


@dataclass
class Noted:
    """A solver that is told."""

    told: list[VerdictFeedback] = field(default_factory=list)

    async def feedback(self, feedback: VerdictFeedback) -> None:
        if feedback.key not in {one.key for one in self.told}:
            self.told.append(feedback)


@dataclass
class Obedient:
    """A model that answers what the test says, and keeps what it was shown."""

    say: Callable[[], JsonObject]
    shown: list[str] = field(default_factory=list)

    async def choose(self, messages: Sequence[Message], form: JsonObject) -> JsonObject:
        self.shown.append("\n".join(message.text for message in messages))
        return self.say()


@dataclass
class Agent:
    """One agent that can be begun anew over the same files."""

    site: Site
    folder: Path
    key: str
    role: AgentRole
    hands: Adder = field(default_factory=Adder)
    teacher: Noted = field(default_factory=Noted)
    mind: Mind | None = None
    graph: bool = False
    database: str = ""
    """Of the graph's checkpoints; empty: a file."""
    entries: tuple[Backlogged, ...] = ()
    scout: Callable[[Backlog, JsonLinesBook, Clock], Scout] | None = None

    @asynccontextmanager
    async def resident(self, dies_after: int | None = None) -> AsyncIterator[tuple[ResidentRunner, MortalTransport]]:
        transport = MortalTransport(self.site.app, dies_after)
        chance, clock = SeededChance(next(SEEDS)), JudgingClock(self.site)
        client = AsyncClient(URL, self.key, transport=transport, patience=Patience(attempts=1), chance=chance)
        book = JsonLinesBook(self.folder)
        backlog = Backlog(self.entries, book)
        health = ResidentHealth(role=self.role.value, path=self.folder / "health.json")
        means = Means(
            client=client,
            role=self.role,
            folder=self.folder / "work",
            book=book,
            backlog=backlog,
            hands=self.hands,
            teacher=self.teacher,
            clock=clock,
            world=World(client),
            mind=self.mind,
            scout=self.scout(backlog, book, clock) if self.scout else None,
            say=health.note,
        )

        control = (
            Graph(self.folder, means, address=self.database, thread=self.key[-8:])
            if self.graph
            else PlainLoop(self.folder, means)
        )
        resident = ResidentRunner(means, control, health, folder=self.folder, chance=chance, every_ms=1_000)
        yield resident, transport

    def again(self, **changes: Any) -> "Agent":
        return replace(self, **changes)


def entry(folder: Path, *, acceptance: str = "machine", check: str = CHECK, text: str = SPEC) -> Backlogged:
    path = folder / f"spec-{acceptance}.yaml"
    path.write_text(text.format(acceptance=acceptance, check=check))
    return Backlogged(name="sum", path=path, category="data", amount_micro=2_000_000, hand_in=("answer.json",))


async def two_agents(site: Site, tmp_path: Path, **proposing: Any) -> tuple[Agent, Agent]:
    """A proposer with one entry in its backlog, and an executor."""
    operator = await site.operator()
    keys = [(await site.agent(handle, operator))["live"] for handle in ("pat", "exe")]
    for name in ("pat", "exe"):
        (tmp_path / name).mkdir()
    pat = Agent(site, tmp_path / "pat", keys[0], AgentRole.PROPOSER, entries=(entry(tmp_path, **proposing),))
    return pat, Agent(site, tmp_path / "exe", keys[1], AgentRole.EXECUTOR)
