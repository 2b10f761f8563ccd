"""The numbers that steer the solver, and their bounds."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

BOUNDS: Final = (
    ("alpha", 0, 1),
    ("beta", 0, 1),
    ("lambda_", 0, 1),
    ("w1", 0, 1),
    ("w2", 0, 1),
    ("epsilon", 0.001, 1),  # at 0 every plateau would be a signal, and worsening
    ("delta", 0, 0.999),  # at 1 a total failure would be a success
    ("rho", 0, 1),
    ("theta", 0.001, 1),
    ("time_budget_ms", 1, 86_400_000),
    ("max_replans", 0, 100),
    ("kill_after", 1, 100),
    ("tolerance", 0, 1e-6),
)
"""Each number's least and greatest value, both allowed."""


class SolverSignal(StrEnum):
    """Whose change from round to round decides: Q, or L to the letter of the seed."""

    QUALITY = "quality"
    LOSS = "loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The solver's constants (artoo v0.8, loss hyperparameters), fixed for a run.

    `BOUNDS` says what each may be. Comparisons of computed numbers allow for `tolerance`.
    """

    alpha: float = 0.6
    """Weight of the distance D."""
    beta: float = 0.3
    """Weight of the implausibility P."""
    lambda_: float = 0.4
    """Weight of the resource cost Ω in L."""
    w1: float = 0.6
    """Share of failing rounds in Ω."""
    w2: float = 0.4
    """Share of elapsed time in Ω."""
    epsilon: float = 0.1
    """A gradient of at least this size is a signal; less is a plateau."""
    delta: float = 0.3
    """D up to this is close enough to deliver."""
    rho: float = 0.5
    """P above this means that the approach is wrong; up to it, that the environment was in the way."""
    theta: float = 0.8
    """Ω from this on ends the run."""
    time_budget_ms: int = 300_000
    max_replans: int = 3
    kill_after: int = 2
    """Worsening rounds in a row that end the run (Law 2)."""
    signal: SolverSignal = SolverSignal.QUALITY
    """What is compared from round to round."""
    tolerance: float = 1e-9

    def faults(self) -> tuple[str, ...]:
        """All that is wrong with these constants, each in one sentence; empty if they can be used."""
        found = [
            f"{name.rstrip('_')} is {getattr(self, name)}: it must lie between {low} and {high}."
            for name, low, high in BOUNDS
            if not low <= getattr(self, name) <= high  # so that NaN is a fault too
        ]
        if self.exceeds(self.alpha + max(self.beta, self.lambda_), 1):
            found.append("alpha plus the greater of beta and lambda is more than 1: the loss would leave [0, 1].")
        return tuple(found)

    def reached(self, value: float, limit: float) -> bool:
        """True for value >= limit: 0.6 * 4/3 = 0.7999… reaches 0.8."""
        return value >= limit - self.tolerance

    def exceeds(self, value: float, limit: float) -> bool:
        """True for value > limit, by more than the tolerance."""
        return value > limit + self.tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What was set for one class of tasks, as calibration proposes it; None leaves a constant as it is."""

    rho: float | None = None
    time_budget_ms: int | None = None


def tuned(constants: Constants, tuning: Tuning) -> Constants:
    """The constants of a task of that class. A time budget that the task itself brought stands."""
    own_time = constants.time_budget_ms != Constants().time_budget_ms
    time_ms = constants.time_budget_ms if own_time or tuning.time_budget_ms is None else tuning.time_budget_ms
    return replace(constants, rho=constants.rho if tuning.rho is None else tuning.rho, time_budget_ms=time_ms)
