"""Are D, P, Ω, Q and L what the formulae say?"""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.contracts.criterion import Mode
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.loss import (
    CriterionState,
    JudgedCriterion,
    complete,
    distance,
    failure_class_of,
    implausibility,
    measure,
    resource,
)
from earnest.foundation.errors import Broken
from earnest.foundation.failures import FailureClass

LOGICAL, ENVIRONMENTAL = FailureClass.LOGICAL, FailureClass.ENVIRONMENTAL
DEFAULT = Constants()


def criterion(
    answer: CriterionState,
    failure_class: FailureClass | None = None,
    mode: Mode = Mode.VERIFIABLE,
    attempts: int = 0,
    failed_attempts: int = 0,
) -> JudgedCriterion:
    return JudgedCriterion(
        criterion="C1",
        subtask="count",
        answer=answer,
        mode=mode,
        failure_class=failure_class,
        attempts=attempts,
        failed_attempts=failed_attempts,
    )


def plausible_fail(failed_attempts: int, attempts: int) -> JudgedCriterion:
    return criterion(CriterionState.FAIL, LOGICAL, Mode.PLAUSIBLE, attempts, failed_attempts)


PASSED, UNCLEAR, NOT_RUN = (
    criterion(CriterionState.PASS),
    criterion(CriterionState.UNCLEAR),
    criterion(CriterionState.NOT_RUN),
)
WRONG, HINDERED, UNKNOWN = (criterion(CriterionState.FAIL, failure) for failure in (LOGICAL, ENVIRONMENTAL, None))


@pytest.mark.parametrize(
    ("judged", "d"),
    [
        ([], 1.0),
        ([PASSED], 0.0),
        ([WRONG], 1.0),
        ([WRONG, PASSED, PASSED, PASSED], 0.25),
        ([UNCLEAR, PASSED], 0.5),
        ([NOT_RUN, PASSED], 0.5),
        ([plausible_fail(1, 3)], 1 / 3),
        ([plausible_fail(3, 3)], 1.0),
        ([plausible_fail(0, 0)], 1.0),
        ([plausible_fail(1, 2), PASSED], 0.25),
        ([criterion(CriterionState.UNCLEAR, mode=Mode.PLAUSIBLE, attempts=4, failed_attempts=1)], 1.0),
        ([criterion(CriterionState.FAIL, LOGICAL, attempts=3, failed_attempts=1)], 1.0),
    ],
)
def test_distance_is_the_weighted_share_of_unmet_criteria(judged: list[JudgedCriterion], d: float) -> None:
    assert distance(judged) == pytest.approx(d)


@pytest.mark.parametrize(
    ("judged", "p"),
    [
        ([], 0.0),
        ([PASSED], 0.0),
        ([UNCLEAR, NOT_RUN], 0.0),
        ([UNKNOWN], 0.5),
        ([UNKNOWN, UNKNOWN, PASSED], 0.5),
        ([UNKNOWN, WRONG], 1.0),
        ([UNKNOWN, HINDERED], 0.0),
        ([WRONG, HINDERED], 0.5),
        ([WRONG, WRONG, HINDERED, UNCLEAR], 2 / 3),
        ([plausible_fail(1, 3), HINDERED], 0.5),
    ],
)
def test_implausibility_is_the_logical_share_of_classified_failures(judged: list[JudgedCriterion], p: float) -> None:
    assert implausibility(judged) == pytest.approx(p)


@pytest.mark.parametrize(
    ("judged", "failure_class"),
    [([PASSED, UNKNOWN], None), ([WRONG], "logical"), ([HINDERED], "environmental"), ([WRONG, HINDERED], "mixed")],
)
def test_failures_of_both_classes_are_mixed(judged: list[JudgedCriterion], failure_class: str | None) -> None:
    assert failure_class_of(judged) == failure_class


@pytest.mark.parametrize(("attempts", "failed"), [(1, 2), (0, 1), (-1, 0), (2, -1), (3, 0)])
def test_counts_that_contradict_the_answer_are_broken(attempts: int, failed: int) -> None:
    with pytest.raises(Broken):
        plausible_fail(failed, attempts)


def test_nothing_is_complete_without_criteria() -> None:
    assert not complete([])
    assert complete([PASSED, PASSED])
    assert not complete([PASSED, NOT_RUN])


