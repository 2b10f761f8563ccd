"""What does each role answer to what it hears? Dialogues with one role alone."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import pytest
from engine_stage import (
    REQUEST,
    VERDICTS,
    Dialogue,
    ScriptedHands,
    Stage,
    alone,
    approach,
    criteria,
    playbook,
    step,
    subtask,
)

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.tools.failures import ToolFailure
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.engine.dispatcher import Dispatcher
from earnest.engine.gradient.blocking import Target
from earnest.engine.gradient.cascade import AbandonCause, MacroState, Urgency
from earnest.engine.gradient.loss import Loss
from earnest.engine.memory_messages import MegramEmitted, MemoryAnswered, MemoryAsked
from earnest.engine.messages import (
    Budget,
    CorrectionSignal,
    DispatchEnded,
    ExecutionResult,
    FinalResult,
    GroupStarted,
    OutcomeSummary,
    PlanDirective,
    PlannedSubTask,
    PlanReady,
    ReplanRequest,
    Role,
    StopRequested,
    SubTask,
    SubTaskEnding,
    SubTaskOutcome,
    SubTaskStatus,
    TaskRequested,
    TaskSpec,
    ToolCalled,
)
from earnest.engine.plan_rules import tool_call
from earnest.engine.ports import Assertion, GuardedTools, RoleModel
from earnest.engine.roles.agent_validator import AgentValidatorRole
from earnest.engine.roles.executor import ExecutorRole
from earnest.engine.roles.meta_validator import MetaValidatorRole
from earnest.engine.roles.perceiver import PerceiverRole
from earnest.engine.roles.planner import CORRECTIONS_MAX, PlannerRole
from earnest.engine.roles.shared_memory import SharedMemoryRole
from earnest.engine.roles.solver import SolverRole
from earnest.foundation.failures import FailureClass
from earnest.memory.megram import NOTES, Tag
from earnest.verification.verdict import Answer, CriterionVerdict

SPEC = TaskSpec(task_class="counting", intent="count the lines", raw_input="count")
HANDS = ScriptedHands()


def planned(name: str = "count", *, sequence: int = 1, count: int = 1, way: str | None = None) -> PlannedSubTask:
    return PlannedSubTask(
        id=name,
        sequence=sequence,
        intent="do it",
        criteria=criteria(count),
        approach=approach(way) if way is not None else None,
    )


def plan(*subtasks: PlannedSubTask, number: int = 1, count: int = 0, carried: tuple[str, ...] = ()) -> PlanReady:
    return PlanReady(round=number, task_criteria=criteria(count), subtasks=subtasks, carried=carried)


def order(work: PlannedSubTask | None = None, *, corrections_max: int = 2, **blocked: object) -> SubTask:
    basis = SubTask(
        round=1,
        subtask=work or planned(),
        prior_outputs=(),
        blocked_tools=(),
        blocked_targets=(),
        corrections_max=corrections_max,
    )
    return replace(basis, **blocked)  # type: ignore[arg-type]


def called(does: str = "ok", *, attempt: int = 1, number: int = 1, name: str = "count") -> ToolCalled:
    call = tool_call(step(does))
    failing = {"logical": FailureClass.LOGICAL, "environmental": FailureClass.ENVIRONMENTAL}
    record = HANDS.record(call)
    if does in failing:
        failure = HANDS.refused(call, _failure(failing[does])).failure
        record = replace(record, ok=False, failure=failure)
    return ToolCalled(round=1, subtask_id=name, attempt=attempt, number=number, record=record)


def _failure(failure_class: FailureClass) -> ToolFailure:
    return ToolFailure(failure_class=failure_class, code="said", message=str(failure_class))


def executed(
    *calls: ToolCalled, attempt: int = 1, status: SubTaskStatus = SubTaskStatus.COMPLETED, reason: str = ""
) -> ExecutionResult:
    return ExecutionResult(
        round=1,
        subtask_id="count",
        attempt=attempt,
        status=status,
        output="all done, trust me",
        calls=tuple(call.key for call in calls),
        reason=reason,
    )


def outcome(
    name: str = "count", status: SubTaskEnding = SubTaskEnding.MATCHED, *, number: int = 1, word: str = ""
) -> SubTaskOutcome:
    word = word or ("pass" if status is SubTaskEnding.MATCHED else "logical")
    verdicts = tuple(VERDICTS[word](criterion) for criterion in criteria(1))
    return SubTaskOutcome(
        round=number,
        subtask_id=name,
        status=status,
        output=f"output of {name}",
        approach_id=None,
        verdicts=verdicts,
        trajectory=(),
        calls=(),
        failure_reason="" if status is SubTaskEnding.MATCHED else "wrong",
    )


def directive(number: int = 1, urgency: Urgency = Urgency.NORMAL, **blocked: object) -> PlanDirective:
    basis = PlanDirective(
        round=number,
        directive=MacroState.BREAK_SYMMETRY,
        previous="init",
        loss=Loss(distance=1, implausibility=1, resource=0, quality=0.9, total=0.9),
        gradient=0,
        loss_gradient=0,
        urgency=urgency,
        blocked_tools=(),
        blocked_targets=(),
        blocked_approaches=(),
        failed_criterion="count/C1",
        failure_class="logical",
        rationale="stuck",
    )
    return replace(basis, **blocked)  # type: ignore[arg-type]


# --- R1 and R5 ------------------------------------------------------------------------------------------------------


async def test_the_perceiver_restates_and_adds_no_criteria() -> None:
    async with alone(Stage(), PerceiverRole) as r1:
        (spec,) = await r1.tell(Role.USER, REQUEST)
    assert spec == TaskSpec(task_class="counting", intent="count the lines", raw_input="count")


class SloppyPerceiver:
    """Gives a task class that could not be a tag."""

    async def perceive(self, request: TaskRequested, model: RoleModel) -> TaskSpec:
        return replace(SPEC, task_class="../../etc")


async def test_a_task_class_that_is_no_slug_goes_no_further() -> None:
    stage = Stage(perceiver=SloppyPerceiver())
    async with alone(stage, PerceiverRole) as r1:
        assert await r1.tell(Role.USER, REQUEST) == []
    assert "not a slug" in str(r1.at.result.exception())


async def test_memory_answers_every_question_in_its_order() -> None:
    stage = Stage()
    tags = tuple(Tag(space=f"tool:{name}", entity="path:x") for name in "abc")
    async with alone(stage, partial(_memory, stage)) as r5:
        (answer,) = await r5.tell(Role.R2, MemoryAsked(tags=tags))
    assert isinstance(answer, MemoryAnswered)
    assert tuple(recollection.tag for recollection in answer.recollections) == tags
    assert tuple(stage.recall.asked) == (*tags, NOTES), "what the user had remembered is looked for unasked"


def _memory(stage: Stage, runs: dict[str, object]) -> SharedMemoryRole:
    return SharedMemoryRole(runs, stage.recall)  # type: ignore[arg-type]


# --- R2 -------------------------------------------------------------------------------------------------------------


async def test_the_planner_asks_memory_before_it_plans() -> None:
    book = playbook(subtask("count", approach("wc"), approach("python")))
    async with alone(Stage(book), PlannerRole) as r2:
        (asked,) = await r2.tell(Role.R1, SPEC)
        assert isinstance(asked, MemoryAsked)
        assert [tag.entity for tag in asked.tags] == ["approach:wc", "approach:python"]
        (first,) = await r2.tell(Role.R5, MemoryAnswered(recollections=()))
    assert isinstance(first, PlanReady)
    assert (first.round, first.corrections_max) == (1, 2)


@pytest.mark.parametrize("urgency", Urgency)
async def test_urgency_changes_the_number_of_corrections(urgency: Urgency) -> None:
    book = playbook(subtask("count", approach("wc"), approach("python")))
    async with alone(Stage(book), PlannerRole) as r2:
        await r2.tell(Role.R1, SPEC)
        await r2.tell(Role.R5, MemoryAnswered(recollections=()))
        await r2.tell(Role.R4A, outcome(status=SubTaskEnding.FAILED))
        (second,) = await r2.tell(Role.R7, directive(urgency=urgency))
    assert isinstance(second, PlanReady)
    expected = {Urgency.LOW: 3, Urgency.NORMAL: 2, Urgency.HIGH: 1}
    assert (second.round, second.corrections_max) == (2, expected[urgency])
    assert expected == CORRECTIONS_MAX


# --- the dispatcher -------------------------------------------------------------------------------------------------


async def test_the_dispatcher_waits_for_a_group_before_it_begins_the_next() -> None:
    async with alone(Stage(), Dispatcher) as dispatcher:
        begun = await dispatcher.tell(Role.R2, plan(planned("a"), planned("b"), planned("c", sequence=2)))
        assert [type(word) for word in begun] == [GroupStarted, SubTask, SubTask]
        assert await dispatcher.tell(Role.R4A, outcome("b")) == []
        group, ordered = await dispatcher.tell(Role.R4A, outcome("a"))
        assert group == GroupStarted(round=1, sequence=2, subtask_ids=("c",))
        assert isinstance(ordered, SubTask)
        assert [prior.subtask_id for prior in ordered.prior_outputs] == ["a", "b"]
        assert await dispatcher.tell(Role.R4A, outcome("c")) == [DispatchEnded(round=1, not_run=())]


async def test_the_dispatcher_passes_over_an_outcome_of_another_round() -> None:
    async with alone(Stage(), Dispatcher) as dispatcher:
        await dispatcher.tell(Role.R2, plan(planned("a"), number=2))
        assert await dispatcher.tell(Role.R4A, outcome("a", number=1)) == []


async def test_a_failed_group_ends_the_round_once_all_of_it_has_ended() -> None:
    async with alone(Stage(), Dispatcher) as dispatcher:
        await dispatcher.tell(Role.R2, plan(planned("a"), planned("b"), planned("c", sequence=2)))
        assert await dispatcher.tell(Role.R4A, outcome("a", SubTaskEnding.FAILED)) == []
        assert await dispatcher.tell(Role.R4A, outcome("b")) == [DispatchEnded(round=1, not_run=("c",))]


async def test_an_order_names_what_must_not_be_used() -> None:
    target = Target(tool="shell:wc", target="gone")
    async with alone(Stage(), Dispatcher) as dispatcher:
        await dispatcher.tell(Role.R7, directive(blocked_tools=("shell:awk",), blocked_targets=(target,)))
        (_, ordered) = await dispatcher.tell(Role.R2, plan(planned("a"), number=2))
    assert isinstance(ordered, SubTask)
    assert (ordered.blocked_tools, ordered.blocked_targets) == (("shell:awk",), (target,))


async def test_what_is_not_carried_is_taken_back_in_the_order_in_which_it_began() -> None:
    stage = Stage()
    async with alone(stage, Dispatcher) as dispatcher:
        await dispatcher.tell(Role.R2, plan(planned("late", sequence=2), planned("a"), planned("b")))
        await dispatcher.tell(Role.R4A, outcome("a"), outcome("b"))
        await dispatcher.tell(Role.R4A, outcome("late", SubTaskEnding.FAILED))
        await dispatcher.tell(Role.R2, plan(planned("late", sequence=2), planned("a"), number=2, carried=("a",)))
    assert stage.hands.reverted == [("r1/b/", "r1/late/")]


# --- R3 and its guard -----------------------------------------------------------------------------------------------


class Mind:
    """An executor that does what a test says."""

    def __init__(self, work: Callable[[GuardedTools], object], status: SubTaskStatus = SubTaskStatus.COMPLETED) -> None:
        self.work = work
        self.status = status
        self.records: list[ToolRecord] = []

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        told = self.work(tools)
        assert asyncio.iscoroutine(told)
        self.records = await told or []
        return Assertion(status=self.status, output="I did it all")


def call(**args: str) -> ToolCall:
    return ToolCall(tool="shell", args={"does": "ok", "program": "sh", "on": "x", **args})


async def execute(
    work: Callable[[GuardedTools], object], ordered: SubTask | None = None
) -> tuple[ExecutionResult, list[ToolCalled], Mind, ScriptedHands]:
    """One execution by a mind that does this."""
    mind = Mind(work)
    stage = Stage(executor=mind)
    async with alone(stage, ExecutorRole) as r3:
        await r3.tell(Role.DISPATCHER, ordered or order())
    return stage.only(ExecutionResult), stage.of(ToolCalled), mind, stage.hands


def each(*calls: ToolCall) -> Callable[[GuardedTools], object]:
    async def work(tools: GuardedTools) -> list[ToolRecord]:
        return [await tools.call(one) for one in calls]

    return work


def codes(calls: Iterable[ToolCalled]) -> list[str]:
    return [one.record.failure.code if one.record.failure else "" for one in calls]


async def test_ids_and_calls_of_an_execution_are_the_engine_s_own() -> None:
    result, calls, _, _ = await execute(each(call(n="1"), call(n="2")))
    assert (result.round, result.subtask_id, result.attempt) == (1, "count", 1)
    assert result.calls == ("r1/count/a1/c1", "r1/count/a1/c2") == tuple(one.key for one in calls)


async def test_a_correction_is_another_attempt_at_the_same_order() -> None:
    mind = Mind(each(call()))
    stage = Stage(executor=mind)
    correction = CorrectionSignal(
        round=1, subtask_id="count", attempt=1, what_was_wrong=("C1",), what_to_do="else", failure_class=None
    )
    async with alone(stage, ExecutorRole) as r3:
        await r3.tell(Role.DISPATCHER, order())
        await r3.tell(Role.R4A, correction)
    assert [result.attempt for result in stage.of(ExecutionResult)] == [1, 2]
    assert [one.key for one in stage.of(ToolCalled)] == ["r1/count/a1/c1", "r1/count/a2/c1"]


async def test_an_exact_repeat_is_refused_and_the_second_one_ends_the_execution() -> None:
    result, calls, _, hands = await execute(each(call(), call(), call(), call(n="other")))
    assert codes(calls) == ["", "repeated_call"]
    assert hands.performed == ["r1/count/a1/c1"]
    assert (result.status, result.output) == (SubTaskStatus.FAILED, "")
    assert "made again after it had been refused" in result.reason


async def test_forty_calls_are_enough() -> None:
    result, calls, _, hands = await execute(each(*(call(n=str(n)) for n in range(42))))
    assert len(calls) == len(hands.performed) == 40
    assert (result.status, result.reason) == (SubTaskStatus.FAILED, "more than 40 tool calls in one execution")
    assert len(result.calls) == 40


async def test_a_mind_that_swallows_its_end_gains_nothing() -> None:
    async def stubborn(tools: GuardedTools) -> None:
        for number in range(14):
            try:
                await tools.call(call(n=str(min(number, 1))))
            except Exception:
                continue

    result, calls, _, hands = await execute(stubborn)
    assert codes(calls) == ["", "", "repeated_call"]
    assert len(hands.performed) == 2
    assert result.status is SubTaskStatus.FAILED


async def test_calls_side_by_side_have_keys_of_their_own_and_keep_the_limit() -> None:
    async def hasty(tools: GuardedTools) -> None:
        await asyncio.gather(*(tools.call(call(n=str(n))) for n in range(42)), return_exceptions=True)

    result, calls, _, _ = await execute(hasty)
    assert len({one.key for one in calls}) == len(calls) == 40
    assert result.status is SubTaskStatus.FAILED


async def test_the_guard_refuses_blocked_tools_and_targets() -> None:
    blocked = order(blocked_tools=("shell:awk",), blocked_targets=(Target(tool="shell:wc", target="gone"),))
    work = each(call(program="awk"), call(program="wc", on="gone"), call(program="wc", on="there"), call(on="gone"))
    result, calls, mind, hands = await execute(work, blocked)
    assert codes(calls) == ["blocked_tool", "blocked_target", "", ""]
    assert hands.performed == ["r1/count/a1/c3", "r1/count/a1/c4"]
    assert [record.ok for record in mind.records] == [False, False, True, True]
    assert result.status is SubTaskStatus.COMPLETED


async def test_a_call_with_faults_is_told_so_and_counts_as_made() -> None:
    faulty = ToolCall(tool="shell", args={"program": "sh"})
    result, calls, _, hands = await execute(each(faulty, faulty, faulty))
    assert codes(calls) == ["bad_args", "repeated_call"]
    assert (hands.performed, result.status) == ([], SubTaskStatus.FAILED)


# --- R4a ------------------------------------------------------------------------------------------------------------


async def judged_by(
    stage: Stage, *words: object, ordered: SubTask | None = None
) -> tuple[SubTaskOutcome | CorrectionSignal, Stage]:
    async with alone(stage, AgentValidatorRole) as r4a:
        await r4a.tell(Role.DISPATCHER, ordered or order())
        (answer,) = await r4a.tell(Role.R3, *words)
    assert isinstance(answer, SubTaskOutcome | CorrectionSignal)
    return answer, stage


async def test_evidence_that_meets_every_criterion_matches() -> None:
    answer, _ = await judged_by(Stage(), called(), executed(called()))
    assert isinstance(answer, SubTaskOutcome)
    assert (answer.status, answer.calls, answer.failure_reason) == (SubTaskEnding.MATCHED, ("r1/count/a1/c1",), "")


async def test_an_uncertain_execution_is_judged_like_any_other() -> None:
    answer, stage = await judged_by(
        Stage(script={"*": "logical"}), called(), executed(called(), status=SubTaskStatus.UNCERTAIN)
    )
    assert isinstance(answer, CorrectionSignal)
    assert stage.judge.asked == ["r1/count/a1/verdict"]


@pytest.mark.parametrize("corrections_max", [1, 2, 3])
async def test_there_are_as_many_corrections_as_the_order_allows(corrections_max: int) -> None:
    stage = Stage(script={"*": "logical"})
    async with alone(stage, AgentValidatorRole) as r4a:
        await r4a.tell(Role.DISPATCHER, order(corrections_max=corrections_max))
        for attempt in range(1, corrections_max + 1):
            made = called(attempt=attempt)
            (answer,) = await r4a.tell(Role.R3, made, executed(made, attempt=attempt))
            assert isinstance(answer, CorrectionSignal)
            assert (answer.attempt, answer.what_was_wrong) == (attempt, ("C1: wrong",))
        made = called(attempt=corrections_max + 1)
        (last,) = await r4a.tell(Role.R3, made, executed(made, attempt=corrections_max + 1))
    assert isinstance(last, SubTaskOutcome)
    assert (last.status, len(last.trajectory), len(last.calls)) == (
        SubTaskEnding.FAILED,
        corrections_max + 1,
        corrections_max + 1,
    )


@pytest.mark.parametrize(
    ("calls", "failure_class"),
    [
        ((), FailureClass.LOGICAL),
        (("logical",), FailureClass.LOGICAL),
        (("environmental",), FailureClass.ENVIRONMENTAL),
    ],
)
async def test_a_claim_without_a_successful_call_proves_nothing(
    calls: Sequence[str], failure_class: FailureClass
) -> None:
    made = [called(does, number=number) for number, does in enumerate(calls, start=1)]
    answer, stage = await judged_by(Stage(), *made, executed(*made), ordered=order(corrections_max=0))
    assert isinstance(answer, SubTaskOutcome)
    assert (answer.status, stage.judge.asked, answer.failure_class) == (SubTaskEnding.FAILED, [], failure_class)
    assert answer.failure_reason == "no tool call succeeded, so nothing shows that anything was done"


async def test_a_failed_execution_fails_at_once_for_the_reason_of_its_last_call() -> None:
    made = (called(), called("environmental", number=2))
    answer, stage = await judged_by(Stage(), *made, executed(*made, status=SubTaskStatus.FAILED, reason="no such file"))
    assert isinstance(answer, SubTaskOutcome)
    assert (answer.status, stage.judge.asked) == (SubTaskEnding.FAILED, [])
    assert (answer.failure_reason, answer.failure_class) == (
        "the execution failed: no such file",
        FailureClass.ENVIRONMENTAL,
    )


def _invented(criteria: Sequence[Criterion]) -> list[CriterionVerdict]:
    return [CriterionVerdict(id="C99", answer=Answer.VERIFIED, reason="made up")]


def _twice(criteria: Sequence[Criterion]) -> list[CriterionVerdict]:
    return [VERDICTS["pass"](criterion) for criterion in (*criteria, *criteria)]


def _waived(criteria: Sequence[Criterion]) -> list[CriterionVerdict]:
    return [replace(VERDICTS["logical"](criterion), required=False) for criterion in criteria]


def _broken(criteria: Sequence[Criterion]) -> list[CriterionVerdict]:
    raise ConnectionError("no judge there")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda criteria: [], "the judge gave no verdicts"),
        (_invented, "the judge gave no verdicts"),
        (_twice, "the judge gave 2 verdicts"),
        (_broken, "the judge failed: ConnectionError: no judge there"),
        (_waived, "wrong"),
    ],
)
async def test_nothing_passes_because_of_what_a_judge_left_out_or_made_up(
    answer: Callable[[Sequence[Criterion]], Iterable[CriterionVerdict]], reason: str
) -> None:
    stage = Stage()
    stage.judge.answer = answer
    told, _ = await judged_by(stage, called(), executed(called()), ordered=order(corrections_max=0))
    assert isinstance(told, SubTaskOutcome)
    assert (told.status, told.failure_reason) == (SubTaskEnding.FAILED, reason)
    assert [(verdict.id, verdict.required) for verdict in told.verdicts] == [("C1", True)]


async def test_a_validator_that_broke_asks_for_no_correction() -> None:
    stage = Stage()
    stage.judge.answer = _broken
    told, _ = await judged_by(stage, called(), executed(called()))
    assert isinstance(told, SubTaskOutcome)
    assert (told.verdicts[0].answer, told.failure_class) == (Answer.UNCLEAR, None)


# --- R4b ------------------------------------------------------------------------------------------------------------


async def test_the_whole_is_accepted_when_all_matched_and_its_criteria_are_met() -> None:
    stage = Stage()
    async with alone(stage, MetaValidatorRole) as r4b:
        assert await r4b.tell(Role.R2, plan(planned("a"), planned("b"), count=1)) == []
        assert await r4b.tell(Role.R4A, outcome("b"), outcome("a")) == []
        (accepted,) = await r4b.tell(Role.DISPATCHER, DispatchEnded(round=1, not_run=()))
    assert isinstance(accepted, OutcomeSummary)
    assert accepted.merged_output == "[a]\noutput of a\n\n[b]\noutput of b"


@pytest.mark.parametrize("answer", [lambda criteria: [], _invented, _twice, _waived, _broken])
async def test_an_answer_that_is_none_rejects_the_whole(
    answer: Callable[[Sequence[Criterion]], Iterable[CriterionVerdict]],
) -> None:
    stage = Stage()
    stage.judge.answer = answer
    async with alone(stage, MetaValidatorRole) as r4b:
        await r4b.tell(Role.R2, plan(planned("a"), count=1))
        await r4b.tell(Role.R4A, outcome("a"))
        (rejected,) = await r4b.tell(Role.DISPATCHER, DispatchEnded(round=1, not_run=()))
    assert isinstance(rejected, ReplanRequest)
    assert (rejected.failed, len(rejected.task_verdicts)) == ((), 1)
    assert rejected.gap_summary.startswith("C1: ")


async def test_what_was_not_run_is_no_acceptance() -> None:
    async with alone(Stage(), MetaValidatorRole) as r4b:
        await r4b.tell(Role.R2, plan(planned("a"), planned("b", sequence=2)))
        await r4b.tell(Role.R4A, outcome("a", SubTaskEnding.FAILED))
        (rejected,) = await r4b.tell(Role.DISPATCHER, DispatchEnded(round=1, not_run=("b",)))
    assert isinstance(rejected, ReplanRequest)
    assert rejected.gap_summary == "a: wrong; b: not run"


# --- R7 -------------------------------------------------------------------------------------------------------------


async def test_the_solver_alone_ends_a_run_and_does_it_once() -> None:
    stage = Stage()
    async with alone(stage, SolverRole) as r7:
        await r7.tell(Role.R1, SPEC)
        await r7.tell(Role.R2, plan(planned("count")))
        await r7.tell(Role.R4A, outcome())
        words = await r7.tell(Role.R4B, OutcomeSummary(round=1, merged_output="", task_verdicts=()))
        assert isinstance(words[-1], FinalResult)
        late = StopRequested(cause=AbandonCause.USER, detail="too late")
        assert await r7.tell(Role.USER, late, late) == []
    assert len(stage.of(FinalResult)) == 1


async def test_a_run_that_is_stopped_before_it_was_understood_ends_with_nothing() -> None:
    stage = Stage()
    async with alone(stage, SolverRole) as r7:
        (end,) = await r7.tell(Role.USER, StopRequested(cause=AbandonCause.USER, detail="Ctrl+C"))
    assert isinstance(end, FinalResult)
    assert (end.cause, end.round, end.elapsed_ms, end.done, end.unmet) == (AbandonCause.USER, 0, 0, (), ())


async def test_a_run_that_was_never_understood_is_remembered_by_the_users_words() -> None:
    stage = Stage()
    async with alone(stage, SolverRole) as r7:
        asked = TaskRequested(raw_input="Count all the lines", budget=Budget(time_ms=1))
        told, _ = await r7.tell(Role.USER, asked, StopRequested(cause=AbandonCause.UNANSWERED, detail="no model"))
    assert isinstance(told, MegramEmitted)
    assert told.lesson.tag == Tag(space="intent:count_all_the", entity="cause:unanswered")


async def test_rounds_that_fail_are_answered_with_a_directive_under_the_one_before() -> None:
    stage = Stage()
    async with alone(stage, SolverRole) as r7:
        await r7.tell(Role.R1, SPEC)
        said = [await failing_round(r7, number) for number in (1, 2)]
    assert [(d.round, d.previous) for d in said] == [(1, "init"), (2, "break_symmetry")]
    assert [(one.scope, one.reason) for one in said[0].unmet] == [("count", "wrong")]


async def failing_round(r7: Dialogue, number: int) -> PlanDirective:
    await r7.tell(Role.R2, plan(planned("count"), number=number))
    await r7.tell(Role.R4A, outcome(status=SubTaskEnding.FAILED, number=number))
    request = ReplanRequest(round=number, failed=("count",), not_run=(), task_verdicts=(), gap_summary="wrong")
    (said,) = await r7.tell(Role.R4B, request)
    assert isinstance(said, PlanDirective)
    return said
