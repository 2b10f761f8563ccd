"""Does a task come through all roles to exactly one honest end?"""

import asyncio
from dataclasses import replace

import pytest
from engine_stage import REQUEST, ScriptedHands, Stage, approach, criteria, playbook, resumed, settle, subtask

from earnest.contracts.playbook import Playbook
from earnest.engine.engine import Engine
from earnest.engine.gradient.cascade import AbandonCause, MacroState, Urgency
from earnest.engine.gradient.constants import Constants
from earnest.engine.memory_messages import MegramEmitted
from earnest.engine.messages import (
    CorrectionSignal,
    DispatchEnded,
    ExecutionResult,
    FinalResult,
    GroupStarted,
    PlanDirective,
    PlannedSubTask,
    PlanningFailed,
    PlanReady,
    ReplanRequest,
    SubTask,
    SubTaskOutcome,
    TaskRequested,
    TaskSpec,
    ToolCalled,
    Usage,
)
from earnest.engine.ports import EffectUnknown, GivenUp, PlanningContext, RoleModel
from earnest.engine.run import RunLimits
from earnest.foundation.errors import Broken, EarnestError
from earnest.foundation.instants import DAY_MS
from earnest.memory.megram import Level, Tag, approach_tag
from earnest.memory.potential import Potentials
from earnest.verification import verdict

TWO_WAYS = playbook(subtask("count", approach("wc"), approach("python")))


def speaks_against_nothing(stage: Stage) -> bool:
    """One Megram, of how it ended, apart from what plans are made from."""
    (told,) = stage.of(MegramEmitted)
    return told.lesson.tag.entity.startswith("cause:")


async def test_a_promise_kept_at_once_is_accepted() -> None:
    stage = Stage(playbook(subtask("count", approach("wc")), count=1))
    result = await stage.work()
    assert stage.kinds == [
        "TaskRequested",
        "TaskSpec",
        "MemoryAsked",
        "MemoryAnswered",
        "PlanReady",
        "GroupStarted",
        "SubTask",
        "ToolCalled",
        "ExecutionResult",
        "SubTaskOutcome",
        "DispatchEnded",
        "OutcomeSummary",
        *["MegramEmitted"] * 3,
        "FinalResult",
    ]
    assert (result.directive, result.cause, result.unmet, result.replans) == (MacroState.ACCEPT, None, (), 0)
    assert (result.done, result.not_done, result.output) == (("count",), (), "[count]\nput out by wc")
    assert result.usage == Usage()


async def test_what_is_close_enough_is_delivered_with_what_is_missing_named() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), count=10)), {"*/C7": "logical"})
    result = await stage.work()
    assert (result.directive, result.cause) == (MacroState.SUCCESS, None)
    assert [(unmet.scope, unmet.text, unmet.reason) for unmet in result.unmet] == [("count", "criterion 7", "wrong")]
    assert (result.done, result.not_done) == ((), ("count",))


async def test_a_wrong_approach_is_replaced_by_the_next() -> None:
    stage = Stage(TWO_WAYS, {"r1/*": "logical"})
    result = await stage.work()
    directive = stage.only(PlanDirective)
    assert (directive.directive, directive.previous) == (MacroState.BREAK_SYMMETRY, "init")
    assert [(tried.subtask, tried.approach) for tried in directive.blocked_approaches] == [("count", "wc")]
    assert directive.blocked_tools == ("shell:wc",)
    assert [plan.subtasks[0].approach for plan in stage.of(PlanReady)] == [approach("wc"), approach("python")]
    assert stage.hands.reverted == [("r1/count/",)]
    assert (result.directive, result.round, result.replans) == (MacroState.ACCEPT, 2, 1)


async def test_a_moving_quality_changes_the_approach_and_a_standing_one_breaks_the_symmetry() -> None:
    book = playbook(subtask("count", *(approach(name) for name in "abc"), count=10))
    script = {"r1/count/a1/C?": "logical", "r1/count/a1/C10": "logical", "r2/count/a1/C[1-6]": "logical"}
    stage = Stage(book, script)
    result = await stage.work()
    assert [d.directive for d in stage.of(PlanDirective)] == [MacroState.BREAK_SYMMETRY, MacroState.CHANGE_APPROACH]
    assert (result.directive, result.replans) == (MacroState.ACCEPT, 2)


