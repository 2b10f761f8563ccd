"""Other constants tried on recorded rounds.

A replay knows what was observed, not what another directive would have led to. So it says of each round what would
have been decided on the same observations, and is silent about rounds that were never worked.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from earnest.engine.gradient.cascade import MacroState, decide, reading_of
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion, Loss, resource, weigh


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRound:
    """A round as it was decided: D, P and Ω then, the time from the TaskSpec, and what R4b said."""

    distance: float
    implausibility: float
    resource: float
    elapsed_ms: int
    state: MacroState
    accepted: bool
    objected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run with an end. A run may end without a decided round, or after its last one."""

    run_id: str
    task_class: str
    time_budget_ms: int
    rounds: tuple[RecordedRound, ...]
    end: MacroState
    elapsed_ms: int

    @property
    def delivered(self) -> bool:
        """It ended with a result."""
        return self.end in (MacroState.ACCEPT, MacroState.SUCCESS)

    @property
    def states(self) -> tuple[MacroState, ...]:
        """What was decided, round by round."""
        return tuple(one.state for one in self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The same rounds under other constants, up to the end if there is one."""

    run: RecordedRun
    states: tuple[MacroState, ...]

    @property
    def ends_after(self) -> int | None:
        """The round that ends the run; None if it would go on beyond what was recorded, or ended from outside."""
        return len(self.states) if self.states and self.states[-1].ends else None


def replay(run: RecordedRun, constants: Constants) -> Replay:
    """Decide every recorded round anew, with the solver's own rules, up to the first that ends the run."""
    states: list[MacroState] = []
    last: Loss | None = None
    worsening = 0
    for number, recorded in enumerate(run.rounds, start=1):
        loss = _loss(recorded, number, constants)
        judged = (_stand_in(recorded),)
        reading = reading_of(judged, loss, recorded.elapsed_ms, constants, last=last, worsening=worsening)
        states.append(decide(reading, constants).state)
        last, worsening = loss, reading.worsening
        if states[-1].ends:
            break
    return Replay(run=run, states=tuple(states))


def for_run(run: RecordedRun, constants: Constants, *, fixed: Iterable[str] = ()) -> Constants:
    """The constants with the run's own budgets, but for those that are `fixed`.

    The log does not hold `max_replans`; it follows from the first Ω that was not cut off.
    """
    fixed = frozenset(fixed)
    budget_ms = run.time_budget_ms or constants.time_budget_ms
    return replace(
        constants,
        time_budget_ms=constants.time_budget_ms if "time_budget_ms" in fixed else budget_ms,
        max_replans=constants.max_replans if "max_replans" in fixed else _max_replans(run, constants),
    )


def _loss(recorded: RecordedRound, number: int, constants: Constants) -> Loss:
    failing = number - recorded.accepted
    omega = resource(failing_rounds=failing, elapsed_ms=recorded.elapsed_ms, constants=constants)
    return weigh(recorded.distance, recorded.implausibility, omega, constants)


def _stand_in(recorded: RecordedRound) -> JudgedCriterion:
    """One criterion for all: what a state asks of them is whether all are met and whether R4b objects."""
    subtask = None if recorded.objected else "any"
    return JudgedCriterion(
        criterion="any", subtask=subtask, answer=CriterionState.PASS if recorded.accepted else CriterionState.FAIL
    )


def _max_replans(run: RecordedRun, constants: Constants) -> int:
    for number, recorded in enumerate(run.rounds, start=1):
        rounds_share = recorded.resource - constants.w2 * recorded.elapsed_ms / max(1, run.time_budget_ms)
        failing = number - recorded.accepted
        if failing and rounds_share > constants.tolerance and recorded.resource < constants.theta:
            return max(1, round(constants.w1 * failing / rounds_share))
    return constants.max_replans
