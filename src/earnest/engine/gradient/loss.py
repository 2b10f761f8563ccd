"""The loss: distance from the promise, how wrong the way was, the share of the budget that is gone."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.contracts.criterion import Mode
from earnest.engine.gradient.constants import Constants
from earnest.foundation.errors import Broken
from earnest.foundation.failures import FailureClass

MIXED: Final = "mixed"
"""The class of failures of both classes together; a single one has only one."""


class CriterionState(StrEnum):
    """What was found about a criterion. NOT_RUN: the work it is about was never begun, or never judged."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNCLEAR = "unclear"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCriterion:
    """A criterion and what was found about it in one round.

    `subtask` is None for a criterion of the whole task; `failure_class` is None where nothing failed or nobody can
    tell. `failed_attempts` of `attempts` executions failed it; 0 attempts means that nobody counted. Raises `Broken`
    for counts that contradict each other or the answer.

    A round's population is the same in every round, or its gradient means nothing: all required criteria of all
    subtasks, those that matched earlier included, and of the task, `not_run` while nobody has judged them. A subtask
    without verdicts is one verifiable criterion that is answered by the subtask's status.
    """

    criterion: str
    subtask: str | None
    answer: CriterionState
    mode: Mode = Mode.VERIFIABLE
    failure_class: FailureClass | None = None
    attempts: int = 0
    failed_attempts: int = 0

    def __post_init__(self) -> None:
        possible = 0 <= self.failed_attempts <= self.attempts
        if not possible or (self.failed and self.attempts and not self.failed_attempts):
            raise Broken(f"{self.name}: {self.failed_attempts} of {self.attempts} attempts failed")

    @property
    def name(self) -> str:
        """`<subtask>/<criterion>`, `task/<criterion>` for one of the whole task."""
        return f"{self.subtask or 'task'}/{self.criterion}"

    @property
    def failed(self) -> bool:
        """True if it was judged and is not met."""
        return self.answer is CriterionState.FAIL

    @property
    def passed(self) -> bool:
        """True if it was judged and is met."""
        return self.answer is CriterionState.PASS

    @property
    def weight(self) -> float:
        """What it adds to the numerator of D, in [0, 1]; above 0 unless it passed."""
        if self.passed:
            return 0.0
        if self.failed and self.mode is Mode.PLAUSIBLE and self.attempts:
            return self.failed_attempts / self.attempts
        return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A round in five numbers, each in [0, 1] for constants without faults.

    More exactly, Q in [0, alpha + beta] and L in [0, alpha + max(beta, lambda)]: by default [0, 0.9] and [0, 1].
    """

    distance: float
    """D: between promise and result."""
    implausibility: float
    """P: of the approach."""
    resource: float
    """Ω: what is used up."""
    quality: float
    """Q = alpha·D + beta·P: the loss without its cost."""
    total: float
    """L = alpha·D + beta·(1 - Ω)·P + lambda·Ω."""


def complete(judged: Collection[JudgedCriterion]) -> bool:
    """True if there are criteria and every one was judged and is met."""
    return bool(judged) and all(criterion.passed for criterion in judged)


def distance(judged: Collection[JudgedCriterion]) -> float:
    """D: the weighted share of criteria that are not met; 1 if there are none. 0 only if all passed."""
    if not judged:
        return 1.0
    return math.fsum(criterion.weight for criterion in judged) / len(judged)


def implausibility(judged: Collection[JudgedCriterion]) -> float:
    """P: the logical share of the failures whose class is known; 0 if nothing failed, 0.5 if no class is known."""
    failures = [criterion.failure_class for criterion in judged if criterion.failed]
    classified = [failure for failure in failures if failure is not None]
    if not classified:
        return 0.5 if failures else 0.0
    return classified.count(FailureClass.LOGICAL) / len(classified)


def failure_class_of(judged: Collection[JudgedCriterion]) -> str | None:
    """The class of all failures together: `logical`, `environmental` or `mixed`; None if none has one."""
    classes = {criterion.failure_class.value for criterion in judged if criterion.failed and criterion.failure_class}
    return MIXED if len(classes) > 1 else next(iter(classes), None)


def resource(*, failing_rounds: int, elapsed_ms: int, constants: Constants) -> float:
    """Ω = min(1, w1·rounds/max_replans + w2·elapsed/budget), the failing round now decided included.

    At least theta when a round fails after `max_replans` replans, and when the time is up. With three replans the
    formula says the former by itself; with four or more (0.6·5/4 < 0.8) the limit would not be what it is called.
    """
    if failing_rounds and not constants.max_replans:
        return 1.0
    rounds_share = failing_rounds / constants.max_replans if constants.max_replans else 0.0
    time_share = max(elapsed_ms, 0) / constants.time_budget_ms
    used = min(1.0, constants.w1 * rounds_share + constants.w2 * time_share)
    over = failing_rounds > constants.max_replans or elapsed_ms >= constants.time_budget_ms
    return max(used, constants.theta) if over else used


def measure(judged: Collection[JudgedCriterion], *, failing_rounds: int, elapsed_ms: int, constants: Constants) -> Loss:
    """The round's loss. `failing_rounds` counts this round if not every criterion passed."""
    omega = resource(failing_rounds=failing_rounds, elapsed_ms=elapsed_ms, constants=constants)
    return weigh(distance(judged), implausibility(judged), omega, constants)


def weigh(d: float, p: float, omega: float, constants: Constants) -> Loss:
    """D, P and Ω, and the two numbers that follow from them."""
    cost = constants.beta * (1 - omega) * p + constants.lambda_ * omega
    return Loss(
        distance=d,
        implausibility=p,
        resource=omega,
        quality=min(1.0, constants.alpha * d + constants.beta * p),
        total=min(1.0, constants.alpha * d + cost),
    )
