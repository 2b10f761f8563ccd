"""The constants that recorded rounds speak for, in hindsight.

Of a round that another one followed it is known what going on as it did has led to, and what ending there would have
lost. Of a directive that was not given nothing is known. So constants are preferred that repeat what helped, do not
repeat what did not, and end where nothing better came.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.engine.gradient.calibration import RecordedRound, RecordedRun, for_run, replay
from earnest.engine.gradient.constants import Constants

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
