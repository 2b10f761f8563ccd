"""What follows from a round: budget first, then distance, then the kind of change that is needed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion, Loss, complete


class MacroState(StrEnum):
    """The seed's macro-states and `accept`: three that end a run, four that ask for another plan.

    The words are those of memory's rows (`memory.megram.MegramState`), of another type: these decide, those are stored.
    """

    ACCEPT = "accept"
    SUCCESS = "success"
    ABANDON = "abandon"
    CHANGE_PATH = "change_path"
    REFINE = "refine"
    CHANGE_APPROACH = "change_approach"
    BREAK_SYMMETRY = "break_symmetry"

    @property
    def ends(self) -> bool:
        """True if no further round follows."""
        return self in (MacroState.ACCEPT, MacroState.SUCCESS, MacroState.ABANDON)


class AbandonCause(StrEnum):
    """Why a run was abandoned."""

    BUDGET = "budget"
    """Ω has reached theta, or the next model call could pass what may be spent."""
    TIME = "time"
    """The deadline has passed."""
    DIVERGENCE = "divergence"
    """Law 2: it became worse again and again."""
    UNCLEAR = "unclear"
    """Nothing failed, but not everything could be judged, and nothing more can be tried."""
    EXHAUSTED = "exhausted"
    """Every approach was tried."""
    PLANNING = "planning"
    """No valid plan was made."""
    UNANSWERED = "unanswered"
    """A model that the run cannot do without gave no usable answer."""
    IMPOSSIBLE = "impossible"
    """Something that the task takes as given is missing: a role said so, and the runtime looked."""
    LAW_1 = "law_1"
    """The user did not confirm what cannot be undone."""
    UNKNOWN_EFFECT = "unknown_effect"
    """After a crash nobody can tell whether a step outside the workspace was taken."""
    SILENCE = "silence"
    """No message came for too long."""
    USER = "user"
    FAULT = "fault"
    """Our own side failed."""

    @property
    def about_task(self) -> bool:
        """True if it says something about the task; the others speak of us, of the user or of the judge."""
        return self in (AbandonCause.BUDGET, AbandonCause.TIME, AbandonCause.DIVERGENCE, AbandonCause.EXHAUSTED)


class Urgency(StrEnum):
    """How boldly to plan. Low: the plan's shape stays, one more attempt; high: a smaller plan, one attempt fewer."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Trend(StrEnum):
    """Where a gradient points, in the order of the seed's table."""

    IMPROVING = "improving"
    PLATEAU = "plateau"
    WORSENING = "worsening"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One of the 24 situations that the seed's table tells apart."""

    trend: Trend
    far: bool
    """D > delta, or R4b objects."""
    logical: bool
    """P > rho."""
    spent: bool
    """Ω ≥ theta."""

    @property
    def state(self) -> MacroState:
        """The cascade: Ω, then D, then (|∇|, P)."""
        if self.spent:
            return MacroState.ABANDON
        if not self.far:
            return MacroState.SUCCESS
        if self.trend is Trend.PLATEAU:
            return MacroState.BREAK_SYMMETRY if self.logical else MacroState.CHANGE_PATH
        return MacroState.CHANGE_APPROACH if self.logical else MacroState.REFINE


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReading:
    """All that a decision looks at. `worsening` counts worsening rounds in a row, this one included.

    The gradients are 0 in the first round; `elapsed_ms` runs from the TaskSpec.
    """

    judged: Collection[JudgedCriterion]
    loss: Loss
    quality_gradient: float
    loss_gradient: float
    worsening: int
    elapsed_ms: int

    @property
    def complete(self) -> bool:
        """See `loss.complete`."""
        return complete(self.judged)

    @property
    def objected(self) -> bool:
        """R4b rejects the combined result; an answer that it could not give is a rejection too."""
        return any(
            criterion.subtask is None and criterion.answer in (CriterionState.FAIL, CriterionState.UNCLEAR)
            for criterion in self.judged
        )

    @property
    def undecided(self) -> bool:
        """Nothing failed: only what is unclear keeps the result from acceptance."""
        return not any(criterion.failed for criterion in self.judged) and any(
            criterion.answer is CriterionState.UNCLEAR for criterion in self.judged
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverDecision:
    """What is to happen now. `cause` is set if and only if the run is abandoned; `rationale` is for people."""

    state: MacroState
    cause: AbandonCause | None = None
    urgency: Urgency = Urgency.NORMAL
    rationale: str


def trend_of(gradient: float, constants: Constants) -> Trend:
    """A change of at least epsilon is a signal; upwards it is for the worse."""
    if constants.reached(gradient, constants.epsilon):
        return Trend.WORSENING
    return Trend.IMPROVING if constants.reached(-gradient, constants.epsilon) else Trend.PLATEAU


def deciding_gradient(quality_gradient: float, loss_gradient: float, constants: Constants) -> float:
    """The one of the two that `constants.signal` names."""
    return quality_gradient if constants.signal is SolverSignal.QUALITY else loss_gradient


def reading_of(
    judged: Collection[JudgedCriterion],
    loss: Loss,
    elapsed_ms: int,
    constants: Constants,
    *,
    last: Loss | None,
    worsening: int,
) -> RoundReading:
    """The reading of a round that follows one with the loss `last`, and before it so many `worsening` ones in a row."""
    before = last or loss
    quality_gradient, loss_gradient = loss.quality - before.quality, loss.total - before.total
    is_worse = trend_of(deciding_gradient(quality_gradient, loss_gradient, constants), constants) is Trend.WORSENING
    return RoundReading(
        judged=judged,
        loss=loss,
        quality_gradient=quality_gradient,
        loss_gradient=loss_gradient,
        worsening=worsening + 1 if is_worse else 0,
        elapsed_ms=elapsed_ms,
    )


def cell_of(reading: RoundReading, constants: Constants) -> Situation:
    """Where the round stands in the table. An objection counts as being far from the promise, whatever D says."""
    gradient = deciding_gradient(reading.quality_gradient, reading.loss_gradient, constants)
    return Situation(
        trend=trend_of(gradient, constants),
        far=reading.objected or constants.exceeds(reading.loss.distance, constants.delta),
        logical=constants.exceeds(reading.loss.implausibility, constants.rho),
        spent=constants.reached(reading.loss.resource, constants.theta),
    )


def decide(reading: RoundReading, constants: Constants) -> SolverDecision:
    """Exactly one state for every reading.

    Strictest first: a complete result is accepted whatever it cost; then the table; then Law 2, which ends what the
    table would continue (so `success` outranks it).
    """
    if reading.complete:
        rationale = f"Every criterion is met ({len(reading.judged)} of {len(reading.judged)})."
        return SolverDecision(state=MacroState.ACCEPT, rationale=rationale)
    cell = cell_of(reading, constants)
    law2 = not cell.state.ends and reading.worsening >= constants.kill_after
    state = MacroState.ABANDON if law2 else cell.state
    cause = _cause(reading, law2, constants) if state is MacroState.ABANDON else None
    return SolverDecision(
        state=state,
        cause=cause,
        urgency=Urgency.NORMAL if state.ends else _urgency(reading, cell, constants),
        rationale=_rationale(reading, cause or state, constants),
    )


def stop(cause: AbandonCause) -> SolverDecision:
    """The end of a run between two rounds, by somebody other than the solver's own table."""
    return SolverDecision(state=MacroState.ABANDON, cause=cause, rationale=_OUTSIDE[cause])


def _cause(reading: RoundReading, law2: bool, constants: Constants) -> AbandonCause:
    if reading.undecided:
        return AbandonCause.UNCLEAR
    if law2:
        return AbandonCause.DIVERGENCE
    return AbandonCause.TIME if reading.elapsed_ms >= constants.time_budget_ms else AbandonCause.BUDGET


def _urgency(reading: RoundReading, cell: Situation, constants: Constants) -> Urgency:
    """From the gradient of quality alone. An improvement by a wrong approach (cell 6) is not to be trusted."""
    match trend_of(reading.quality_gradient, constants):
        case Trend.WORSENING:
            return Urgency.HIGH
        case Trend.IMPROVING if not cell.logical:
            return Urgency.LOW
        case _:
            return Urgency.NORMAL


_OUTSIDE: Final[Mapping[AbandonCause, str]] = {
    AbandonCause.BUDGET: "The budget is used up.",
    AbandonCause.TIME: "The time is up.",
    AbandonCause.DIVERGENCE: "The result became worse again and again (Law 2).",
    AbandonCause.UNCLEAR: "Only unclear criteria keep the result from acceptance, and nothing more can be tried.",
    AbandonCause.EXHAUSTED: "Every approach was tried.",
    AbandonCause.PLANNING: "No valid plan could be made.",
    AbandonCause.UNANSWERED: "A model gave no usable answer.",
    AbandonCause.IMPOSSIBLE: "It cannot be done.",
    AbandonCause.LAW_1: "It would have taken a step that cannot be undone and was not confirmed (Law 1).",
    AbandonCause.UNKNOWN_EFFECT: "A step outside the workspace was interrupted, and nothing can tell "
    "whether it happened.",
    AbandonCause.SILENCE: "The run fell silent.",
    AbandonCause.USER: "The user ended the run.",
    AbandonCause.FAULT: "A fault of our own ended the run.",
}

_REASONS: Final[Mapping[MacroState | AbandonCause, str]] = {
    MacroState.SUCCESS: "Close enough to deliver: D {d} is within {delta}.",
    MacroState.CHANGE_PATH: "No movement (∇ {gradient}), the approach is not at fault (P {p} up to {rho}): "
    "new targets.",
    MacroState.REFINE: "Movement (∇ {gradient}), the approach is not at fault (P {p} up to {rho}): adjust it.",
    MacroState.CHANGE_APPROACH: "Movement (∇ {gradient}), the approach is wrong (P {p} over {rho}): another one.",
    MacroState.BREAK_SYMMETRY: "No movement (∇ {gradient}), the approach is wrong (P {p} over {rho}): other tools.",
    AbandonCause.BUDGET: "The budget is used up: Ω {omega} has reached {theta}.",
    AbandonCause.TIME: "The time is up after {elapsed_s} s of {budget_s} s.",
    AbandonCause.DIVERGENCE: "Worse in {worsening} rounds in a row (now ∇ {gradient}): to go on is waste (Law 2).",
    AbandonCause.UNCLEAR: _OUTSIDE[AbandonCause.UNCLEAR],
}


def _rationale(reading: RoundReading, reason: MacroState | AbandonCause, constants: Constants) -> str:
    loss, total = reading.loss, len(reading.judged)
    why = _REASONS[reason].format(
        d=f"{loss.distance:.2f}",
        p=f"{loss.implausibility:.2f}",
        omega=f"{loss.resource:.2f}",
        gradient=f"{deciding_gradient(reading.quality_gradient, reading.loss_gradient, constants):+.2f}",
        worsening=reading.worsening,
        elapsed_s=reading.elapsed_ms // 1000,
        budget_s=constants.time_budget_ms // 1000,
        delta=constants.delta,
        rho=constants.rho,
        theta=constants.theta,
    )
    unmet = sum(not criterion.passed for criterion in reading.judged)
    rejected = ", the combined result rejected" if reading.objected else ""
    return f"{unmet} of {total} criteria unmet (D {loss.distance:.2f}){rejected}. {why}"
