"""Does a replay decide as the solver decided, and otherwise under other constants?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.engine.gradient.calibration import (
    EVIDENCE_MIN,
    RecordedRound,
    RecordedRun,
    best_value,
    constant_proposals,
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


@pytest.mark.slow
@given(rounds, st.sampled_from(list(SolverSignal)), st.integers(1, 6))
def test_under_its_own_constants_a_run_is_decided_as_it_was(
    observed: list[tuple[list[FailureClass], bool, int]], signal: SolverSignal, max_replans: int
) -> None:
    constants = replace(DEFAULT, signal=signal, max_replans=max_replans)
    run, trajectory = recorded(observed, constants)
    found = replay(run, constants)
    assert found.states == tuple(one.decision.state for one in trajectory.rounds)


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


def run_of(*seen: tuple[float, float, int], accepted: bool, constants: Constants = DEFAULT) -> RecordedRun:
    """A run of rounds with these D, P and times, as the solver decides them; `accepted`: it ends with one that is."""
    observed = [*seen, (0.0, 0.0, seen[-1][2] + 1_000)] if accepted else list(seen)
    rounds = tuple(
        RecordedRound(
            distance=d,
            implausibility=p,
            resource=0.0,
            elapsed_ms=elapsed_ms,
            state=MacroState.REFINE,
            accepted=accepted and number == len(seen),
            objected=False,
        )
        for number, (d, p, elapsed_ms) in enumerate(observed)
    )
    end = MacroState.ACCEPT if accepted else MacroState.ABANDON
    run = RecordedRun(
        run_id="run", task_class="x", time_budget_ms=300_000, rounds=rounds, end=end, elapsed_ms=observed[-1][2]
    )
    states = replay(run, constants).states
    assert len(states) == len(rounds), "it would have ended before"
    return replace(run, rounds=tuple(map(lambda one, state: replace(one, state=state), rounds, states)))


ON_LOSS = replace(DEFAULT, signal=SolverSignal.LOSS)
IN_STEPS = run_of((1.0, 0.0, 1_000), (0.5, 0.0, 2_000), accepted=True)
"""A fall of 0.5 goes on to the end."""
LOGICAL_STEPS = run_of((1.0, 1.0, 1_000), (1.0, 0.0, 2_000), accepted=True)
SOON = run_of((1.0, 0.0, 1_000), accepted=True)


@pytest.mark.parametrize(
    ("name", "truth", "helped", "in_vain", "constants"),
    [
        (
            "alpha",
            0.3,
            IN_STEPS,
            run_of((1.0, 0.0, 1_000), (0.75, 0.0, 2_000), (0.75, 0.0, 3_000), accepted=False),
            DEFAULT,
        ),
        (
            "beta",
            0.1,
            LOGICAL_STEPS,
            run_of((1.0, 0.5, 1_000), (1.0, 0.0, 2_000), (1.0, 0.0, 3_000), accepted=False),
            DEFAULT,
        ),
        (
            "lambda_",
            0.3,
            run_of((1.0, 0.0, 1_000), (0.5, 0.0, 2_000), accepted=True, constants=ON_LOSS),
            run_of((1.0, 0.0, 1_000), (1.0, 0.0, 76_000), (1.0, 0.0, 77_000), accepted=False, constants=ON_LOSS),
            ON_LOSS,
        ),
        ("w1", 0.8, IN_STEPS, run_of(*[(1.0, 0.0, at * 100) for at in range(1, 5)], accepted=False), DEFAULT),
        ("w2", 0.9, SOON, run_of((1.0, 0.0, 210_000), (1.0, 0.0, 211_000), accepted=False), DEFAULT),
        (
            "epsilon",
            0.2,
            IN_STEPS,
            run_of((1.0, 0.0, 1_000), (0.75, 0.0, 2_000), (0.75, 0.0, 3_000), accepted=False),
            DEFAULT,
        ),
        ("delta", 0.4, IN_STEPS, run_of((0.4, 0.0, 1_000), (0.4, 0.0, 2_000), accepted=False), DEFAULT),
        (
            "rho",
            0.2,
            run_of((1.0, 0.75, 1_000), accepted=True),
            run_of((1.0, 0.25, 1_000), (1.0, 0.25, 2_000), accepted=False),
            DEFAULT,
        ),
        ("theta", 0.4, SOON, run_of(*[(1.0, 0.0, at * 10) for at in range(1, 5)], accepted=False), DEFAULT),
    ],
)
def test_the_constant_under_which_the_runs_would_have_gone_best_is_proposed(
    name: str, truth: float, helped: RecordedRun, in_vain: RecordedRun, constants: Constants
) -> None:
    assert best_value(name, [helped, in_vain] * 4, constants) == truth


def test_ten_constants_are_proposed_that_go_together() -> None:
    in_vain = run_of((1.0, 0.0, 1_000), (0.75, 0.0, 2_000), (0.75, 0.0, 3_000), accepted=False)
    found = constant_proposals([IN_STEPS, SOON, in_vain] * 4, DEFAULT)
    assert [one.name for one in found] == [
        "alpha", "beta", "lambda", "w1", "w2", "epsilon", "delta", "rho", "theta", "time_budget_ms"
    ]  # fmt: skip
    by_name = {one.name: one.proposed for one in found}
    assert (by_name["alpha"], by_name["lambda"], by_name["time_budget_ms"]) == (0.3, None, 30_000)
    told = {name.replace("lambda", "lambda_"): value for name, value in by_name.items() if value is not None}
    assert replace(DEFAULT, **told).faults() == ()  # type: ignore[arg-type]


def test_what_no_value_would_have_decided_otherwise_is_not_proposed() -> None:
    assert best_value("lambda_", [IN_STEPS] * 8, DEFAULT) is None  # the signal is quality
    assert best_value("rho", [IN_STEPS] * 2, DEFAULT) is None  # four rounds were followed
