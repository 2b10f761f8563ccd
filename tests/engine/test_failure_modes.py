"""Has what went wrong before come back? One test for each failure that was seen when this was built without a promise.

| failure | here |
|---|---|
| silence on any branch | yes |
| duplicate or invented ids | yes |
| state leaking into the next run | yes |
| a failed subtask followed by its successors | yes |
| success reported over a rejection | yes |
| prose outranking tool output | yes |
| an old file taken as proof of a new action | yes |
| later checks taken as proof of an earlier action | yes |
| head-only truncation hiding the result | yes |
| retries that forget what was tried | yes |
| the same call ten times | yes |
| memory lost at exit | yes |
| memory written for the wrong cause | yes |
| one bucket for all non-Latin intents | yes |
| an abort that leaves tools running | yes |
| abandon shown as success | yes |
| model prose around JSON, several objects, think blocks, fences | when models come |
| a slow unstreamed answer cut off | when models come |
| an unreachable endpoint hanging for minutes | when models come |
| a greeting costing a pipeline | when models come |
"""

import asyncio
import errno
from dataclasses import replace

import pytest
from engine_stage import REQUEST, Stage, approach, playbook, settle, step, subtask

from earnest.contracts.playbook import Approach
from earnest.effects.hands.tools.record import excerpt
from earnest.engine.engine import Engine
from earnest.engine.facts import MEGRAM, message_fact
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.memory_messages import MegramEmitted
from earnest.engine.messages import (
    CorrectionSignal,
    FinalResult,
    PlanDirective,
    PlanReady,
    SubTask,
    SubTaskOutcome,
    SubTaskStatus,
    TaskRequested,
    TaskSpec,
)
from earnest.engine.ports import Assertion, GuardedTools, PlanningContext, RoleModel
from earnest.foundation.errors import Broken
from earnest.foundation.text import EXCERPT_CHARACTERS_MAX
from earnest.memory.megram import Tag, intent_tag


class FailingMind:
    """A perceiver, planner or executor that raises, whatever it is asked."""

    async def perceive(self, request: TaskRequested, model: RoleModel) -> TaskSpec:
        raise ValueError("no answer")

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        raise ValueError("no answer")

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady:
        raise AssertionError

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        raise ValueError("no answer")


@pytest.mark.parametrize("branch", ["perceiver", "planner", "executor"])
async def test_a_mind_that_raises_is_no_silence(branch: str) -> None:
    stage = Stage()
    setattr(stage, branch, FailingMind())
    result = await stage.work()
    assert (result.directive, result.cause) == (MacroState.ABANDON, AbandonCause.FAULT)
    assert "no answer" in result.summary


async def test_a_judge_that_raises_is_no_silence() -> None:
    def fail(_: object) -> tuple[()]:
        raise TimeoutError("no judge")

    stage = Stage()
    stage.judge.answer = fail
    assert (await stage.work()).cause is AbandonCause.UNCLEAR


@pytest.mark.parametrize("error", [Broken("no book"), OSError(errno.ENOSPC, "no space")])
async def test_a_judge_whose_disk_fails_ends_nothing(error: Exception) -> None:
    def fail(_: object) -> tuple[()]:
        raise error

    stage = Stage()
    stage.judge.answer = fail
    with pytest.raises(type(error)):
        await stage.work()
    assert not stage.of(FinalResult)


async def test_verdicts_with_duplicate_or_invented_ids_do_not_pass() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), count=2)))
    stage.judge.answer = lambda criteria: [
        replace(stage.judge._verdict("", criteria[0]), id=identity) for identity in ("C1", "C1", "C3")
    ]
    result = await stage.work()
    assert result.cause is AbandonCause.UNCLEAR
    assert [unmet.reason for unmet in result.unmet] == ["the judge gave 2 verdicts", "the judge gave no verdicts"]


async def test_the_next_run_knows_nothing_of_the_one_before() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), approach("python"))), {"r1/*": "logical"})
    async with Engine(bus=stage.bus, clock=stage.clock, recall=stage.recall) as engine:
        results = [await engine.work(stage.run(), REQUEST) for _ in range(2)]
        await settle()
    half = len(stage.heard) // 2
    assert [replace(e, payload=None) for e in stage.heard[:half]] == [
        replace(e, payload=None) for e in stage.heard[half:]
    ]
    assert results[0] == results[1]


async def test_a_failed_subtask_is_not_followed_by_its_successors() -> None:
    book = playbook(subtask("a", approach("one", "logical")), subtask("b", approach("two"), sequence=2))
    stage = Stage(book)
    await stage.work()
    assert [order.subtask.id for order in stage.of(SubTask)] == ["a"]


@pytest.mark.parametrize("word", ["logical", "unclear"])
async def test_no_success_is_reported_over_a_rejection(word: str) -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), count=20), count=1), {"r?/task/*": word})
    result = await stage.work()
    assert result.loss is not None
    assert result.loss.distance < 0.3
    assert result.directive is MacroState.ABANDON


class Liar:
    """Says that all is done and has not lifted a finger."""

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        return Assertion(
            status=SubTaskStatus.COMPLETED, output="Done! All criteria are met, I have checked them twice."
        )


