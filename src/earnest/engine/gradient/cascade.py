"""What follows from a round: budget first, then distance, then the kind of change that is needed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from types import MappingProxyType
from typing import Final

from earnest.engine.gradient.constants import Constants, Signal
from earnest.engine.gradient.loss import Answer, Judged, Loss, complete


class State(StrEnum):
    """The seed's macro-states and `accept`: three that end a run, four that ask for another plan.

    The words are those of memory's rows (`memory.megram.State`) and not the same type: these decide, those are stored.
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
        return self in (State.ACCEPT, State.SUCCESS, State.ABANDON)


class Cause(StrEnum):
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
        return self in (Cause.BUDGET, Cause.TIME, Cause.DIVERGENCE, Cause.EXHAUSTED)


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
class Cell:
    """One of the 24 situations that the seed's table tells apart."""

    trend: Trend
    far: bool
    """D > delta, or R4b objects."""
    logical: bool
    """P > rho."""
    spent: bool
    """Ω ≥ theta."""

    @property
    def number(self) -> int:
        """1 to 24, as the seed counts."""
        return 1 + 8 * list(Trend).index(self.trend) + 4 * self.far + 2 * self.spent + self.logical

    @property
    def state(self) -> State:
        """The cascade: Ω, then D, then (|∇|, P)."""
        if self.spent:
            return State.ABANDON
        if not self.far:
            return State.SUCCESS
        if self.trend is Trend.PLATEAU:
            return State.BREAK_SYMMETRY if self.logical else State.CHANGE_PATH
        return State.CHANGE_APPROACH if self.logical else State.REFINE


