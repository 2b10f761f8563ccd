"""Does every situation lead to the state that the seed's table names, and only the named overrides elsewhere?"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cells import CELLS

from earnest.engine.gradient.cascade import (
    AbandonCause,
    MacroState,
    RoundReading,
    Situation,
    Trend,
    Urgency,
    cell_of,
    decide,
    stop,
    trend_of,
)
from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion, Loss
from earnest.foundation.failures import FailureClass

DEFAULT = Constants()

SEED_TABLE = """
| 1 | < −ε | ≤ δ | ≤ ρ | < θ | success |
| 2 | < −ε | ≤ δ | > ρ | < θ | success |
| 3 | < −ε | ≤ δ | ≤ ρ | ≥ θ | abandon |
| 4 | < −ε | ≤ δ | > ρ | ≥ θ | abandon |
| 5 | < −ε | > δ | ≤ ρ | < θ | refine |
| 6 | < −ε | > δ | > ρ | < θ | change_approach |
| 7 | < −ε | > δ | ≤ ρ | ≥ θ | abandon |
| 8 | < −ε | > δ | > ρ | ≥ θ | abandon |
| 9 | abs < ε | ≤ δ | ≤ ρ | < θ | success |
| 10 | abs < ε | ≤ δ | > ρ | < θ | success |
| 11 | abs < ε | ≤ δ | ≤ ρ | ≥ θ | abandon |
| 12 | abs < ε | ≤ δ | > ρ | ≥ θ | abandon |
| 13 | abs < ε | > δ | ≤ ρ | < θ | change_path |
| 14 | abs < ε | > δ | > ρ | < θ | break_symmetry |
| 15 | abs < ε | > δ | ≤ ρ | ≥ θ | abandon |
| 16 | abs < ε | > δ | > ρ | ≥ θ | abandon |
| 17 | > ε | ≤ δ | ≤ ρ | < θ | success |
| 18 | > ε | ≤ δ | > ρ | < θ | success |
| 19 | > ε | ≤ δ | ≤ ρ | ≥ θ | abandon |
| 20 | > ε | ≤ δ | > ρ | ≥ θ | abandon |
| 21 | > ε | > δ | ≤ ρ | < θ | refine |
| 22 | > ε | > δ | > ρ | < θ | change_approach |
| 23 | > ε | > δ | ≤ ρ | ≥ θ | abandon |
| 24 | > ε | > δ | > ρ | ≥ θ | abandon |
"""  # noqa: RUF001
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in SEED_TABLE.strip().splitlines()]
GRADIENTS = {"< −ε": -0.2, "abs < ε": 0.0, "> ε": 0.2}  # noqa: RUF001
VALUES = {"≤ δ": 0.2, "> δ": 0.6, "≤ ρ": 0.2, "> ρ": 0.9, "< θ": 0.4, "≥ θ": 0.9}  # noqa: RUF001


def judged(answer: CriterionState, subtask: str | None = "count") -> JudgedCriterion:
    failure = FailureClass.LOGICAL if answer is CriterionState.FAIL else None
    return JudgedCriterion(criterion="C1", subtask=subtask, answer=answer, failure_class=failure)


def reading(
    *criteria: JudgedCriterion,
    d: float = 0.6,
    p: float = 0.9,
    omega: float = 0.4,
    gradient: float = 0.0,
    loss_gradient: float | None = None,
    worsening: int = 0,
    elapsed_ms: int = 0,
) -> RoundReading:
    loss = Loss(distance=d, implausibility=p, resource=omega, quality=0.5, total=0.5)
    return RoundReading(
        judged=criteria or (judged(CriterionState.FAIL), judged(CriterionState.PASS)),
        loss=loss,
        quality_gradient=gradient,
        loss_gradient=gradient if loss_gradient is None else loss_gradient,
        worsening=worsening,
        elapsed_ms=elapsed_ms,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_cell_of_the_seed_leads_to_its_state(row: list[str]) -> None:
    number, gradient, d, p, omega, state = row
    round_read = reading(d=VALUES[d], p=VALUES[p], omega=VALUES[omega], gradient=GRADIENTS[gradient])
    assert CELLS[int(number) - 1] == cell_of(round_read, DEFAULT)
    assert decide(round_read, DEFAULT).state == state


def test_the_cells_are_complete_and_do_not_overlap() -> None:
    assert [cell.state for cell in CELLS] == [row[-1] for row in ROWS]
    assert len(set(CELLS)) == 24


@pytest.mark.parametrize(
    ("gradient", "trend"),
    [
        (-0.1, Trend.IMPROVING),
        (-0.0999999, Trend.PLATEAU),
        (0.0, Trend.PLATEAU),
        (0.0999999, Trend.PLATEAU),
        (0.9 - 0.8, Trend.WORSENING),  # 0.09999999999999998
        (0.1, Trend.WORSENING),
    ],
)
def test_a_change_of_epsilon_is_a_signal(gradient: float, trend: Trend) -> None:
    assert trend_of(gradient, DEFAULT) is trend


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"d": 0.1 + 0.2}, MacroState.SUCCESS),
        ({"d": 0.300001}, MacroState.BREAK_SYMMETRY),
        ({"omega": 0.6 * 4 / 3}, MacroState.ABANDON),
        ({"omega": 0.799}, MacroState.BREAK_SYMMETRY),
        ({"p": 0.5}, MacroState.CHANGE_PATH),
        ({"p": 0.5 + 1e-12}, MacroState.CHANGE_PATH),
        ({"p": 0.51}, MacroState.BREAK_SYMMETRY),
    ],
)
def test_thresholds_belong_to_the_side_that_the_seed_puts_them_on(changes: dict[str, float], state: MacroState) -> None:
    assert decide(reading(**changes), DEFAULT).state is state  # type: ignore[arg-type]


def test_a_complete_result_is_accepted_whatever_it_cost() -> None:
    decision = decide(reading(judged(CriterionState.PASS), d=0.0, p=0.0, omega=1.0, worsening=5), DEFAULT)
    assert (decision.state, decision.cause) == (MacroState.ACCEPT, None)


def test_nothing_at_all_is_not_accepted() -> None:
    assert decide(replace(reading(d=1.0), judged=()), DEFAULT).state is not MacroState.ACCEPT


def test_two_worsening_rounds_in_a_row_end_the_run() -> None:
    once = decide(reading(gradient=0.2, worsening=1), DEFAULT)
    twice = decide(reading(gradient=0.2, worsening=2), DEFAULT)
    assert once.state is MacroState.CHANGE_APPROACH
    assert (twice.state, twice.cause) == (MacroState.ABANDON, AbandonCause.DIVERGENCE)
    assert cell_of(reading(gradient=0.2, worsening=2), DEFAULT) == CELLS[21]


def test_success_outranks_law_2() -> None:
    decision = decide(reading(d=0.2, gradient=0.2, worsening=2), DEFAULT)
    assert decision.state is MacroState.SUCCESS


def test_a_spent_budget_outranks_law_2() -> None:
    decision = decide(reading(omega=0.9, gradient=0.2, worsening=2), DEFAULT)
    assert decision.cause is AbandonCause.BUDGET


@pytest.mark.parametrize("answer", [CriterionState.FAIL, CriterionState.UNCLEAR])
@pytest.mark.parametrize(
    ("p", "gradient", "state"),
    [
        (0.9, 0.0, MacroState.BREAK_SYMMETRY),
        (0.2, 0.0, MacroState.CHANGE_PATH),
        (0.9, -0.2, MacroState.CHANGE_APPROACH),
        (0.2, 0.2, MacroState.REFINE),
    ],
)
def test_success_is_never_chosen_while_the_combined_result_is_rejected(
    answer: CriterionState, p: float, gradient: float, state: MacroState
) -> None:
    objection = reading(judged(CriterionState.PASS), judged(answer, subtask=None), d=0.1, p=p, gradient=gradient)
    assert decide(objection, DEFAULT).state is state


def test_a_failed_subtask_is_no_objection() -> None:
    failed = reading(judged(CriterionState.FAIL), judged(CriterionState.NOT_RUN, subtask=None), d=0.2)
    assert decide(failed, DEFAULT).state is MacroState.SUCCESS


@pytest.mark.parametrize(
    ("changes", "law2"), [({"omega": 0.9}, False), ({"omega": 0.9, "elapsed_ms": 300_000}, False), ({}, True)]
)
def test_an_end_that_only_unclear_criteria_caused_says_so(changes: dict[str, float], law2: bool) -> None:
    criteria = (
        judged(CriterionState.UNCLEAR),
        judged(CriterionState.PASS),
        judged(CriterionState.NOT_RUN, subtask=None),
    )
    round_read = reading(*criteria, p=0.0, gradient=0.2, worsening=2, **changes)  # type: ignore[arg-type]
    end = decide(round_read, DEFAULT)
    assert (end.state, end.cause) == (MacroState.ABANDON, AbandonCause.UNCLEAR)
    assert cell_of(round_read, DEFAULT).state.ends is not law2


def test_one_failure_among_unclear_criteria_is_a_failure() -> None:
    end = decide(reading(judged(CriterionState.UNCLEAR), judged(CriterionState.FAIL), omega=0.9), DEFAULT)
    assert end.cause is AbandonCause.BUDGET


def test_a_run_past_its_deadline_names_the_time() -> None:
    assert decide(reading(omega=0.8, elapsed_ms=300_000), DEFAULT).cause is AbandonCause.TIME


@pytest.mark.parametrize(
    ("p", "gradient", "urgency"),
    [
        (0.2, -0.2, Urgency.LOW),
        (0.9, -0.2, Urgency.NORMAL),  # cell 6: distrust the trend
        (0.9, 0.0, Urgency.NORMAL),
        (0.2, 0.2, Urgency.HIGH),
        (0.9, 0.2, Urgency.HIGH),
    ],
)
def test_urgency_follows_quality_unless_the_improvement_is_suspicious(
    p: float, gradient: float, urgency: Urgency
) -> None:
    assert decide(reading(p=p, gradient=gradient), DEFAULT).urgency is urgency


def test_the_chosen_signal_decides_and_quality_sets_the_urgency() -> None:
    costly = reading(gradient=0.0, loss_gradient=0.2)
    by_quality, by_loss = (
        decide(costly, Constants(signal=signal)) for signal in (SolverSignal.QUALITY, SolverSignal.LOSS)
    )
    assert (by_quality.state, by_loss.state) == (MacroState.BREAK_SYMMETRY, MacroState.CHANGE_APPROACH)
    assert by_quality.urgency is by_loss.urgency is Urgency.NORMAL


@pytest.mark.parametrize("cause", AbandonCause)
def test_every_end_from_outside_has_words(cause: AbandonCause) -> None:
    end = stop(cause)
    assert (end.state, end.cause) == (MacroState.ABANDON, cause)
    assert end.rationale.endswith(".")


def test_the_rationale_tells_the_numbers_that_decided() -> None:
    rejected = reading(judged(CriterionState.PASS), judged(CriterionState.FAIL, subtask=None), d=0.1, p=1.0)
    assert decide(rejected, DEFAULT).rationale == (
        "1 of 2 criteria unmet (D 0.10), the combined result rejected. "
        "No movement (∇ +0.00), the approach is wrong (P 1.00 over 0.5): other tools."
    )


share = st.floats(0, 1)
change = st.floats(-1, 1)
readings = st.builds(
    RoundReading,
    judged=st.lists(
        st.builds(judged, st.sampled_from(CriterionState), st.sampled_from(["count", None])), max_size=5
    ).map(tuple),
    loss=st.builds(Loss, distance=share, implausibility=share, resource=share, quality=share, total=share),
    quality_gradient=change,
    loss_gradient=change,
    worsening=st.integers(0, 4),
    elapsed_ms=st.integers(0, 600_000),
)


@settings(deadline=None)
@given(readings, st.sampled_from(SolverSignal))
def test_every_reading_has_exactly_one_decision(reading: RoundReading, signal: SolverSignal) -> None:
    constants = Constants(signal=signal)
    decision = decide(reading, constants)
    cell = cell_of(reading, constants)
    assert (decision.cause is None) == (decision.state is not MacroState.ABANDON)
    assert (decision.state is MacroState.ACCEPT) == reading.complete
    if reading.complete:
        return
    assert CELLS.count(cell) == 1
    law2 = not cell.state.ends and reading.worsening >= constants.kill_after
    assert decision.state is (MacroState.ABANDON if law2 else cell.state)
    assert not (decision.state is MacroState.SUCCESS and reading.objected)


def test_a_cell_is_found_by_its_number() -> None:
    assert CELLS[5] == Situation(trend=Trend.IMPROVING, far=True, logical=True, spent=False)
