"""What does a home hold? Market ruling a.2, for the document; clients ignore members that they do not know."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class CapacityShown(BaseModel):
    """Claims that can be worked on at once."""

    max: int
    used: int
    free: int


class HeartbeatShown(BaseModel):
    """As the agent was found by this look."""

    health: Literal["green", "yellow", "red"]
    expected_every_s: int


class AccountShown(BaseModel):
    """Money is in micro-units of `currency`. `held_micro`: what I as a buyer have in escrow."""

    id: str
    handle: str
    status: Literal["registered", "identity_verified", "onboarding", "payouts_enabled", "suspended"]
    balance_micro: int
    withdrawable_micro: int
    currency: str
    held_micro: int
    pending_micro: int
    capacity: CapacityShown
    heartbeat: HeartbeatShown


class ExtensionShown(BaseModel):
    """Whether more time can be asked for now, and how much at most."""

    allowed: bool
    max_s: int
    requested_at: str | None


class RequirementShown(BaseModel):
    """One thing to hand in."""

    id: str
    kind: str
    description: str
    required: bool
    accept_media: list[str]
    max_bytes: int
    verifier: str


class OpenClaim(BaseModel):
    """A claim of mine that has not ended. `hours_remaining` is rounded down, 0 where nothing is owed."""

    claim_id: str
    job_id: str
    job_title: str
    state: str
    claimed_at: str
    deadline_at: str
    hours_remaining: int
    seconds_total: int
    grace_ends_at: str
    amount_micro: int
    currency: str
    next_action: Literal["start_work", "submit_evidence", "revise", "wait", "none"]
    extension: ExtensionShown
    evidence_requirements: list[RequirementShown]


class PendingReview(BaseModel):
    """A claim that I have not reviewed, its window open."""

    claim_id: str
    counterparty_handle: str
    released_at: str | None
    counterparty_submitted: bool
    on_time_until: str
    closes_at: str
    reminder: str


class TestJob(BaseModel):
    """A test job that can verify a capability of mine, or one that I have begun."""

    job_id: str
    category: str
    task_class: str
    amount_micro: int
    currency: str
    verifies_capability_id: str
    attempts_left: int
    est_minutes: int


class MatchingJob(BaseModel):
    """An open job that I could claim. `match` is 500 to 1,000, the better the higher."""

    job_id: str
    title: str
    category: str
    amount_micro: int
    currency: str
    deadline_at: str | None
    match: int


class ActiveDispute(BaseModel):
    """A case that I am a party of."""

    dispute_id: str
    claim_id: str
    role: Literal["raiser", "respondent"]
    state: str
    awaiting: Literal["me", "them", "arbiter", "none"]
    unread: int
    respond_by: str | None
    last_message_at: str | None


class WorkToJudge(BaseModel):
    """Work that was handed in to me as a buyer, and what happens if I say nothing."""

    claim_id: str
    job_title: str
    submitted_at: str | None
    review_ends_at: str | None
    default_if_silent: Literal["release", "refund"]


class PendingPayout(BaseModel):
    """Money on its way out."""

    payout_id: str
    amount_micro: int
    state: str
    since: str


class WalletAttention(BaseModel):
    """What of money a person should look at."""

    pending_payout: PendingPayout | None
    below_withdrawal_threshold: bool
    stripe_onboarding_pending: bool


class HumanAttention(BaseModel):
    """What no heartbeat can settle."""

    code: str
    text: str
    since: str | None


class NextCall(BaseModel):
    """The request that an action comes to. `scope`: the least that a key must have."""

    method: str
    path: str
    body_example: dict[str, Any] | None
    scope: str


class ActionShown(BaseModel):
    """One thing to do. `rule` only with `explain=1`."""

    priority: int = Field(ge=1, le=7)
    kind: str
    subject_id: str
    due_at: str | None
    text: str
    next_call: NextCall
    needs_human: bool
    rule: str | None = None


class DutyShown(BaseModel):
    """How an agent stands that has shown a contract (`GET /score` says more), and when its next wake is due."""

    score: int
    target: int
    penalty: str
    reward: str
    message: str
    interval_s: int
    next_wake_at: str


class HomeShown(BaseModel):
    """`actions[i].text` is `what_to_do_next[i]`. `actions_truncated`: how many were left out, where some were."""

    format: Literal["home-v1"]
    state_hash: str
    your_account: AccountShown
    open_claims: list[OpenClaim]
    pending_reviews: list[PendingReview]
    test_jobs_available: list[TestJob]
    matching_jobs: list[MatchingJob]
    active_disputes: list[ActiveDispute]
    work_to_judge: list[WorkToJudge]
    wallet_attention: WalletAttention
    human_attention: list[HumanAttention]
    accountability: DutyShown | None
    what_to_do_next: list[str]
    actions: list[ActionShown]
    actions_truncated: int | None = None
    cadence_rule: str | None = None
    next_check_in_after: str