async def test_what_the_environment_refused_is_left_alone_afterwards() -> None:
    book = playbook(subtask("count", approach("wc", "environmental", on="gone"), approach("python", on="there")))
    stage = Stage(book)
    result = await stage.work()
    directive = stage.only(PlanDirective)
    assert directive.directive is MacroState.CHANGE_PATH
    assert [(target.tool, target.target) for target in directive.blocked_targets] == [("shell:wc", "gone")]
    assert directive.blocked_tools == ()
    assert result.directive is MacroState.ACCEPT


# --- every way to give up -------------------------------------------------------------------------------------------


async def test_a_spent_budget_of_replans_abandons() -> None:
    book = playbook(subtask("count", *(approach(name) for name in "abcd"), count=2))
    stage = Stage(book, {"*/C1": "unclassified"}, constants=Constants(max_replans=1))
    result = await stage.work()
    assert (result.directive, result.cause, result.replans) == (MacroState.ABANDON, AbandonCause.BUDGET, 1)


async def test_three_replans_are_allowed_and_the_fourth_failing_round_is_the_last() -> None:
    book = playbook(subtask("count", *(approach(name) for name in "abcdef")))
    result = await Stage(book, {"*": "unclassified"}).work()
    assert (result.cause, result.round, result.replans) == (AbandonCause.BUDGET, 4, 3)


async def test_a_run_over_its_time_is_ended_with_what_there_is() -> None:
    book = playbook(subtask("quick", approach("wc")), subtask("slow", approach("sleep", "hang"), sequence=2))
    stage = Stage(book)

    async def let_time_pass(_: Engine) -> None:
        await stage.hands.hanging.wait()
        await stage.clock.advance_ms(301_000)

    result = await stage.work(let_time_pass)
    assert (result.directive, result.cause) == (MacroState.ABANDON, AbandonCause.TIME)
    assert (result.done, result.not_done) == (("quick",), ("slow",))
    assert stage.hands.cancelled == ["r1/slow/a1/c1"]
    assert result.elapsed_ms >= 300_000


@pytest.mark.parametrize("days", [-1, 1])
async def test_a_clock_that_is_set_meanwhile_moves_no_deadline(days: int) -> None:
    stage = Stage(playbook(subtask("slow", approach("sleep", "hang"))))

    async def set_the_clock(_: Engine) -> None:
        await stage.hands.hanging.wait()
        stage.clock.set_by_ms(days * DAY_MS)
        await stage.clock.advance_ms(299_000)
        assert stage.hands.cancelled == []
        await stage.clock.advance_ms(2_000)

    result = await stage.work(set_the_clock)
    assert (result.cause, stage.hands.cancelled) == (AbandonCause.TIME, ["r1/slow/a1/c1"])


async def test_a_result_that_becomes_worse_twice_ends_the_run() -> None:
    book = playbook(subtask("count", *(approach(name) for name in "abcde"), count=10))
    script = {
        "r1/*/C[1-4]": "unclassified",
        "r2/*/C[1-7]": "unclassified",
        "r3/*": "unclassified",
    }
    stage = Stage(book, script, constants=Constants(max_replans=10))
    result = await stage.work()
    assert (result.cause, result.round) == (AbandonCause.DIVERGENCE, 3)
    assert [d.urgency for d in stage.of(PlanDirective)] == [Urgency.NORMAL, Urgency.HIGH]
    assert [plan.corrections_max for plan in stage.of(PlanReady)] == [2, 2, 1]


async def test_nothing_left_to_try_ends_the_run() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"))), {"*": "logical"})
    result = await stage.work()
    assert (result.cause, stage.only(PlanningFailed).exhausted) == (AbandonCause.EXHAUSTED, True)
    assert {m.lesson.tag.space for m in stage.of(MegramEmitted)} >= {"intent:counting"}


async def test_a_check_that_cannot_run_ends_the_run_at_once_and_blames_nobody() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), approach("awk")), subtask("sort", approach("sort"))))
    stage.judge.answer = lambda criteria: [
        verdict.CriterionVerdict(
            id=criterion.id,
            answer=verdict.Answer.UNCLEAR,
            cause=verdict.Cause.VERIFIER,
            reason="no such program",
            cannot_run=True,
        )
        for criterion in criteria
    ]
    result = await stage.work()
    assert (result.directive, result.cause, result.replans) == (MacroState.ABANDON, AbandonCause.UNCLEAR, 0)
    assert "no such program" in result.summary
    assert speaks_against_nothing(stage)
    assert stage.of(CorrectionSignal) == []


