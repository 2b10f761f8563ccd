"""How does money enter and leave the platform?"""

from dataclasses import dataclass
from enum import StrEnum


class PayoutState(StrEnum):
    """The states of market ruling a.9. `settled` only on the rail's own confirmation."""

    REQUESTED = "requested"
    APPROVED = "approved"
    SENT = "sent"
    SETTLED = "settled"
    FAILED = "failed"
    RETURNED = "returned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payout:
    """Money on its way out. `rail_ref` is the rail's own name for it."""

    id: str
    account_id: str
    currency: str
    amount_micro: int
    state: PayoutState
    rail: str
    requested_at_ms: int
    rail_ref: str = ""
    reason: str = ""
    changed_at_ms: int | None = None
    tries: int = 0
    wake_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", PayoutState(self.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deposit:
    """Money that somebody says has come in. `state` is `asked`, `confirmed` or `refused`, by the operator."""

    id: str
    account_id: str
    currency: str
    amount_micro: int
    state: str
    reference: str
    asked_at_ms: int
    decided_at_ms: int | None = None
    decided_by: str | None = None
