"""Do the constants refuse what the solver cannot work with?"""

import math
from typing import Any

import pytest

from earnest.engine.gradient.constants import BOUNDS, Constants, Tuning, tuned

SEED = {
    "alpha": 0.6,
    "beta": 0.3,
    "lambda_": 0.4,
    "w1": 0.6,
    "w2": 0.4,
    "epsilon": 0.1,
    "delta": 0.3,
    "rho": 0.5,
    "theta": 0.8,
    "time_budget_ms": 300_000,
    "max_replans": 3,
    "kill_after": 2,
}


def constants_with(**changes: Any) -> Constants:
    return Constants(**changes)


def test_the_defaults_are_those_of_the_seed() -> None:
    constants = Constants()
    assert {name: getattr(constants, name) for name in SEED} == SEED
    assert constants.faults() == ()


@pytest.mark.parametrize(("name", "low", "high"), BOUNDS)
def test_a_constant_out_of_bounds_is_named_with_its_bounds(name: str, low: float, high: float) -> None:
    for value in (low - 1, high + 1, math.nan, math.inf, -math.inf):
        faults = constants_with(**{name: value}).faults()
        assert any(fault.startswith(f"{name.rstrip('_')} is {value}:") for fault in faults), value


def test_all_faults_are_told_at_once() -> None:
    assert len(constants_with(alpha=2.0, theta=0.0, max_replans=-1).faults()) == 4


def test_weights_that_would_lift_the_loss_above_one_are_a_fault() -> None:
    assert constants_with(alpha=0.7, beta=0.2, lambda_=0.3).faults() == ()
    assert "loss would leave" in " ".join(constants_with(alpha=0.7, beta=0.31, lambda_=0.0).faults())


def test_a_fault_names_lambda_as_a_user_writes_it() -> None:
    assert "lambda_" not in " ".join(constants_with(lambda_=2.0).faults())


def test_comparisons_forgive_what_floating_point_costs() -> None:
    constants = Constants()
    assert 0.6 * 4 / 3 < 0.8
    assert constants.reached(0.6 * 4 / 3, 0.8)
    assert not constants.reached(0.7999, 0.8)
    assert 0.1 + 0.2 > 0.3
    assert not constants.exceeds(0.1 + 0.2, 0.3)
    assert constants.exceeds(0.3001, 0.3)


def test_a_class_of_tasks_has_its_own_rho_and_its_time_where_the_task_brings_none() -> None:
    tuning = Tuning(rho=0.2, time_budget_ms=600_000)
    assert tuned(Constants(), tuning) == Constants(rho=0.2, time_budget_ms=600_000)
    assert tuned(Constants(time_budget_ms=5), tuning) == Constants(rho=0.2, time_budget_ms=5)
    assert tuned(Constants(rho=0.9), Tuning()) == Constants(rho=0.9)
