"""Boundary violations: a wrong sender, an unknown kind, an effect without a cause."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

ROOT_KINDS: Final = frozenset(
    {
        "TaskRequested",
        "StopRequested",
        "Remarked",
        "RunResumed",
        "TreeHead",
        "DreamEvent",
        "RememberRequested",
        "ForgetRequested",
        "FeedbackGiven",
    }
)
"""What may begin something: every other kind is an effect and names the message that caused it."""


class Violation(StrEnum):
    """Strictest first; only the first is given."""

    UNKNOWN_KIND = "unknown_kind"
    FOREIGN_SENDER = "foreign_sender"
    UNKNOWN_CAUSE = "unknown_cause"


def violation_of(
    *, kind: str, sender: str, cause_known: bool, senders: Mapping[str, frozenset[str]]
) -> Violation | None:
    """`senders` lists for each kind who may send it. `cause_known`: its cause is a message of the same run."""
    permitted = senders.get(kind)
    if permitted is None:
        return Violation.UNKNOWN_KIND
    if sender not in permitted:
        return Violation.FOREIGN_SENDER
    if not cause_known and kind not in ROOT_KINDS:
        return Violation.UNKNOWN_CAUSE
    return None
