"""The outcome of one cycle, for people and for programs."""

from dataclasses import dataclass
from enum import StrEnum

from earnest.client.payloads_scores import Heartbeat
from earnest.foundation.canonical import JsonObject
from earnest.foundation.instants import rfc3339_s


class CycleOutcome(StrEnum):
    """How a cycle ended."""

    JUDGED = "judged"
    UNJUDGED = "unjudged"
    """It was handed in; the verdict is not there yet."""
    SKIPPED = "skipped"
    FAILED = "failed"
    """The program, or its contract."""
    UNANSWERED = "unanswered"
    """The platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleReport:
    """`reason`: why it was skipped, or what went wrong. `notes`: what else should be seen.

    `is_open`: so many failures in a row that the next cycle is a trial.
    """

    at_ms: int
    next_ms: int
    outcome: CycleOutcome
    reason: str = ""
    heartbeat: Heartbeat | None = None
    notes: tuple[str, ...] = ()
    failures: int = 0
    idle: int = 0
    is_open: bool = False

    def to_json(self) -> JsonObject:
        """One line of `--json`."""
        return {
            "at": rfc3339_s(self.at_ms),
            "outcome": self.outcome.value,
            "reason": self.reason or None,
            "heartbeat": self.heartbeat,  # type: ignore[dict-item]
            "notes": list(self.notes),
            "failures": self.failures,
            "idle": self.idle,
            "circuit": "open" if self.is_open else "closed",
            "next_at": rfc3339_s(self.next_ms),
        }

    def lines(self) -> list[str]:
        """The same for people."""
        head = f"{rfc3339_s(self.at_ms)}  {self.outcome:<10}"
        found = self.heartbeat["outcome"] if self.heartbeat else None
        if self.heartbeat and found:
            verdicts = ", ".join(f"{task['id']} {task['verdict']}" for task in self.heartbeat["tasks"])
            head += f"  {self.heartbeat['points']:+d} points, {found['score']} of {found['target']}: {verdicts}"
        told = [*(found["feedback"] if found else ()), *self.notes]
        told += [f"{self.failures} failures in a row: paused"] if self.is_open else []
        return [f"{head}  {self.reason}".rstrip(), *(f"  {one}" for one in told), f"  next {rfc3339_s(self.next_ms)}"]
