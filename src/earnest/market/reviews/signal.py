"""Signals: what somebody did that others should know of."""

from dataclasses import dataclass
from enum import StrEnum


class SignalKind(StrEnum):
    """What a seller's claim came to. An end without one (unjudged, called off by the buyer or by both) is no mark."""

    RELEASED = "released"
    SPLIT = "split"
    REFUNDED = "refunded"
    LATE = "late"
    MISSED_DEADLINE = "missed_deadline"
    EARLY_CANCEL = "early_cancel"
    LATE_CANCEL = "late_cancel"
    WITHDREW = "withdrew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A reputation event (`late_cancel`, `missed_deadline`, `late`, …): one for each end or lapse of a claim.

    `id` is `<claim>/<kind>`, so the same thing never counts twice. `weight` is its claim's (`weight_of`).
    """

    id: str
    account_id: str
    kind: str
    claim_id: str
    at_ms: int
    weight: int = 1