async def test_an_unclear_end_says_so_and_speaks_against_nothing() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"))), {"*": "unclear"})
    result = await stage.work()
    assert (result.directive, result.cause) == (MacroState.ABANDON, AbandonCause.UNCLEAR)
    assert speaks_against_nothing(stage)
    assert stage.of(CorrectionSignal) == []
    assert [unmet.reason for unmet in result.unmet] == ["no idea"]


async def test_the_user_ends_a_run_and_its_work() -> None:
    stage = Stage(playbook(subtask("count", approach("sleep", "hang"))))

    async def interrupt(engine: Engine) -> None:
        await stage.hands.hanging.wait()
        engine.stop("run", AbandonCause.USER, "Ctrl+C")
        engine.stop("run", AbandonCause.USER, "Ctrl+C again")
        engine.stop("no such run", AbandonCause.USER, "Ctrl+C")

    result = await stage.work(interrupt)
    assert (result.cause, stage.hands.cancelled) == (AbandonCause.USER, ["r1/count/a1/c1"])
    assert speaks_against_nothing(stage)


@pytest.mark.parametrize(
    ("error", "cause"),
    [(GivenUp("nobody knows"), AbandonCause.UNKNOWN_EFFECT), (RuntimeError("no bug"), AbandonCause.FAULT)],
)
async def test_hands_that_may_not_or_cannot_end_the_run_and_say_why(error: Exception, cause: AbandonCause) -> None:
    stage = Stage(hands=ScriptedHands(raising=error))
    result = await stage.work()
    assert (result.directive, result.cause) == (MacroState.ABANDON, cause)
    assert str(error) in result.summary
    assert speaks_against_nothing(stage)


@pytest.mark.parametrize("error", [EffectUnknown("nobody knows"), OSError(5, "no disk"), Broken("no book")])
async def test_hands_whose_disk_fails_or_that_cannot_tell_end_nothing(error: Exception) -> None:
    stage = Stage(hands=ScriptedHands(raising=error))
    with pytest.raises(type(error)):
        await stage.work()
    assert stage.of(FinalResult) == []


class SilentPlanner:
    """Never comes to a plan."""

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        return ()

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady:
        await asyncio.get_running_loop().create_future()
        raise AssertionError


async def test_silence_becomes_an_honest_end() -> None:
    stage = Stage(planner=SilentPlanner(), limits=RunLimits(silence_ms=2_000))

    async def wait(_: Engine) -> None:
        await settle()
        await stage.clock.advance_ms(3_000)

    result = await stage.work(wait)
    assert (result.cause, result.summary) == (
        AbandonCause.SILENCE,
        "The run fell silent. (no message for 2 s)",
    )


async def test_an_effect_that_takes_long_is_no_silence() -> None:
    stage = Stage(playbook(subtask("count", approach("sleep", "hang"))), limits=RunLimits(silence_ms=2_000))

    async def wait(engine: Engine) -> None:
        await stage.hands.hanging.wait()
        await stage.clock.advance_ms(60_000)
        assert stage.of(FinalResult) == []
        engine.stop("run", AbandonCause.USER, "enough")

    assert (await stage.work(wait)).cause is AbandonCause.USER


class BadDrafts:
    """Plans that break the rules, as often as they are asked for."""

    def __init__(self, *drafts: PlanReady) -> None:
        self.drafts = list(drafts)
        self.objections: list[tuple[str, ...]] = []

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        return ()

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady:
        self.objections.append(context.objections)
        return self.drafts.pop(0)


EMPTY = PlanReady(round=1, task_criteria=(), subtasks=())
GOOD = replace(EMPTY, round=77, subtasks=(PlannedSubTask(id="a", sequence=1, intent="do", criteria=criteria(1)),))


async def test_a_plan_that_breaks_the_rules_twice_is_not_worked() -> None:
    planner = BadDrafts(EMPTY, EMPTY)
    stage = Stage(planner=planner)
    result = await stage.work()
    assert (result.cause, stage.hands.performed) == (AbandonCause.PLANNING, [])
    assert planner.objections == [(), ("a plan needs at least one subtask",)]
    assert speaks_against_nothing(stage)


async def test_a_draft_that_breaks_a_rule_goes_back_with_the_reasons_once() -> None:
    stage = Stage(TWO_WAYS, planner=BadDrafts(EMPTY, replace(GOOD, subtasks=_planned(TWO_WAYS))))
    assert (await stage.work()).directive is MacroState.ACCEPT
    assert stage.only(PlanReady).round == 1


