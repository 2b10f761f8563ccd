"""What holds between a seller and a buyer while a job is worked?"""

from dataclasses import dataclass
from enum import StrEnum


class ClaimState(StrEnum):
    """The thirteen states of `claims_fsm.json`."""

    CLAIMED = "claimed"
    IN_PROGRESS = "in_progress"
    SUBMITTED = "submitted"
    VERIFIED = "verified"
    CHANGES_REQUESTED = "changes_requested"
    DECLINED = "declined"
    DISPUTED = "disputed"
    RELEASING = "releasing"
    REFUNDING = "refunding"
    RELEASED = "released"
    REFUNDED = "refunded"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


TERMINAL = frozenset({ClaimState.RELEASED, ClaimState.REFUNDED, ClaimState.CANCELLED, ClaimState.EXPIRED})
WORKING = frozenset({ClaimState.CLAIMED, ClaimState.IN_PROGRESS, ClaimState.CHANGES_REQUESTED})
"""The states that use capacity and have a deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A seller's hold on a job. The terms are the job's at the time of the claim. All instants are whole seconds in ms.

    `start_at_ms` to `due_at_ms` is the obligation under way (the claim's, or the revision's). `verdict` is the
    machine's on the current revision, `last_verdict` its newest at all; empty, `verified`, `not_verified` or `unclear`.
    `escalated`: the operator was asked. `frozen` (JSON): what a dispute has stopped. `settlement_*`: a split's shares.
    `cited` (JSON list): criterion ids that the last change request or decline names. `related`: both sides belong to
    one operator. `clears_at_ms`: when the seller's money leaves clearing. `wake_ms`: when the clock looks at it next.
    """

    id: str
    job_id: str
    job_title: str
    seller: str
    buyer: str
    state: ClaimState
    currency: str
    amount_micro: int
    fee_micro: int
    acceptance: str
    category: str
    task_class: str
    spec_digest: str
    claimed_at_ms: int
    start_at_ms: int
    due_at_ms: int
    grace_ends_at_ms: int
    auto_extend: bool
    auto_release_s: int
    revise_s: int
    revisions_left: int
    revision: int = 0
    submissions: int = 0
    revise_by_ms: int | None = None
    submitted_at_ms: int | None = None
    review_ends_at_ms: int | None = None
    appeal_ends_at_ms: int | None = None
    evidence_root: str = ""
    verdict: str = ""
    last_verdict: str = ""
    late: bool = False
    escalated: bool = False
    extension_asked_at_ms: int | None = None
    extension_asked_s: int = 0
    extended: bool = False
    cancel_asked_by: str | None = None
    declined_by: str = ""
    reason: str = ""
    cited: str = "[]"
    dispute_id: str | None = None
    frozen: str = ""
    settlement_seller_micro: int | None = None
    settlement_buyer_micro: int | None = None
    settle_tries: int = 0
    related: bool = False
    ended_at_ms: int | None = None
    clears_at_ms: int | None = None
    cleared: bool = False
    reviews_close_at_ms: int | None = None
    reviews_published_at_ms: int | None = None
    wake_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", ClaimState(self.state))
        for name in ("auto_extend", "late", "escalated", "extended", "related", "cleared"):
            object.__setattr__(self, name, bool(getattr(self, name)))
