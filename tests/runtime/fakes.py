"""An engine without a world: minds and hands that do as a test tells them, on a virtual clock."""

import asyncio
from collections.abc import Mapping, Sequence

from earnest.contracts.criterion import Criterion
from earnest.contracts.playbook import Playbook
from earnest.contracts.playbook_reading import parse_playbook
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.tools.failures import ToolFailure
from earnest.effects.hands.tools.record import RawResult, ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.engine.engine import Engine
from earnest.engine.gradient.constants import Constants
from earnest.engine.impossibility import ImpossibilityClaim
from earnest.engine.memory_messages import Recollection
from earnest.engine.messages import Budget, ConfirmationAnswered, ConfirmationAsked, FinalResult, TaskRequested
from earnest.engine.playbook import NoModels, PlaybookExecutor, PlaybookPerceiver, PlaybookPlanner
from earnest.engine.ports import Executor, Planner, RoleModel
from earnest.engine.post import Outbox
from earnest.engine.run import EngineRun
from earnest.memory.megram import Tag
from earnest.verification.verdict import Answer, CriterionVerdict

PLAYBOOK = """
format: earnest-playbook-v1
intent: Do one thing
task_class: one_thing
budget: {time_s: 300, replans: 3}
subtasks:
  - id: one
    intent: Do it
    criteria: [{text: it is done, check: {kind: files, required: [{path: done}]}}]
    approaches: [{id: only, steps: [{tool: shell, args: {command: touch done}}]}]
"""
REQUEST = TaskRequested(raw_input="Do one thing", budget=Budget(time_ms=300_000))


class FakeHands:
    """Each call succeeds, once `leave` is set; `cancelled` counts those that were cancelled before."""

    def __init__(self, clock: VirtualClock) -> None:
        self._toolbox = Toolbox(clock)
        self.leave = asyncio.Event()
        self.calls: list[str] = []
        self.cancelled = 0
        self.faults = lambda call: ()
        self.tool_ids = self._toolbox.tool_ids
        self.target = self._toolbox.target
        self.digest = self._toolbox.digest

    def refused(self, call: ToolCall, failure: ToolFailure) -> ToolRecord:
        return self._toolbox.record(call, RawResult(failure=failure), started_at_ms=0)

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        self.calls.append(key)
        try:
            await self.leave.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self._toolbox.record(call, RawResult(exit_code=0), started_at_ms=0)

    async def revert(self, key: str, call_prefixes: Sequence[str]) -> None:
        """There is nothing to take back."""


class ContentJudge:
    """Everything is verified."""

    async def judge(
        self, key: str, criteria: Sequence[Criterion], calls: Sequence[ToolRecord], *, output: str, model: RoleModel
    ) -> tuple[CriterionVerdict, ...]:
        return tuple(CriterionVerdict(id=c.id, answer=Answer.VERIFIED, reason="") for c in criteria)


class Nobody:
    """Nobody is there to be asked, so nothing is confirmed."""

    async def confirm(self, _key: str, asked: ConfirmationAsked) -> ConfirmationAnswered:
        return ConfirmationAnswered(action=asked.action, approved=False, by="nobody", expires_at_ms=asked.expires_at_ms)


class Unbelieving:
    """Where a claim is looked into and nothing is confirmed."""

    async def confirmed(self, _claim: ImpossibilityClaim, _needs: Sequence[str], _criteria: Sequence[Criterion]) -> str:
        return ""

    async def lacking(self, _needs: Sequence[str], _criteria: Sequence[Criterion]) -> str:
        return ""


class EmptyRecall:
    """Nothing is remembered."""

    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        return ()


class NothingKept:
    """The run begins anew."""

    def __init__(self, messages: Mapping[str, Envelope] | None = None) -> None:
        self._messages = messages or {}

    def kept(self, message_id: str) -> Envelope | None:
        return self._messages.get(message_id)


class Stage:
    """A bus, a clock and an engine on them; `heard` is every message, in order."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.bus = Bus()
        self.engine = Engine(bus=self.bus, clock=self.clock, recall=EmptyRecall())
        self.heard: list[Envelope] = []
        self.bus.tap("test", self.heard.append)

    def run(
        self, run_id: str = "run", *, planner: Planner | None = None, executor: Executor | None = None
    ) -> EngineRun:
        hands = FakeHands(self.clock)
        playbook = a_playbook()
        return EngineRun(
            post=Outbox(run_id=run_id, bus=self.bus, clock=self.clock, kept=NothingKept()),
            perceiver=PlaybookPerceiver(playbook),
            planner=planner or PlaybookPlanner(playbook, hands),
            executor=executor or PlaybookExecutor(),
            hands=hands,
            models=NoModels(),
            judge=ContentJudge(),
            confirming=Nobody(),
            reality=Unbelieving(),
            constants=Constants(),
        )

    async def begin(self, run: EngineRun, *, already_elapsed_ms: int = 0) -> asyncio.Task[FinalResult]:
        """Work it, as far as it comes without time passing: as a rule to its first tool call."""
        working = asyncio.create_task(self.engine.work(run, REQUEST, already_elapsed_ms=already_elapsed_ms))
        for _ in range(10):
            await self.clock.advance_ms(0)
        return working

    def states(self) -> dict[str, list[str]]:
        """The runs of which each role still knows something."""
        roles = [role for role, _ in self.engine._inboxes]
        return {str(role.role): list(role._states) for role in roles if role._states}


def a_playbook() -> Playbook:
    return parse_playbook(PLAYBOOK, "fake")