def _planned(book: Playbook) -> tuple[PlannedSubTask, ...]:
    return tuple(
        PlannedSubTask(id=s.id, sequence=s.sequence, intent=s.intent, criteria=s.criteria, approach=s.approaches[0])
        for s in book.subtasks
    )


# --- the fast loop --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("failing", "executions", "ending"), [(1, 2, MacroState.ACCEPT), (2, 3, MacroState.ACCEPT)])
async def test_a_correction_can_close_the_gap(failing: int, executions: int, ending: MacroState) -> None:
    book = playbook(subtask("count", approach("wc", corrections=2)))
    stage = Stage(book, {f"r1/count/a{n}/*": "logical" for n in range(1, failing + 1)})
    result = await stage.work()
    assert (result.directive, result.replans) == (ending, 0)
    assert [executed.attempt for executed in stage.of(ExecutionResult)] == list(range(1, executions + 1))
    assert [gap.score_permille for gap in stage.only(SubTaskOutcome).trajectory] == [0] * failing + [1000]


async def test_two_corrections_and_three_executions_are_the_most() -> None:
    stage = Stage(playbook(subtask("count", approach("wc", corrections=3))), {"*": "logical"})
    await stage.work()
    assert len(stage.of(CorrectionSignal)) == 2
    assert len(stage.of(ExecutionResult)) == 3


async def test_an_execution_that_failed_is_not_judged_and_not_repeated() -> None:
    stage = Stage(playbook(subtask("count", approach("wc", "logical", corrections=2))))
    await stage.work()
    assert (stage.judge.asked, len(stage.of(ExecutionResult)), stage.of(CorrectionSignal)) == ([], 1, [])


# --- groups, and what stands from one round to the next ---------------------------------------------------------------


async def test_a_group_gets_what_the_groups_before_it_put_out() -> None:
    book = playbook(
        subtask("a", approach("one")), subtask("b", approach("two")), subtask("c", approach("three"), sequence=2)
    )
    stage = Stage(book)
    await stage.work()
    assert [group.subtask_ids for group in stage.of(GroupStarted)] == [("a", "b"), ("c",)]
    priors = {order.subtask.id: order.prior_outputs for order in stage.of(SubTask)}
    assert priors["a"] == ()
    assert [(prior.subtask_id, prior.output) for prior in priors["c"]] == [
        ("a", "put out by one"),
        ("b", "put out by two"),
    ]


async def test_a_group_that_failed_stops_the_later_ones_and_their_criteria_count() -> None:
    book = playbook(subtask("a", approach("one")), subtask("b", approach("two"), sequence=2, count=3), count=1)
    stage = Stage(book, {"*/a/*": "environmental"})
    result = await stage.work()
    assert stage.only(DispatchEnded).not_run == ("b",)
    assert [order.subtask.id for order in stage.of(SubTask)] == ["a"]
    assert stage.only(PlanDirective).loss.distance == 1.0
    assert [(unmet.scope, unmet.reason) for unmet in result.unmet] == [
        ("a", "in the way"),
        *[("b", "not run")] * 3,
        ("task", "not run"),
    ]


async def test_only_so_many_subtasks_run_at_once() -> None:
    book = playbook(*(subtask(f"s{n}", approach("sleep", "hang")) for n in range(5)))
    stage = Stage(book, limits=RunLimits(parallel_subtasks=2))

    async def look(engine: Engine) -> None:
        await stage.hands.hanging.wait()
        await settle()
        assert len(stage.of(SubTask)) == 2
        engine.stop("run", AbandonCause.USER, "enough")

    await stage.work(look)
    assert len(stage.hands.cancelled) == 2


async def test_what_matched_is_carried_and_not_worked_again() -> None:
    book = playbook(
        subtask("good", approach("one")),
        subtask("bad", approach("two"), approach("three")),
        subtask("after", approach("four"), sequence=2),
    )
    stage = Stage(book, {"r1/bad/*": "logical"})
    result = await stage.work()
    assert stage.of(PlanReady)[1].carried == ("good",)
    assert [(order.round, order.subtask.id) for order in stage.of(SubTask)] == [
        (1, "good"),
        (1, "bad"),
        (2, "bad"),
        (2, "after"),
    ]
    assert stage.hands.reverted == [("r1/bad/",)]
    assert (result.directive, result.done) == (MacroState.ACCEPT, ("good", "bad", "after"))


