"""What a run's solver has seen so far, and what the next round adds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from earnest.engine.gradient.blocking import (
    Alternatives,
    Blocked,
    SubTaskTrial,
    Target,
    TriedApproach,
    blame,
    passing,
    spare_last,
)
from earnest.engine.gradient.cascade import (
    AbandonCause,
    MacroState,
    SolverDecision,
    Trend,
    decide,
    reading_of,
    stop,
    trend_of,
)
from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.loss import JudgedCriterion, Loss, complete, failure_class_of, measure
from earnest.foundation.errors import Broken

INIT: Final = "init"
"""Stands for the directive before the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A finished round, as R4b saw it. `judged` is the whole population (see `JudgedCriterion`), `trials` in plan
    order.

    `trials` too covers subtasks that matched in an earlier round and were kept. `elapsed_ms` runs from the TaskSpec.
    """

    judged: tuple[JudgedCriterion, ...]
    trials: tuple[SubTaskTrial, ...] = ()
    elapsed_ms: int
    alternatives: Alternatives = field(default_factory=dict[str, tuple[frozenset[str], ...]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """What the next plan must heed, beside the decision itself."""

    blocked_tools: tuple[str, ...]
    blocked_targets: tuple[Target, ...]
    blocked_approaches: tuple[TriedApproach, ...]
    failed_criterion: str
    """The name of the heaviest unmet one: failed before not judged, then by weight in D, then by order; or empty."""
    failure_class: str | None
    """`logical`, `environmental`, `mixed`, or None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A round as it was decided. `number` counts from 1; `previous` is the directive it worked under, or `init`."""

    number: int
    previous: str
    loss: Loss
    quality_gradient: float
    loss_gradient: float
    trend: Trend
    """Of quality."""
    decision: SolverDecision
    directive: Directive | None
    """None if and only if the run ends here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A run's rounds and what they left behind."""

    rounds: tuple[Round, ...] = ()
    worsening: int = 0
    """Worsening rounds in a row, up to the last one."""
    blocked: Blocked = field(default_factory=Blocked)
    """All that any round spoke against; it only grows."""
    passing: frozenset[str] = frozenset()
    """The subtasks that kept their promise in the last round."""
    undecided: bool = False
    """In the last round only unclear criteria kept the result from acceptance."""
    end: SolverDecision | None = None

    @property
    def previous(self) -> str:
        """The directive now in force: `init` before the first."""
        states = [one.decision.state for one in self.rounds if not one.decision.state.ends]
        return str(states[-1]) if states else INIT


def observe(trajectory: Trajectory, observation: Observation, constants: Constants) -> tuple[Trajectory, Round]:
    """The trajectory with one more round, and that round. Raises `Broken` for a run that has ended."""
    if trajectory.end is not None:
        raise Broken("a round was observed after the end of its run")
    judged = observation.judged
    loss = measure(
        judged,
        failing_rounds=len(trajectory.rounds) + (not complete(judged)),
        elapsed_ms=observation.elapsed_ms,
        constants=constants,
    )
    last = trajectory.rounds[-1].loss if trajectory.rounds else None
    reading = reading_of(judged, loss, observation.elapsed_ms, constants, last=last, worsening=trajectory.worsening)
    decision = decide(reading, constants)
    ended = decision.state.ends
    new = blame(judged, observation.trials, constants)
    blocked = new.and_before(trajectory.blocked)
    current = Round(
        number=len(trajectory.rounds) + 1,
        previous=trajectory.previous,
        loss=loss,
        quality_gradient=reading.quality_gradient,
        loss_gradient=reading.loss_gradient,
        trend=trend_of(reading.quality_gradient, constants),
        decision=decision,
        directive=None if ended else _directive(decision.state, observation, new, blocked),
    )
    after = Trajectory(
        rounds=(*trajectory.rounds, current),
        worsening=reading.worsening,
        blocked=blocked,
        passing=passing(judged),
        undecided=reading.undecided,
        end=decision if ended else None,
    )
    return after, current


def halt(trajectory: Trajectory, cause: AbandonCause) -> Trajectory:
    """The trajectory of a run that something other than a finished round ends: its planner, its user, its deadline.

    A cause that would speak about the task becomes `unclear` while only unclear criteria are open. Raises `Broken`
    for a run that has ended.
    """
    if trajectory.end is not None:
        raise Broken("a run was ended twice")
    return replace(trajectory, end=stop(AbandonCause.UNCLEAR if trajectory.undecided and cause.about_task else cause))


def answered(reply: str) -> Trajectory:
    """The trajectory of words that are no task: they are answered, and nothing is planned."""
    return Trajectory(end=SolverDecision(state=MacroState.ACCEPT, rationale=reply))


def _directive(state: MacroState, observation: Observation, new: Blocked, blocked: Blocked) -> Directive:
    """Targets and approaches stay blocked for the whole run, tools only where the approach is to change.

    `break_symmetry` asks for tools that no failing attempt has used yet, `change_approach` for others than just now.
    """
    suspects: Mapping[MacroState, tuple[str, ...]] = {
        MacroState.BREAK_SYMMETRY: blocked.tools,
        MacroState.CHANGE_APPROACH: new.tools,
    }
    unmet = (criterion for criterion in observation.judged if not criterion.passed)
    heaviest = max(unmet, key=lambda criterion: (criterion.failed, criterion.weight), default=None)
    kept = passing(observation.judged)
    open_ways = {subtask: ways for subtask, ways in observation.alternatives.items() if subtask not in kept}
    return Directive(
        blocked_tools=spare_last(suspects.get(state, ()), open_ways),
        blocked_targets=blocked.targets,
        blocked_approaches=blocked.approaches,
        failed_criterion=heaviest.name if heaviest else "",
        failure_class=failure_class_of(observation.judged),
    )