CELLS: Final = tuple(
    Cell(trend=trend, far=far, spent=spent, logical=logical)
    for trend, far, spent, logical in product(Trend, (False, True), (False, True), (False, True))
)
"""All of them, number 1 first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that a decision looks at. `worsening` counts worsening rounds in a row, this one included.

    The gradients are 0 in the first round; `elapsed_ms` runs from the TaskSpec.
    """

    judged: Collection[Judged]
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
            criterion.subtask is None and criterion.answer in (Answer.FAIL, Answer.UNCLEAR) for criterion in self.judged
        )

    @property
    def undecided(self) -> bool:
        """Nothing failed: only what is unclear keeps the result from acceptance."""
        return not any(criterion.failed for criterion in self.judged) and any(
            criterion.answer is Answer.UNCLEAR for criterion in self.judged
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to happen now. `cause` is set if and only if the run is abandoned.

    `cell` is the situation's number in the seed's table, 0 where the table was not asked (`accept`, and ends that
    came from outside). `law2` marks an end where the table itself would have gone on. `rationale` is for people.
    """

    state: State
    cause: Cause | None
    urgency: Urgency
    law2: bool
    cell: int
    rationale: str


def trend_of(gradient: float, constants: Constants) -> Trend:
    """A change of at least epsilon is a signal; upwards it is for the worse."""
    if constants.reached(gradient, constants.epsilon):
        return Trend.WORSENING
    return Trend.IMPROVING if constants.reached(-gradient, constants.epsilon) else Trend.PLATEAU


def deciding_gradient(quality_gradient: float, loss_gradient: float, constants: Constants) -> float:
    """The one of the two that `constants.signal` names."""
    return quality_gradient if constants.signal is Signal.QUALITY else loss_gradient


def cell_of(reading: Reading, constants: Constants) -> Cell:
    """Where the round stands in the table. An objection counts as being far from the promise, whatever D says."""
    gradient = deciding_gradient(reading.quality_gradient, reading.loss_gradient, constants)
    return Cell(
        trend=trend_of(gradient, constants),
        far=reading.objected or constants.exceeds(reading.loss.distance, constants.delta),
        logical=constants.exceeds(reading.loss.implausibility, constants.rho),
        spent=constants.reached(reading.loss.resource, constants.theta),
    )


def decide(reading: Reading, constants: Constants) -> Decision:
    """Exactly one state for every reading.

    Strictest first: a complete result is accepted whatever it cost; then the table; then Law 2, which ends what the
    table would continue (so `success` outranks it).
    """
    if reading.complete:
        rationale = f"Every criterion is met ({len(reading.judged)} of {len(reading.judged)})."
        return Decision(state=State.ACCEPT, cause=None, urgency=Urgency.NORMAL, law2=False, cell=0, rationale=rationale)
    cell = cell_of(reading, constants)
    law2 = not cell.state.ends and reading.worsening >= constants.kill_after
    state = State.ABANDON if law2 else cell.state
    cause = _cause(reading, law2, constants) if state is State.ABANDON else None
    return Decision(
        state=state,
        cause=cause,
        urgency=Urgency.NORMAL if state.ends else _urgency(reading, cell, constants),
        law2=law2,
        cell=cell.number,
        rationale=_rationale(reading, cause or state, constants),
    )


def stop(cause: Cause) -> Decision:
    """The end of a run between two rounds, by somebody other than the solver's own table."""
    rationale = _OUTSIDE[cause]
    return Decision(state=State.ABANDON, cause=cause, urgency=Urgency.NORMAL, law2=False, cell=0, rationale=rationale)


def _cause(reading: Reading, law2: bool, constants: Constants) -> Cause:
    if reading.undecided:
        return Cause.UNCLEAR
    if law2:
        return Cause.DIVERGENCE
    return Cause.TIME if reading.elapsed_ms >= constants.time_budget_ms else Cause.BUDGET


def _urgency(reading: Reading, cell: Cell, constants: Constants) -> Urgency:
    """From the gradient of quality alone. An improvement by a wrong approach (cell 6) is not to be trusted."""
    match trend_of(reading.quality_gradient, constants):
        case Trend.WORSENING:
            return Urgency.HIGH
        case Trend.IMPROVING if not cell.logical:
            return Urgency.LOW
        case _:
            return Urgency.NORMAL


_OUTSIDE: Final[Mapping[Cause, str]] = MappingProxyType(
    {
        Cause.BUDGET: "The budget is used up.",
        Cause.TIME: "The time is up.",
        Cause.DIVERGENCE: "The result became worse again and again (Law 2).",
        Cause.UNCLEAR: "Only unclear criteria keep the result from acceptance, and nothing more can be tried.",
        Cause.EXHAUSTED: "Every approach was tried.",
        Cause.PLANNING: "No valid plan could be made.",
        Cause.UNANSWERED: "A model gave no usable answer.",
        Cause.IMPOSSIBLE: "It cannot be done.",
        Cause.LAW_1: "It would have taken a step that cannot be undone and was not confirmed (Law 1).",
        Cause.UNKNOWN_EFFECT: "A step outside the workspace was interrupted, and nothing can tell whether it happened.",
        Cause.SILENCE: "The run fell silent.",
        Cause.USER: "The user ended the run.",
        Cause.FAULT: "A fault of our own ended the run.",
    }
)

_REASONS: Final[Mapping[State | Cause, str]] = MappingProxyType(
    {
        State.SUCCESS: "Close enough to deliver: D {d} is within {delta}.",
        State.CHANGE_PATH: "No movement (∇ {gradient}), the approach is not at fault (P {p} up to {rho}): new targets.",
        State.REFINE: "Movement (∇ {gradient}), the approach is not at fault (P {p} up to {rho}): adjust it.",
        State.CHANGE_APPROACH: "Movement (∇ {gradient}), the approach is wrong (P {p} over {rho}): another one.",
        State.BREAK_SYMMETRY: "No movement (∇ {gradient}), the approach is wrong (P {p} over {rho}): other tools.",
        Cause.BUDGET: "The budget is used up: Ω {omega} has reached {theta}.",
        Cause.TIME: "The time is up after {elapsed_s} s of {budget_s} s.",
        Cause.DIVERGENCE: "Worse in {worsening} rounds in a row (now ∇ {gradient}): to go on is waste (Law 2).",
        Cause.UNCLEAR: _OUTSIDE[Cause.UNCLEAR],
    }
)


def _rationale(reading: Reading, reason: State | Cause, constants: Constants) -> str:
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