async def test_what_was_taken_back_is_not_delivered() -> None:
    """The second round works `late` anew and does not come to it: its first outcome must not stand."""
    book = playbook(subtask("late", approach("a"), sequence=2), subtask("early", approach("b"), approach("c")), count=1)
    stage = Stage(book, {"r1/task/*": "logical", "r2/early/*": "logical"})
    result = await stage.work()
    assert stage.hands.reverted[0] == ("r1/early/", "r1/late/")
    assert [order.subtask.id for order in stage.of(SubTask)] == ["early", "late", "early"]
    assert (result.done, result.not_done) == ((), ("late", "early"))
    assert "late" not in result.output
    assert ("late", "not run") in [(unmet.scope, unmet.reason) for unmet in result.unmet]


async def test_a_failing_subtask_is_changed_before_one_that_matched() -> None:
    book = playbook(subtask("bad", approach("a"), approach("b")), subtask("good", approach("c"), approach("d")))
    stage = Stage(book, {"r1/bad/*": "unclassified"})
    await stage.work()
    second = stage.of(PlanReady)[1]
    assert [s.approach.id for s in second.subtasks if s.approach] == ["b", "c"]
    assert second.carried == ("good",)


# --- R4b ------------------------------------------------------------------------------------------------------------


async def test_a_rejected_whole_is_never_a_success_however_small_the_distance() -> None:
    book = playbook(subtask("count", approach("wc"), approach("python"), count=9), count=1)
    stage = Stage(book, {"r1/task/*": "logical"})
    result = await stage.work()
    first = stage.only(PlanDirective)
    assert first.loss.distance == pytest.approx(0.1)
    assert not first.directive.ends
    assert stage.only(ReplanRequest).failed == ()
    assert result.directive is MacroState.ACCEPT


async def test_a_failed_subtask_is_rejected_without_judging_the_whole() -> None:
    stage = Stage(playbook(subtask("count", approach("wc")), count=1), {"r1/count/*": "logical"})
    await stage.work()
    assert stage.judge.asked == ["r1/count/a1/verdict"]
    assert stage.only(ReplanRequest).failed == ("count",)


async def test_a_subtask_that_requires_nothing_can_fail_all_the_same() -> None:
    """Else R7 would accept over R4b's rejection: nothing that is required failed."""
    book = playbook(subtask("count", approach("wc", "logical"), required=False))
    stage = Stage(book)
    result = await stage.work()
    assert stage.only(SubTaskOutcome).failure_reason == "the execution failed: step 1 (shell): logical"
    assert (result.directive, result.cause) == (MacroState.ABANDON, AbandonCause.EXHAUSTED)
    assert [(unmet.text, unmet.scope) for unmet in result.unmet] == [("the subtask is done", "count")]


async def test_what_is_not_required_cannot_fail_the_whole() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), required=False)), {"*": "logical"})
    assert (await stage.work()).directive is MacroState.ACCEPT


async def test_a_subtask_called_task_is_not_mistaken_for_the_whole() -> None:
    book = playbook(subtask("task", approach("wc")), count=1)
    stage = Stage(book, {"r1/task/a1/C1": "unclassified", "r?/task/C1": "pass"})
    result = await stage.work()
    assert [unmet.reason for unmet in result.unmet] == ["not there", "not run"]


# --- memory ---------------------------------------------------------------------------------------------------------


def remembered(**decisions: float) -> dict[Tag, Potentials]:
    return {
        approach_tag("counting", "count", name): Potentials(attention=1.0, decision=decision)
        for name, decision in decisions.items()
    }


async def test_what_memory_says_to_avoid_is_left_out_while_another_way_is_left_and_the_plan_says_so() -> None:
    stage = Stage(TWO_WAYS)
    stage.recall.known = remembered(wc=-0.8)
    await stage.work()
    plan = stage.only(PlanReady)
    assert plan.subtasks[0].approach == approach("python")
    assert plan.notes == ("count: wc is left out, memory says to avoid it (decision -0.80)",)


async def test_what_worked_before_is_tried_first_and_the_plan_says_so() -> None:
    stage = Stage(TWO_WAYS)
    stage.recall.known = remembered(python=0.9)
    await stage.work()
    plan = stage.only(PlanReady)
    assert plan.subtasks[0].approach == approach("python")
    assert plan.notes == ("count: python is preferred, it has worked before (decision +0.90)",)


