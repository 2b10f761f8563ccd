"""Other constants tried on recorded rounds, and those that the rounds speak for, in hindsight.

A replay knows what was observed, not what another directive would have led to. So it says of each round what would
have been decided on the same observations, and is silent about rounds that were never worked.

Of a round that another one followed it is known what going on as it did has led to, and what ending there would have
lost. Of a directive that was not given nothing is known. So constants are proposed that repeat what helped, do not
repeat what did not, and end where nothing better came.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.engine.gradient.cascade import MacroState, decide, reading_of
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion, Loss, resource, weigh

TENTHS: Final = tuple(step / 10 for step in range(1, 10))
GRIDS: Final = {
    "alpha": TENTHS,
    "beta": TENTHS,
    "lambda_": TENTHS,
    "w1": TENTHS,
    "w2": TENTHS,
    "epsilon": tuple(step / 20 for step in range(1, 11)),
    "delta": (0.0, *TENTHS),
    "rho": TENTHS,
    "theta": TENTHS,
}
"""What is tried for each, in the order in which they are settled; what stands is tried, too."""
BUDGET_GRID_MS: Final = tuple(1000 * seconds for seconds in (30, 60, 120, 300, 600, 1_200, 1_800, 3_600))
EVIDENCE_MIN: Final = 5
"""Fewer followed-up rounds, or delivered runs, propose nothing."""
FOLLOWED_MAX: Final = 500
"""The newest runs of several rounds that are searched: each is replayed some hundred times."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Constants that the runs of a task class speak for; None where there is too little evidence."""

    task_class: str
    runs: int
    rho: float | None
    time_budget_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantProposal:
    """What all runs speak for. `proposed` None: too little evidence, or no value would have decided otherwise."""

    name: str
    now: float
    proposed: float | None


def proposals(runs: Sequence[RecordedRun], constants: Constants) -> tuple[Proposal, ...]:
    """For each task class, by name, its rho and its time budget."""
    classes: dict[str, list[RecordedRun]] = {}
    for run in runs:
        classes.setdefault(run.task_class, []).append(run)
    return tuple(
        Proposal(
            task_class=name,
            runs=len(members),
            rho=best_value("rho", members, constants),
            time_budget_ms=_least_budget_ms(members, constants),
        )
        for name, members in sorted(classes.items())
    )


def constant_proposals(runs: Sequence[RecordedRun], constants: Constants) -> tuple[ConstantProposal, ...]:
    """The ten constants of every task, one after the other: each is searched with those before it as proposed.

    Together they are constants without faults.
    """
    settled = constants
    found = []
    for name in GRIDS:
        best = best_value(name, runs, settled)
        found.append(ConstantProposal(name=name.rstrip("_"), now=getattr(constants, name), proposed=best))
        settled = settled if best is None else replace(settled, **{name: best})  # type: ignore[arg-type]
    budget_ms = _least_budget_ms(runs, constants)
    return (*found, ConstantProposal(name="time_budget_ms", now=constants.time_budget_ms, proposed=budget_ms))


def best_value(name: str, runs: Sequence[RecordedRun], constants: Constants) -> float | None:
    """The value of one constant with the highest score; of equals the nearest to what stands; None as there."""
    runs = [run for run in runs if len(run.rounds) > 1][-FOLLOWED_MAX:]
    if sum(len(run.rounds) - 1 for run in runs) < EVIDENCE_MIN:
        return None
    now: float = getattr(constants, name)
    own = [for_run(run, constants) for run in runs]
    scores: dict[float, int] = {}
    for value in sorted({now, *GRIDS[name]}, key=lambda value: abs(value - now)):
        if not replace(constants, **{name: value}).faults():  # type: ignore[arg-type]
            tried = (replace(one, **{name: value}) for one in own)  # type: ignore[arg-type]
            scores[value] = sum(map(_score, runs, tried))
    return max(scores, key=scores.__getitem__) if len(set(scores.values())) > 1 else None


def _score(run: RecordedRun, constants: Constants) -> int:
    """A round that is decided as it was: +1 if the next one was better, else -1.

    An end that was none: a point for each round that it saves, against it if one of those was better.
    """
    score = 0
    for number, state in enumerate(replay(run, constants).states[: len(run.rounds) - 1]):
        now, later = run.rounds[number], run.rounds[number + 1 :]
        if state.ends:
            return score + (-len(later) if any(_is_better(one, now) for one in later) else len(later))
        if state is now.state:
            score += 1 if _is_better(later[0], now) else -1
    return score


def _is_better(then: RecordedRound, now: RecordedRound) -> bool:
    return then.accepted or then.distance < now.distance


def _least_budget_ms(runs: Sequence[RecordedRun], constants: Constants) -> int | None:
    """The least time of the grid under which every delivered run would have been delivered with a quarter to spare."""
    delivered = [run for run in runs if run.delivered]
    if len(delivered) < EVIDENCE_MIN:
        return None
    for budget_ms in BUDGET_GRID_MS:
        if all(_still_delivered(run, replace(for_run(run, constants), time_budget_ms=budget_ms)) for run in delivered):
            return budget_ms
    return None


def _still_delivered(run: RecordedRun, constants: Constants) -> bool:
    return run.elapsed_ms * 5 <= constants.time_budget_ms * 4 and replay(run, constants).states == run.states