@pytest.mark.parametrize(
    ("rounds", "elapsed_ms", "omega"),
    [
        (0, 0, 0.0),
        (1, 0, 0.2),
        (3, 0, 0.6),
        (4, 0, 0.8),
        (5, 0, 1.0),
        (1, 150_000, 0.4),
        (0, 299_999, 0.4),
        (0, 300_000, 0.8),  # a deadline is a deadline
        (4, 10_000_000, 1.0),
        (1, -5_000, 0.2),
    ],
)
def test_resource_cost_grows_with_failing_rounds_and_time(rounds: int, elapsed_ms: int, omega: float) -> None:
    cost = resource(failing_rounds=rounds, elapsed_ms=elapsed_ms, constants=DEFAULT)
    assert cost == pytest.approx(omega, abs=1e-5)


@pytest.mark.parametrize("max_replans", range(101))
def test_exactly_as_many_replans_are_allowed_as_the_limit_says(max_replans: int) -> None:
    constants = Constants(max_replans=max_replans)
    spent = [
        constants.reached(resource(failing_rounds=rounds, elapsed_ms=0, constants=constants), constants.theta)
        for rounds in range(max_replans + 2)
    ]
    assert spent == [False] * (max_replans + 1) + [True]


def test_quality_leaves_out_what_the_loss_counts_as_cost() -> None:
    loss = measure([WRONG, PASSED], failing_rounds=2, elapsed_ms=30_000, constants=DEFAULT)
    assert loss.resource == pytest.approx(0.44)
    assert loss.quality == pytest.approx(0.6 * 0.5 + 0.3)
    assert loss.total == pytest.approx(0.6 * 0.5 + 0.3 * 0.56 + 0.4 * 0.44)


@st.composite
def criteria(draw: st.DrawFn) -> JudgedCriterion:
    attempts = draw(st.integers(0, 5))
    answer = draw(st.sampled_from(CriterionState))
    least = 1 if answer is CriterionState.FAIL and attempts else 0
    return JudgedCriterion(
        criterion="C1",
        subtask=draw(st.sampled_from(["a", "b", None])),
        answer=answer,
        mode=draw(st.sampled_from(Mode)),
        failure_class=draw(st.sampled_from([LOGICAL, ENVIRONMENTAL, None])) if answer is CriterionState.FAIL else None,
        attempts=attempts,
        failed_attempts=draw(st.integers(least, attempts)),
    )


@st.composite
def sound_constants(draw: st.DrawFn) -> Constants:
    share = st.floats(0, 1)
    alpha = draw(share)
    rest = st.floats(0, 1 - alpha)
    constants = Constants(
        alpha=alpha,
        beta=draw(rest),
        lambda_=draw(rest),
        w1=draw(share),
        w2=draw(share),
        theta=draw(st.floats(0.001, 1)),
        time_budget_ms=draw(st.integers(1, 86_400_000)),
        max_replans=draw(st.integers(0, 100)),
    )
    assert constants.faults() == ()
    return constants


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(criteria(), max_size=12), sound_constants(), st.integers(0, 200), st.integers(-1_000, 10**12))
def test_every_number_of_a_round_lies_in_the_unit_interval(
    judged: list[JudgedCriterion], constants: Constants, rounds: int, elapsed_ms: int
) -> None:
    loss = measure(judged, failing_rounds=rounds, elapsed_ms=elapsed_ms, constants=constants)
    numbers = (loss.distance, loss.implausibility, loss.resource, loss.quality, loss.total)
    assert all(0 <= number <= 1 for number in numbers)
    assert loss.quality <= constants.alpha + constants.beta + 1e-12
    assert loss.total <= constants.alpha + max(constants.beta, constants.lambda_) + 1e-12
    assert (loss.distance == 0) == complete(judged)


def naive_distance_and_implausibility(judged: list[JudgedCriterion]) -> tuple[Fraction, Fraction]:
    """The prose of the specification, one criterion after the other, in exact arithmetic."""
    numerator, logical, environmental, failures = Fraction(0), 0, 0, 0
    for one in judged:
        if one.answer in ("unclear", "not_run"):
            numerator += 1
        elif one.answer == "fail":
            failures += 1
            plausible = one.mode == "plausible" and one.attempts > 0
            numerator += Fraction(one.failed_attempts, one.attempts) if plausible else 1
            logical += one.failure_class == "logical"
            environmental += one.failure_class == "environmental"
    d = numerator / len(judged) if judged else Fraction(1)
    if logical + environmental:
        return d, Fraction(logical, logical + environmental)
    return d, Fraction(1, 2) if failures else Fraction(0)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(criteria(), max_size=30))
def test_distance_and_implausibility_agree_with_a_naive_count(judged: list[JudgedCriterion]) -> None:
    d, p = naive_distance_and_implausibility(judged)
    assert distance(judged) == pytest.approx(float(d))
    assert implausibility(judged) == pytest.approx(float(p))
