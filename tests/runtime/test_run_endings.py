"""Does every run end, once and honestly, whatever its minds, its roles or its engine do?"""

import asyncio

import pytest

from earnest.engine.engine import ENDING_MS, LOOK_MS, RUNS_MAX
from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.messages import (
    CorrectionSignal,
    FinalResult,
    PlanningFailed,
    PlanReady,
    Role,
    StopRequested,
    SubTask,
)
from earnest.engine.playbook import PlaybookPlanner
from earnest.engine.ports import Assertion, GuardedTools, PlanningContext, RoleModel
from earnest.engine.roles.solver import SolverRole
from earnest.engine.run import EngineRun
from earnest.foundation.errors import Broken, Refused, Unavailable

from .fakes import REQUEST, FakeHands, Stage, a_playbook


class SilentMind:
    """Never answers."""

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        await asyncio.Event().wait()
        raise AssertionError


class RaisingPlanner(PlaybookPlanner):
    """Has a bug."""

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady | PlanningFailed:
        raise KeyError("a bug in the planner")


@pytest.fixture
def stage() -> Stage:
    return Stage()


def _hands(run: EngineRun) -> FakeHands:
    assert isinstance(run.hands, FakeHands)
    return run.hands


def _results(stage: Stage) -> list[FinalResult]:
    return [envelope.payload for envelope in stage.heard if isinstance(envelope.payload, FinalResult)]


async def test_a_mind_that_never_answers_is_ended_by_the_watchdog(stage: Stage) -> None:
    async with stage.engine:
        run = stage.run(executor=SilentMind())
        working = await stage.begin(run)
        await stage.clock.advance_ms(run.limits.silence_ms + 1_000)
        result = await working
    assert (result.cause, result.not_done) == (AbandonCause.SILENCE, ("one",))
    assert not stage.states()


async def test_a_tool_that_is_at_work_is_no_silence(stage: Stage) -> None:
    async with stage.engine:
        run = stage.run()
        working = await stage.begin(run)
        await stage.clock.advance_ms(run.limits.silence_ms * 2)
        assert not working.done()
        _hands(run).leave.set()
        assert (await working).cause is None


async def test_the_time_budget_cancels_what_runs(stage: Stage) -> None:
    async with stage.engine:
        run = stage.run()
        working = await stage.begin(run)
        await stage.clock.advance_ms(run.constants.time_budget_ms + 1)
        assert (await working).cause is AbandonCause.TIME
        assert _hands(run).cancelled == 1


async def test_time_that_was_spent_before_an_interruption_counts(stage: Stage) -> None:
    async with stage.engine:
        run = stage.run()
        spent_ms = run.constants.time_budget_ms - 1_000
        working = await stage.begin(run, already_elapsed_ms=spent_ms)
        await stage.clock.advance_ms(999)
        assert not working.done()
        await stage.clock.advance_ms(1)
        assert (await working).cause is AbandonCause.TIME


async def test_a_mind_that_raises_ends_the_run_with_the_reason(stage: Stage) -> None:
    async with stage.engine as engine:
        run = stage.run(planner=RaisingPlanner(a_playbook(), FakeHands(stage.clock)))
        result = await engine.work(run, REQUEST)
    assert result.cause is AbandonCause.FAULT
    assert "a bug in the planner" in result.summary


async def test_a_solver_that_raises_at_everything_leaves_nobody_waiting(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*_: object) -> None:
        raise ValueError("a bug in R7")

    monkeypatch.setattr(SolverRole, "hear", raising)
    async with stage.engine:
        working = await stage.begin(stage.run())
        await stage.clock.advance_ms(LOOK_MS + ENDING_MS)
        with pytest.raises(Broken, match="R7 gave no result"):
            await working
    assert [envelope.payload.detail for envelope in stage.heard if isinstance(envelope.payload, StopRequested)] == [
        "R7: ValueError: a bug in R7"
    ]


async def test_one_run_too_many_is_refused_and_the_others_go_on(stage: Stage) -> None:
    async with stage.engine as engine:
        runs = [stage.run(f"run{number}") for number in range(RUNS_MAX)]
        working = [await stage.begin(run) for run in runs]
        with pytest.raises(Refused) as refusal:
            await engine.work(stage.run("one more"), REQUEST)
        assert refusal.value.code == "too_many_runs"
        for run in runs:
            _hands(run).leave.set()
        results = await asyncio.gather(*working)
    assert {result.cause for result in results} == {None}
    assert not stage.states()


async def test_runs_at_once_know_nothing_of_each_other(stage: Stage) -> None:
    async with stage.engine as engine:
        first, second = stage.run("first"), stage.run("second")
        working = [await stage.begin(run) for run in (first, second)]
        engine.stop("first", AbandonCause.USER, "enough")
        assert (await working[0]).cause is AbandonCause.USER
        assert {run_id for runs in stage.states().values() for run_id in runs} == {"second"}
        _hands(second).leave.set()
        assert (await working[1]).cause is None
    assert (_hands(first).cancelled, _hands(second).cancelled) == (1, 0)
    assert not stage.states()


async def test_an_engine_that_is_closed_lets_nobody_wait(stage: Stage) -> None:
    async with stage.engine:
        run = stage.run()
        working = await stage.begin(run)
    with pytest.raises(Unavailable, match="can be resumed"):
        await working
    assert _hands(run).cancelled == 1
    assert not stage.states()


async def test_cancelled_work_is_forgotten_by_every_role_and_can_begin_again(stage: Stage) -> None:
    async with stage.engine as engine:
        run = stage.run()
        working = await stage.begin(run)
        assert stage.states()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert _hands(run).cancelled == 1
        assert not stage.states()
        again = stage.run()
        _hands(again).leave.set()
        assert (await engine.work(again, REQUEST)).cause is None


async def test_a_run_ends_once_however_often_it_is_asked_to(stage: Stage) -> None:
    async with stage.engine:
        run = stage.run()
        working = await stage.begin(run)
        for cause in (AbandonCause.USER, AbandonCause.TIME, AbandonCause.FAULT):
            run.stop(Role.RUNTIME, cause, "asked")
        _hands(run).leave.set()
        assert (await working).cause is AbandonCause.USER
        await stage.clock.advance_ms(ENDING_MS)
    assert [result.cause for result in _results(stage)] == [AbandonCause.USER]
    assert len(_hands(run).calls) == 1


async def test_nothing_begins_after_a_run_was_stopped(stage: Stage) -> None:
    async with stage.engine as engine:
        run = stage.run()
        run.stop(Role.USER, AbandonCause.USER, "before it began")
        assert (await engine.work(run, REQUEST)).cause is AbandonCause.USER
    assert not _hands(run).calls