async def test_no_prose_outranks_the_records() -> None:
    stage = Stage(executor=Liar())
    result = await stage.work()
    assert result.directive is MacroState.ABANDON
    assert stage.judge.asked == []
    assert "nothing shows" in stage.only(SubTaskOutcome).failure_reason


async def test_what_a_failed_attempt_left_is_taken_back_before_the_next_begins() -> None:
    stage = Stage(playbook(subtask("count", approach("wc"), approach("python"))), {"r1/*": "logical"})
    performed_at_revert: list[list[str]] = []
    revert = stage.hands.revert

    async def noting(key: str, call_prefixes: list[str]) -> None:
        performed_at_revert.append(list(stage.hands.performed))
        await revert(key, call_prefixes)

    stage.hands.revert = noting  # type: ignore[method-assign,assignment]
    await stage.work()
    assert performed_at_revert == [["r1/count/a1/c1"]]
    assert stage.hands.performed == ["r1/count/a1/c1", "r2/count/a1/c1"]


async def test_a_later_call_that_works_does_not_prove_an_earlier_one_that_failed() -> None:
    way = Approach(id="copy", steps=(step("logical", program="cp"), step("ok", program="ls")))
    stage = Stage(playbook(subtask("count", way)))
    result = await stage.work()
    assert stage.hands.performed == ["r1/count/a1/c1"]
    assert result.directive is MacroState.ABANDON


def test_the_result_at_the_end_of_a_long_output_stays_visible() -> None:
    shown = excerpt(b"noise\n" * 10_000 + b"42 files", b"")
    assert shown.startswith("noise")
    assert shown.endswith("42 files")
    assert len(shown) < EXCERPT_CHARACTERS_MAX + 100


async def test_no_round_repeats_what_was_tried() -> None:
    book = playbook(
        subtask("a", *(approach(name) for name in "pq")), subtask("b", *(approach(name) for name in "rs")), count=1
    )
    stage = Stage(book, {"r?/task/*": "unclassified"})
    await stage.work()
    plans = [tuple(s.approach.id for s in plan.subtasks if s.approach) for plan in stage.of(PlanReady)]
    assert plans == [("p", "r"), ("p", "s"), ("q", "r"), ("q", "s")]


async def test_the_same_call_is_not_made_ten_times() -> None:
    way = Approach(id="again", steps=(step("ok"), *(step("ok", again="x") for _ in range(9))))
    stage = Stage(playbook(subtask("count", way)))
    await stage.work()
    assert stage.hands.performed == ["r1/count/a1/c1", "r1/count/a1/c2"]


async def test_what_is_remembered_is_a_fact_before_the_run_ends() -> None:
    stage = Stage()
    await stage.work()
    kinds = [message_fact(envelope).kind for envelope in stage.heard]
    assert kinds[-4:-1] == [MEGRAM] * 3
    assert stage.kinds[-1] == "FinalResult"


async def test_what_the_environment_did_is_not_blamed_on_the_approach() -> None:
    stage = Stage(playbook(subtask("count", approach("wc", "environmental", on="gone"))))
    await stage.work()
    written = {(m.lesson.tag.entity, m.lesson.state) for m in stage.of(MegramEmitted)}
    assert ("path:gone", MacroState.CHANGE_PATH) in written
    assert ("approach:wc", MacroState.CHANGE_PATH) in written
    assert MacroState.CHANGE_APPROACH not in {state for _, state in written}


async def test_what_our_own_side_did_is_blamed_on_nobody() -> None:
    stage = Stage(playbook(subtask("count", approach("wc", "ours"))))
    await stage.work()
    assert {m.lesson.tag.space for m in stage.of(MegramEmitted)} <= {"intent:counting"}
    directive = stage.only(PlanDirective)
    assert directive.blocked_tools == ()
    assert directive.budget_pressure == directive.loss.resource


def test_intents_in_other_scripts_are_told_apart() -> None:
    assert len({intent_tag(intent) for intent in ("统计行数", "删除文件", "посчитай строки", "")}) == 4


async def test_an_abort_leaves_no_tool_running() -> None:
    book = playbook(*(subtask(f"s{n}", approach("sleep", "hang")) for n in range(3)))
    stage = Stage(book)

    async def interrupt(engine: Engine) -> None:
        await stage.hands.hanging.wait()
        await settle()
        engine.stop("run", AbandonCause.USER, "Ctrl+C")

    await stage.work(interrupt)
    assert sorted(stage.hands.cancelled) == sorted(stage.hands.performed)
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and not task.done()]


async def test_an_abandoned_run_shows_no_success() -> None:
    stage = Stage(playbook(subtask("count", approach("wc")), count=1), {"r1/count/*": "logical"})
    result = await stage.work()
    assert (result.directive, result.done, result.not_done) == (MacroState.ABANDON, (), ("count",))
    assert [unmet.scope for unmet in result.unmet] == ["count", "task"]
    assert result.next_moves
    assert stage.only(FinalResult).cause is AbandonCause.EXHAUSTED
