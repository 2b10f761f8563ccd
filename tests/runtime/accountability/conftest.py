"""An agent under contract, with probes that measure what the test says."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from earnest.accountability.agreement import Agreement, contract_of
from earnest.accountability.days import Day
from earnest.accountability.heartbeat import Heartbeat
from earnest.accountability.score import Score
from earnest.accountability.service import AGREEMENTS, HEARTBEATS, SCORES
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.llm.api import ChatModel
from earnest.effects.outside.probes.api import Reading
from earnest.effects.outside.web.fetching import Web
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.identity.account import AccountKind
from earnest.identity.key import Caller, Scope
from earnest.identity.service import PRESENCES
from earnest.market.terms import Terms
from earnest.runtime.accountability.checking_in import CheckIn, TaskAssertion, check_in
from earnest.runtime.accountability.deciding import agree
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.runtime.recompute import recompute
from earnest.verification.plugin import Judges
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

from ..market.conftest import START_MS, Town

MINUTE_MS = 60_000
DAY_MS = 86_400_000
MAIL = "- [ ] mail | Look at the mail | required | verify: mail_count"
NEWS = "- [ ] news | Read the news | optional | verify: news_count"


def contract(*lines: str) -> str:
    return "\n".join(["# Heartbeat", "", "## Tasks", "", *lines, ""])


@dataclass
class FakeProbes:
    """What is measured, by name; a text is an outage."""

    values: dict[str, int | str] = field(default_factory=lambda: {"mail_count": 1, "news_count": 1})

    @property
    def names(self) -> Collection[str]:
        return self.values.keys()

    async def measure(self, name: str) -> Reading:
        value = self.values[name]
        if isinstance(value, str):
            raise Unavailable(value)
        return Reading(value=value, as_expected=value >= 1, expectation="at least 1")


@dataclass
class Duty:
    """One agent, its operator, and what the platform knows of them."""

    town: Town
    probes: FakeProbes
    judging: HeartbeatJudging
    agent: Caller
    operator: Caller

    def pin(self, *lines: str, **settings: object) -> None:
        self.town.act(self.operator, lambda entry: agree(entry, self.agent.id, contract(*lines), None, settings))

    def configure(self, **settings: object) -> None:
        self.town.act(self.operator, lambda entry: agree(entry, self.agent.id, None, None, settings))

    def check_in(
        self,
        *lines: str,
        reply: str = "done",
        claims: Mapping[str, Mapping[str, Any]] | None = None,
        records: tuple[JsonObject, ...] = (),
        artifacts: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """A check-in with these lines as its contract; none: as it was accepted."""
        text = contract(*lines) if lines else None
        sent = CheckIn(
            contract=text,
            reply=reply,
            records=records,
            artifacts=artifacts or {},
            assertions=tuple(TaskAssertion(task, True, values) for task, values in (claims or {}).items()),
        )
        given = None if text is None else contract_of(text)
        return dict(self.town.act(self.agent, lambda entry: check_in(entry, sent, given)))

    def judge(self) -> None:
        asyncio.run(self.judging.drain())

    def cycle(self, *lines: str, **given: Any) -> Heartbeat:
        """A check-in at the next wake, judged."""
        self.wait()
        taken = self.check_in(*lines, **given)
        assert taken["heartbeat_id"], taken
        self.judge()
        return self.heartbeat(taken["heartbeat_id"])

    def wait(self) -> None:
        """Until the next wake."""
        left_ms = self.agreement.next_wake_ms - self.town.clock.now_ms() if self.known else 0
        self.town.clock.jump_ms(max(0, left_ms))

    def rules(self, heartbeat: Heartbeat) -> dict[str, list[str]]:
        return {one["task"]: one["rules"] for one in json.loads(heartbeat.verdicts)}

    def heartbeat(self, name: str) -> Heartbeat:
        return self.town.database.read_sync(lambda reader: HEARTBEATS.find(reader, name))

    @property
    def known(self) -> bool:
        return self.town.database.read_sync(lambda reader: AGREEMENTS.get(reader, self.agent.id)) is not None

    @property
    def agreement(self) -> Agreement:
        return self.town.database.read_sync(lambda reader: AGREEMENTS.find(reader, self.agent.id))

    @property
    def score(self) -> Score:
        return self.town.database.read_sync(lambda reader: SCORES.of(reader, self.agent.id))

    @property
    def days(self) -> list[Day]:
        return self.town.database.read_sync(lambda reader: SCORES.recent(reader, self.agent.id, 100))

    @property
    def mails(self) -> list[str]:
        row = self.town.database.read_sync(lambda reader: PRESENCES.get(reader, self.agent.id))
        return [letter["subject"] for letter in json.loads(row.outbox)] if row else []

    def same_from_facts(self) -> None:
        """The facts alone lead to the same state."""
        found = self.town.database.read_sync(lambda reader: recompute(reader, self.town.clock))
        assert not found.differences, found.differences


MakeDuty = Callable[[ChatModel | None], Duty]


@contextlib.contextmanager
def duty_in(folder: Path, model: ChatModel | None = None) -> Iterator[Duty]:
    """An agent and its operator on a platform of their own, below `folder`."""
    clock, chance, probes, registry = VirtualClock(START_MS), SeededChance(7), FakeProbes(), Registry()
    verifier = Verifier(
        registry=registry, sandbox=None, clock=clock, probes=probes, judges=Judges(model=model, chance=chance)
    )
    with contextlib.closing(Database.open(folder / "books.sqlite", clock)) as database:
        market = Market(
            desk=Desk(database, clock, chance),
            terms=Terms(),
            verifier=verifier,
            registry=registry,
            artifacts=ArtifactStore(folder / "artifacts"),
            web=Web(clock),
        )
        town = Town(market=market, clock=clock)
        operator = town.somebody("olga", kind=AccountKind.OPERATOR, scope=Scope.OPERATOR)
        agent = town.somebody("ada", operator=operator.id)
        yield Duty(town=town, probes=probes, judging=HeartbeatJudging(market), agent=agent, operator=operator)


@pytest.fixture
def make_duty(tmp_path: Path) -> Iterator[MakeDuty]:
    with contextlib.ExitStack() as stack:

        def make(model: ChatModel | None = None) -> Duty:
            return stack.enter_context(duty_in(tmp_path, model))

        yield make


@pytest.fixture
def duty(make_duty: MakeDuty) -> Duty:
    return make_duty(None)