async def test_an_approach_to_avoid_is_tried_when_nothing_else_is_left_and_the_plan_says_so() -> None:
    stage = Stage(TWO_WAYS, {"r1/*": "unclassified"})
    stage.recall.known = remembered(python=-0.8)
    result = await stage.work()
    first, second = stage.of(PlanReady)
    assert first.subtasks[0].approach == approach("wc")
    assert second.subtasks[0].approach == approach("python")
    assert second.notes == (
        "count: python is tried although memory advises against it, nothing else is left (decision -0.80)",
    )
    assert result.directive is MacroState.ACCEPT


async def test_the_solver_sees_every_untried_way_whatever_is_blocked_just_now() -> None:
    book = playbook(subtask("first", *(approach(name) for name in "ab")), subtask("later", approach("b"), sequence=2))
    stage = Stage(book, {"r1/first/*": "logical"})
    result = await stage.work()
    first, second = stage.of(PlanReady)
    assert [(ways.chosen, ways.untried) for ways in first.alternatives] == [
        (("shell:a",), (("shell:b",),)),
        (("shell:b",), ()),
    ]
    assert second.alternatives[0].untried == ()
    assert result.directive is MacroState.ACCEPT


async def test_the_only_tool_of_a_subtask_that_was_not_run_is_not_blocked() -> None:
    book = playbook(subtask("first", approach("a"), approach("b")), subtask("later", approach("a"), sequence=2))
    stage = Stage(book, {"r1/first/*": "logical"})
    result = await stage.work()
    assert stage.only(PlanDirective).blocked_tools == ()
    assert result.directive is MacroState.ACCEPT


async def test_each_megram_has_an_id_of_its_own_and_the_run_leaves_one_entry_of_knowledge() -> None:
    stage = Stage(TWO_WAYS, {"r1/*": "logical"})
    await stage.work()
    megrams = stage.of(MegramEmitted)
    assert len({megram.megram_id for megram in megrams}) == len(megrams)
    assert [megram.lesson.level for megram in megrams].count(Level.K) == 1


# --- many runs, and runs in several lives ---------------------------------------------------------------------------


async def test_no_role_remembers_a_run_after_its_end() -> None:
    stage = Stage()
    async with Engine(bus=stage.bus, clock=stage.clock, recall=stage.recall) as engine:
        await engine.work(stage.run(), REQUEST)
        await settle()
        assert engine._runs == {}
        assert [role._states for role, _ in engine._inboxes] == [{}] * len(engine._inboxes)


async def test_runs_beside_each_other_do_not_hear_each_other() -> None:
    stage = Stage(TWO_WAYS, {"r1/*": "logical"})
    async with Engine(bus=stage.bus, clock=stage.clock, recall=stage.recall) as engine:
        runs = [stage.run() for _ in range(8)]
        for number, run in enumerate(runs):
            run.post.run_id = f"run{number}"
        results = await asyncio.gather(*(engine.work(run, REQUEST) for run in runs))
    assert {result.directive for result in results} == {MacroState.ACCEPT}
    assert {envelope.run_id for envelope in stage.heard} == {f"run{number}" for number in range(8)}
    assert all(
        envelope.causation_id is None or envelope.causation_id.startswith(f"{envelope.run_id}/")
        for envelope in stage.heard
    )


async def test_one_run_too_many_is_refused() -> None:
    stage = Stage()
    async with Engine(bus=stage.bus, clock=stage.clock, recall=stage.recall) as engine:
        engine._runs.update({str(number): stage.run() for number in range(32)})
        with pytest.raises(EarnestError, match="in flight already"):
            await engine.work(stage.run(), REQUEST)
        engine._runs.clear()


@pytest.mark.slow
async def test_a_run_resumed_after_any_message_comes_to_the_same_end() -> None:
    book = playbook(
        subtask("a", approach("one")), subtask("b", approach("two"), approach("three"), sequence=2), count=1
    )
    first = Stage(book, {"r1/b/*": "logical"})
    result = await first.work()
    for kept in range(1, len(first.heard) + 1):
        again = resumed(first, kept=kept)
        ended = await again.work()
        assert (ended.directive, ended.done, ended.round) == (result.directive, result.done, result.round)
        lived_through = {envelope.id for envelope in again.heard if envelope.replayed}
        assert lived_through <= {envelope.id for envelope in first.heard[:kept]}
        assert {e.id for e in again.heard if e.kind != "RunResumed"} <= {e.id for e in first.heard}


async def test_the_request_names_the_budget_that_the_auditor_holds_against_the_result() -> None:
    stage = Stage()
    await stage.work()
    assert stage.only(TaskRequested).budget.time_ms == 300_000
    assert stage.only(ToolCalled).key == "r1/count/a1/c1"
