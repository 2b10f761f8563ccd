"""Does the guard ask before what cannot be taken back, and does an executor's mind gain nothing by trying?"""

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from engine_stage import ScriptedHands, Stage, alone, approach, criteria, playbook, settle, subtask

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.engine.engine import Engine
from earnest.engine.gradient.blocking import Target
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.memory_messages import MegramEmitted
from earnest.engine.messages import (
    ConfirmationAnswered,
    ConfirmationAsked,
    CorrectionSignal,
    ExecutionResult,
    PlanDirective,
    PlannedSubTask,
    Role,
    SubTask,
    SubTaskStatus,
    ToolCalled,
)
from earnest.engine.ports import Assertion, GuardedTools, NeedsConfirmation, RoleModel
from earnest.engine.roles.executor import ExecutorRole
from earnest.engine.run import RunLimits

TWO_WAYS = playbook(subtask("count", approach("wc"), approach("python")))


@dataclass
class AskingHands(ScriptedHands):
    """Every call needs leave; a yes is worth something unless it is `stale`."""

    stale: bool = False
    confirmed: set[str] = field(default_factory=set)

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        if key in self.confirmed and not self.stale:
            return await super().call(key, call, look)
        wider = replace(call, writes=("/people/me/notes",))
        asked = ConfirmationAsked(
            action=self.digest(wider),
            tool=call.tool,
            args=call.args,
            wording="it needs leave to write to /people/me/notes",
            paths=wider.writes,
            network=False,
            expires_at_ms=600_000,
        )
        raise NeedsConfirmation(asked, key=f"{key}/confirmed", call=wider)


@dataclass
class Asker:
    """Answers as it was told, once it may."""

    hands: AskingHands
    yes: bool = True
    may: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)

    async def confirm(self, key: str, asked: ConfirmationAsked) -> ConfirmationAnswered:
        self.asked.append(key)
        await self.may.wait()
        if self.yes:
            self.hands.confirmed.add(key)
        return ConfirmationAnswered(action=asked.action, approved=self.yes, by="me", expires_at_ms=asked.expires_at_ms)


def _stage(*, yes: bool = True, stale: bool = False) -> Stage:
    hands = AskingHands(stale=stale)
    asker = Asker(hands, yes=yes)
    asker.may.set()
    return Stage(TWO_WAYS, hands=hands, confirming=asker)


async def test_what_was_confirmed_is_performed_once_and_the_question_and_its_answer_are_messages() -> None:
    stage = _stage()
    result = await stage.work()
    assert (result.directive, stage.hands.performed) == (MacroState.ACCEPT, ["r1/count/a1/c1/confirmed"])
    asked, answered = stage.only(ConfirmationAsked), stage.only(ConfirmationAnswered)
    assert (asked.action, asked.paths, answered.approved) == (answered.action, ("/people/me/notes",), True)
    senders = {e.kind: e.sender for e in stage.heard}
    assert (senders["ConfirmationAsked"], senders["ConfirmationAnswered"]) == (Role.R3, Role.USER)
    said = [e.kind for e in stage.heard if e.kind in {"ConfirmationAsked", "ConfirmationAnswered", "ToolCalled"}]
    assert said == ["ConfirmationAsked", "ConfirmationAnswered", "ToolCalled"]


@pytest.mark.parametrize(("yes", "stale"), [(False, False), (True, True)])
async def test_without_a_yes_that_holds_the_run_ends_and_nothing_is_planned_around_it(yes: bool, stale: bool) -> None:
    stage = _stage(yes=yes, stale=stale)
    result = await stage.work()
    assert (result.directive, result.cause) == (MacroState.ABANDON, AbandonCause.LAW_1)
    action = stage.only(ConfirmationAsked).action
    assert "write to /people/me/notes" in result.summary
    assert action in result.summary
    assert (stage.hands.performed, stage.of(PlanDirective)) == ([], [])
    assert [told.lesson.tag.entity for told in stage.of(MegramEmitted)] == ["cause:law_1"]


async def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    stage = Stage(TWO_WAYS, hands=AskingHands())
    assert (await stage.work()).cause is AbandonCause.LAW_1
    assert stage.only(ConfirmationAnswered).by == "nobody"


class Stubborn:
    """A mind that takes no for no answer, and any error for none."""

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        for attempt in range(3):
            try:
                await tools.call(ToolCall(tool="shell", args={"does": "ok", "again": str(attempt)}))
            except Exception:
                continue
        return Assertion(status=SubTaskStatus.COMPLETED, output="all done")


