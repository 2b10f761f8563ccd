"""Does a replay decide as the solver decided, and otherwise under other constants?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.engine.gradient.calibration import (
    EVIDENCE_MIN,
    RecordedRound,
    RecordedRun,
    for_run,
    proposals,
    replay,
)
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion, complete
from earnest.engine.gradient.trajectory import Observation, Trajectory, observe
from earnest.foundation.failures import FailureClass

DEFAULT = Constants()
LOGICAL, ENVIRONMENTAL = FailureClass.LOGICAL, FailureClass.ENVIRONMENTAL


def judged(failures: list[FailureClass], objected: bool) -> tuple[JudgedCriterion, ...]:
    """Four criteria of a subtask and one of the task."""
    met = [
        JudgedCriterion(criterion=f"C{at}", subtask="s", answer=CriterionState.PASS) for at in range(len(failures), 4)
    ]
    unmet = [
        JudgedCriterion(criterion=f"C{at}", subtask="s", answer=CriterionState.FAIL, failure_class=one)
        for at, one in enumerate(failures)
    ]
    whole = CriterionState.FAIL if objected else CriterionState.NOT_RUN if failures else CriterionState.PASS
    task = JudgedCriterion(criterion="T", subtask=None, answer=whole, failure_class=LOGICAL if objected else None)
    return (*met, *unmet, task)


rounds = st.lists(
    st.tuples(st.lists(st.sampled_from([LOGICAL, ENVIRONMENTAL]), max_size=4), st.booleans(), st.integers(0, 60_000)),
    min_size=1,
    max_size=6,
)


def recorded(
    observed: list[tuple[list[FailureClass], bool, int]], constants: Constants
) -> tuple[RecordedRun, Trajectory]:
    """A run as the solver decides it, and what is recorded of it."""
    trajectory, found, elapsed_ms = Trajectory(), list[RecordedRound](), 0
    for failures, objected, took_ms in observed:
        if trajectory.end is not None:
            break
        elapsed_ms += took_ms
        criteria = judged(failures, objected)
        trajectory, current = observe(trajectory, Observation(judged=criteria, elapsed_ms=elapsed_ms), constants)
        found.append(
            RecordedRound(
                distance=current.loss.distance,
                implausibility=current.loss.implausibility,
                resource=current.loss.resource,
                elapsed_ms=elapsed_ms,
                state=current.decision.state,
                accepted=complete(criteria),
                objected=objected,
            )
        )
    end = trajectory.end.state if trajectory.end else MacroState.ABANDON
    run = RecordedRun(
        run_id="run",
        task_class="counting",
        time_budget_ms=constants.time_budget_ms,
        rounds=tuple(found),
        end=end,
        elapsed_ms=elapsed_ms,
    )
    return run, trajectory


@given(rounds, st.sampled_from(list(SolverSignal)), st.integers(1, 6))
def test_under_its_own_constants_a_run_is_decided_as_it_was(
    observed: list[tuple[list[FailureClass], bool, int]], signal: SolverSignal, max_replans: int
) -> None:
    constants = replace(DEFAULT, signal=signal, max_replans=max_replans)
    run, trajectory = recorded(observed, constants)
    found = replay(run, constants)
    assert found.states == tuple(one.decision.state for one in trajectory.rounds)
    assert found.first_difference is None


@pytest.mark.parametrize("max_replans", range(1, 8))
def test_the_number_of_replans_follows_from_what_was_recorded(max_replans: int) -> None:
    run, _ = recorded([([LOGICAL], False, 7_001)], replace(DEFAULT, max_replans=max_replans, delta=0))
    expected = max_replans if run.rounds[0].resource < DEFAULT.theta else DEFAULT.max_replans
    assert for_run(run, DEFAULT).max_replans == expected


def test_what_is_fixed_is_not_taken_from_the_run() -> None:
    run, _ = recorded([([LOGICAL], False, 1_000)], replace(DEFAULT, max_replans=7, time_budget_ms=9_000))
    wanted = replace(DEFAULT, max_replans=2, time_budget_ms=1_000)
    assert for_run(run, wanted, fixed=("max_replans", "time_budget_ms")) == wanted
    assert for_run(run, wanted, fixed=("max_replans",)).time_budget_ms == 9_000


FAILING = [([LOGICAL] * 4, False, 1_000), ([LOGICAL] * 2, False, 1_000), ([], False, 1_000)]


@pytest.mark.parametrize(
    ("change", "states", "ends_after"),
    [
        ({}, [MacroState.BREAK_SYMMETRY, MacroState.CHANGE_APPROACH, MacroState.ACCEPT], 3),
        ({"theta": 0.3}, [MacroState.BREAK_SYMMETRY, MacroState.ABANDON], 2),
        ({"delta": 0.7}, [MacroState.BREAK_SYMMETRY, MacroState.SUCCESS], 2),
        ({"rho": 1.0}, [MacroState.CHANGE_PATH, MacroState.REFINE, MacroState.ACCEPT], 3),
        ({"epsilon": 1.0}, [MacroState.BREAK_SYMMETRY, MacroState.BREAK_SYMMETRY, MacroState.ACCEPT], 3),
    ],
)
def test_other_constants_decide_otherwise(change: dict[str, float], states: list[MacroState], ends_after: int) -> None:
    run, _ = recorded(FAILING, DEFAULT)
    found = replay(run, replace(DEFAULT, **change))  # type: ignore[arg-type]
    assert (list(found.states), found.ends_after) == (states, ends_after)
    assert (found.first_difference is None) is (found.states == run.states)


def test_beyond_what_was_recorded_a_replay_is_silent() -> None:
    run, _ = recorded([([LOGICAL] * 4, False, 1_000)] * 4, DEFAULT)
    found = replay(run, replace(DEFAULT, max_replans=10))
    assert run.states[-1] is MacroState.ABANDON
    assert (len(found.states), found.ends_after) == (4, None)


def test_too_little_evidence_proposes_nothing() -> None:
    run, _ = recorded(FAILING, DEFAULT)
    (proposal,) = proposals([run], DEFAULT)
    assert (proposal.task_class, proposal.runs, proposal.rho, proposal.time_budget_ms) == ("counting", 1, None, None)


def test_the_least_budget_leaves_every_delivered_run_room() -> None:
    fast, _ = recorded([([], False, 50_000)], DEFAULT)
    slow, _ = recorded([([], False, 97_000)], DEFAULT)
    lost, _ = recorded([([LOGICAL] * 4, False, 299_000)] * 2, DEFAULT)
    (proposal,) = proposals([*[fast] * EVIDENCE_MIN, lost], DEFAULT)
    assert proposal.time_budget_ms == 120_000
    (proposal,) = proposals([*[fast] * EVIDENCE_MIN, slow, lost], DEFAULT)
    assert proposal.time_budget_ms == 300_000


def test_rho_follows_what_helped() -> None:
    """Rounds at P = 0.25 were left their approach, which never helped; those at 0.75 changed it, which did."""
    mixed = [ENVIRONMENTAL, ENVIRONMENTAL, ENVIRONMENTAL, LOGICAL]
    in_vain, _ = recorded([(mixed, False, 1_000), (mixed, False, 1_000)], DEFAULT)
    helped, _ = recorded([([LOGICAL, LOGICAL, LOGICAL, ENVIRONMENTAL], False, 1_000), ([], False, 1_000)], DEFAULT)
    (proposal,) = proposals([in_vain] * 4 + [helped] * 4, DEFAULT)
    assert proposal.rho == 0.2
    (proposal,) = proposals([helped] * 8, DEFAULT)
    assert proposal.rho == DEFAULT.rho
