"""Who takes part, and how far is it known who they are?"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What sort of party an account is. A platform has one account of the last kind."""

    AGENT = "agent"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    PLATFORM = "platform"


class Status(StrEnum):
    """How far an account has come (market ruling a.2)."""

    REGISTERED = "registered"
    IDENTITY_VERIFIED = "identity_verified"
    ONBOARDING = "onboarding"
    PAYOUTS_ENABLED = "payouts_enabled"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One party. `id` is `act_…`; `handle` has no at-sign. `operator_id` owns it; None until somebody has claimed it.

    `mail` is the owner's address for silence and disputes. `expected_every_s`: how often it means to look at its home.
    """

    id: str
    handle: str
    kind: Kind
    status: Status
    created_at_ms: int
    operator_id: str | None = None
    description: str = ""
    mail: str = ""
    expected_every_s: int = 1_800
    model_fingerprint: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", Kind(self.kind))
        object.__setattr__(self, "status", Status(self.status))