async def test_a_mind_that_swallows_a_no_gains_nothing() -> None:
    stage = _stage(yes=False)
    stage.executor = Stubborn()
    result = await stage.work()
    assert (result.cause, stage.hands.performed) == (AbandonCause.LAW_1, [])
    assert len(stage.of(ConfirmationAsked)) == 1


async def test_waiting_for_a_person_is_no_silence_and_takes_of_the_time_budget() -> None:
    stage = _stage()
    stage.limits = RunLimits(silence_ms=2_000)
    asker = stage.confirming
    assert isinstance(asker, Asker)
    asker.may.clear()

    async def wait(_: Engine) -> None:
        await settle()
        await stage.clock.advance_ms(60_000)
        asker.may.set()

    result = await stage.work(wait)
    assert (result.directive, result.elapsed_ms >= 60_000) == (MacroState.ACCEPT, True)


async def test_a_person_who_does_not_answer_within_the_time_budget_ends_the_run() -> None:
    stage = _stage()
    asker = stage.confirming
    assert isinstance(asker, Asker)
    asker.may.clear()

    async def wait(_: Engine) -> None:
        await settle()
        await stage.clock.advance_ms(301_000)

    result = await stage.work(wait)
    assert (result.cause, stage.hands.performed) == (AbandonCause.TIME, [])


class ToolboxHands(ScriptedHands):
    """Identities and targets as the real tools give them."""

    def __init__(self) -> None:
        super().__init__()
        toolbox = Toolbox(VirtualClock())
        self.faults, self.tool_ids = toolbox.call_faults, toolbox.tool_ids  # type: ignore[method-assign]
        self.target, self.digest = toolbox.target, toolbox.digest  # type: ignore[method-assign]

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        self.performed.append(str(call.args))
        return self.record(call)


@dataclass
class ModelLike:
    """A mind that makes calls of its own, which no plan named."""

    calls: list[ToolCall]

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        for call in self.calls:
            await tools.call(call)
        return Assertion(status=SubTaskStatus.COMPLETED, output="done")


def _order(*, tools: tuple[str, ...] = (), targets: tuple[Target, ...] = ()) -> SubTask:
    return SubTask(
        round=2,
        subtask=PlannedSubTask(id="count", intent="count", sequence=1, criteria=criteria(1)),
        prior_outputs=(),
        blocked_tools=tools,
        blocked_targets=targets,
        corrections_max=0,
    )


def _shell(command: str) -> ToolCall:
    return ToolCall(tool="shell", args={"command": command})


async def test_blocked_tools_and_targets_are_refused_to_a_mind_that_makes_its_own_calls() -> None:
    calls = [
        _shell("rm notes"),
        _shell("ls | xargs rm -f"),
        _shell("bash -c 'env rm notes'"),
        _shell("wc   -l\tnotes"),
        ToolCall(tool="read_file", args={"path": "/work/./notes"}),
        _shell("ls notes"),
    ]
    stage = Stage(hands=ToolboxHands(), executor=ModelLike(calls))
    targets = (Target(tool="shell:wc", target="wc -l notes"), Target(tool="read_file", target="notes"))
    async with alone(stage, ExecutorRole) as executor:
        *called, result = await executor.tell(Role.DISPATCHER, _order(tools=("shell:rm",), targets=targets))
    records = [told.record for told in called if isinstance(told, ToolCalled)]
    assert [record.failure.code if record.failure else "" for record in records] == [
        *["blocked_tool"] * 3,
        *["blocked_target"] * 2,
        "",
    ]
    assert isinstance(result, ExecutionResult)
    assert stage.hands.performed == ["{'command': 'ls notes'}"]


async def test_a_path_that_is_none_is_a_fault_before_anybody_is_asked() -> None:
    calls = [
        replace(_shell("rm x"), writes=("notes",)),
        replace(_shell("rm y"), writes=("~nobody/notes",)),
        replace(_shell("rm z"), writes=("/notes\0",)),
        replace(_shell("rm a"), writes=tuple(f"/{n}" for n in range(21))),
    ]
    stage = Stage(hands=ToolboxHands(), executor=ModelLike(calls))
    async with alone(stage, ExecutorRole) as executor:
        await executor.tell(Role.DISPATCHER, _order())
    failures = [told.record.failure for told in stage.of(ToolCalled)]
    assert [failure.code if failure else "" for failure in failures] == ["bad_args"] * 4
    assert stage.hands.performed == []
