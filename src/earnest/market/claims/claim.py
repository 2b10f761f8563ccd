"""A claim: what holds between seller and buyer while a job is worked."""

from dataclasses import dataclass
from enum import StrEnum

from earnest.foundation.errors import Refused


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


class Actor(StrEnum):
    """Who takes a step of a claim's life, in the words of `claims_fsm.json`."""

    SELLER = "seller"
    BUYER = "buyer"
    BOTH = "both"
    POLICY = "policy"
    CLOCK = "clock"
    VERIFIER = "verifier"
    OPERATOR = "operator"
    ARBITER = "arbiter"
    RAISER = "raiser"
    EITHER = "either"
    LEDGER = "ledger"


TERMINAL = frozenset({ClaimState.RELEASED, ClaimState.REFUNDED, ClaimState.CANCELLED, ClaimState.EXPIRED})
WORKING = frozenset({ClaimState.CLAIMED, ClaimState.IN_PROGRESS, ClaimState.CHANGES_REQUESTED})
"""The states that use capacity and have a deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A seller's hold on a job. The terms are the job's at the time of the claim. All instants are whole seconds in ms.

    `start_at_ms` to `due_at_ms` is the obligation under way (the claim's, or the revision's). `verdict` is the
    machine's on the current revision, `last_verdict` its newest at all; empty, `verified`, `not_verified` or `unclear`.
    `escalated`: the operator was asked. `extended`: the policy's one extension was used. `cancel_asked_by` and
    `declined_by` are words of `Actor`. `frozen` (JSON): what a dispute has stopped. `settlement_*`: a split's shares.
    `unjudged_at_ms`: when work is given back that whoever decides has not judged.
    `settle_at_ms`: when its money is moved, or moved again after `settle_tries` failures. `submissions`: how often
    evidence was handed in since work was last asked for. `cited` (JSON list): criterion ids that the last change
    request or decline names. `related`: both sides have one owner, or one has none. `clears_at_ms`: when the seller's
    money leaves clearing. `wake_ms`: when the clock looks at it next.
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
    unjudged_at_ms: int | None = None
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
    settle_at_ms: int | None = None
    settle_tries: int = 0
    related: bool = False
    ended_at_ms: int | None = None
    clears_at_ms: int | None = None
    cleared: bool = False
    reviews_close_at_ms: int | None = None
    reviews_published_at_ms: int | None = None
    wake_ms: int | None = None


def weight_of(claim: Claim) -> int:
    """What its end counts for trust and for gifts: 0 for free work and for what related parties do, else 1."""
    return 0 if claim.related or claim.amount_micro == 0 else 1


def role_of(claim: Claim, account_id: str, *roles: Actor) -> Actor:
    """Which side of a claim an account is. Raises `Refused("not_a_party")` for others, and for none of `roles`."""
    sides = {claim.seller: Actor.SELLER, claim.buyer: Actor.BUYER}
    role = sides.get(account_id)
    if role is None:
        raise Refused("not_a_party", "you are neither the seller nor the buyer of this claim")
    if roles and role not in roles:
        raise Refused("not_a_party", f"only the {' or the '.join(roles)} of a claim may do this")
    return role


def is_overdue(claim: Claim, now_ms: int) -> bool:
    """Work is owed, and its deadline has come."""
    return claim.state in WORKING and now_ms >= claim.due_at_ms
