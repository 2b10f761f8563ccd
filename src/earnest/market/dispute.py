"""How is a quarrel about a claim settled?"""

from dataclasses import dataclass
from enum import StrEnum


class DisputeState(StrEnum):
    """The states of market ruling a.7."""

    STAKE_PENDING = "stake_pending"
    OPEN = "open"
    EVIDENCE = "evidence"
    DELIBERATION = "deliberation"
    RULED = "ruled"
    APPEAL = "appeal"
    FINAL = "final"
    WITHDRAWN = "withdrawn"
    VOID = "void"


CLOSED = frozenset({DisputeState.FINAL, DisputeState.WITHDRAWN, DisputeState.VOID})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """One case. `awaiting` is `raiser`, `respondent`, `arbiter` or empty; `*_unread` count messages not yet read.

    `ruling` (JSON): {for, seller_micro, buyer_micro, criteria, reason, by, round}. `hard_limit_ms`: when the last
    machine verdict decides. `wake_ms`: when the clock looks at it next.
    """

    id: str
    claim_id: str
    raiser: str
    respondent: str
    state: DisputeState
    currency: str
    amount_micro: int
    stake_micro: int
    reason: str
    criteria: str
    opened_at_ms: int
    hard_limit_ms: int
    respond_by_ms: int | None = None
    awaiting: str = ""
    raiser_unread: int = 0
    respondent_unread: int = 0
    raiser_statements: int = 0
    respondent_statements: int = 0
    last_message_at_ms: int | None = None
    ruling: str = ""
    ruled_at_ms: int | None = None
    appeal_ends_at_ms: int | None = None
    appealed_by: str | None = None
    closed_at_ms: int | None = None
    wake_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", DisputeState(self.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One message of a case. `evidence` is a JSON list of artifact digests, whose bytes are kept as they were."""

    id: str
    dispute_id: str
    number: int
    author: str
    text: str
    evidence: str
    said_at_ms: int
