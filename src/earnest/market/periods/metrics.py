"""Five metrics of an agent in a period, from what happened in it (agents ruling §5).

Verified tasks per hour, verification failure rate, ai$ delta, time to approval, thrash index. Beside each stand the raw
counts that it comes from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Final, TypeAlias, assert_never

from earnest.foundation.instants import HOUR_MS, SECOND_MS
from earnest.verification.verdict import Answer

DIGITS: Final = 6
"""What is left of a rate behind the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTask:
    """A task was started: its agent holds the claim."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """An agent is at work on a claim."""

    agent: str
    claim_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Nobody is at work on a claim any more: it was handed in, or ended. `left`: its agent gave it back."""

    agent: str
    claim_id: str
    left: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedWork:
    """A machine's verdict on an agent's work."""

    agent: str
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """An agent's work was released. `verified`: a verdict or a person said yes, not silence alone."""

    agent: str
    verified: bool
    since_submission_ms: int
    since_creation_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyMoved:
    """So many micro-ai$ came to an agent; below 0, went."""

    agent: str
    amount_micro: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Headed:
    """An agent chose a destination; `turned`: before it had arrived at the one before."""

    agent: str
    turned: bool


Event: TypeAlias = ClaimedTask | Began | Paused | JudgedWork | Approved | MoneyMoved | Headed


@dataclass(slots=True, kw_only=True)
class Tally:
    """What an agent did in a period, counted."""

    approved: int = 0
    verified: int = 0
    passes: int = 0
    rejections: int = 0
    unclear: int = 0
    aid_delta_micro: int = 0
    since_submission_ms: list[int] = field(default_factory=list)
    since_creation_ms: list[int] = field(default_factory=list)
    destinations_chosen: int = 0
    destinations_changed: int = 0
    tasks_started: int = 0
    tasks_left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Whole seconds; None where there was nothing to measure. `p90_s`: nearest rank."""

    median_s: int | None
    p90_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """None where there was nothing to divide by."""

    verified_per_hour: float | None
    failure_rate: float | None
    aid_delta_micro: int
    approval_from_submission: Durations
    approval_from_creation: Durations
    thrash_index: float


class Tallying:
    """Counts events in the order of their facts. `at_work`: which claim an agent works on as the period begins."""

    def __init__(self, at_work: Mapping[str, str]) -> None:
        self.by_agent: dict[str, Tally] = {}
        self._working = dict(at_work)
        self._switched: set[str] = set()  # claims that somebody left for another: they are left once

    def count(self, event: Event) -> None:
        """One more event."""
        tally = self.by_agent.setdefault(event.agent, Tally())
        match event:
            case ClaimedTask():
                tally.tasks_started += 1
            case Began():
                if (before := self._working.get(event.agent)) is not None:
                    tally.tasks_left += before not in self._switched
                    self._switched.add(before)
                self._working[event.agent] = event.claim_id
            case Paused():
                tally.tasks_left += event.left and event.claim_id not in self._switched
                if self._working.get(event.agent) == event.claim_id:
                    del self._working[event.agent]
            case JudgedWork():
                tally.passes += event.answer is Answer.VERIFIED
                tally.rejections += event.answer is Answer.NOT_VERIFIED
                tally.unclear += event.answer is Answer.UNCLEAR
            case Approved():
                tally.approved += 1
                tally.verified += event.verified
                tally.since_submission_ms.append(event.since_submission_ms)
                tally.since_creation_ms.append(event.since_creation_ms)
            case MoneyMoved():
                tally.aid_delta_micro += event.amount_micro
            case Headed():
                tally.destinations_chosen += 1
                tally.destinations_changed += event.turned
            case _:
                assert_never(event)


def metrics_of(tally: Tally, span_ms: int) -> Metrics:
    """The metrics of one agent in a period that has lasted `span_ms`."""
    decisions = tally.passes + tally.rejections
    started = tally.destinations_chosen + tally.tasks_started
    return Metrics(
        verified_per_hour=round(tally.verified * HOUR_MS / span_ms, DIGITS) if span_ms > 0 else None,
        failure_rate=round(tally.rejections / decisions, DIGITS) if decisions else None,
        aid_delta_micro=tally.aid_delta_micro,
        approval_from_submission=durations(tally.since_submission_ms),
        approval_from_creation=durations(tally.since_creation_ms),
        thrash_index=round((tally.destinations_changed + tally.tasks_left) / max(1, started), DIGITS),
    )


def durations(spans_ms: list[int]) -> Durations:
    """Median and 90th percentile."""
    if not spans_ms:
        return Durations(median_s=None, p90_s=None)
    ordered = sorted(spans_ms)
    rank = -(-9 * len(ordered) // 10)
    return Durations(median_s=int(median(ordered)) // SECOND_MS, p90_s=ordered[rank - 1] // SECOND_MS)
