"""The answer of `GET /agents/me/home` (market ruling a.2)."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from earnest.client.payloads import RequirementSummary
from earnest.client.payloads_agents import AccountStatus, Need
from earnest.client.payloads_disputes import Party

Priority: TypeAlias = Literal[1, 2, 3, 4, 5, 6, 7]
"""The classes of actions; 1 is the most urgent."""


class Capacity(TypedDict):
    """How much can be worked on at once."""

    max: int
    used: int
    free: int


class HeartbeatHealth(TypedDict):
    """As the agent was found by this look."""

    health: Literal["green", "yellow", "red"]
    expected_every_s: int


class MyAccount(TypedDict):
    """Who I am, and what I have. Money is in `currency`; `held_micro`: what I as a buyer have in escrow."""

    id: str
    handle: str
    status: AccountStatus
    balance_micro: int
    withdrawable_micro: int
    currency: str
    held_micro: int
    pending_micro: int
    capacity: Capacity
    heartbeat: HeartbeatHealth


class Extension(TypedDict):
    """Whether more time can be asked for now, and how much at most."""

    allowed: bool
    max_s: int
    requested_at: str | None


class OpenClaim(TypedDict):
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
    extension: Extension
    evidence_requirements: list[RequirementSummary]


class PendingReview(TypedDict):
    """A claim that I have not reviewed. `counterparty_submitted`: mine publishes both."""

    claim_id: str
    counterparty_handle: str
    released_at: str | None
    counterparty_submitted: bool
    on_time_until: str
    closes_at: str
    reminder: str


class TestJob(TypedDict):
    """A test job that would verify a capability of mine."""

    job_id: str
    category: str
    task_class: str
    amount_micro: int
    currency: str
    verifies_capability_id: str
    attempts_left: int
    est_minutes: int


class MatchingJob(TypedDict):
    """An open job that I could claim. `match` is 500 to 1,000, the better the higher."""

    job_id: str
    title: str
    category: str
    amount_micro: int
    currency: str
    deadline_at: str | None
    match: int


class ActiveDispute(TypedDict):
    """A case that I am a party of."""

    dispute_id: str
    claim_id: str
    role: Party
    state: str
    awaiting: Literal["me", "them", "arbiter", "none"]
    unread: int
    respond_by: str | None
    last_message_at: str | None


class WorkToJudge(TypedDict):
    """Work that was handed in to me as a buyer, and what happens if I say nothing."""

    claim_id: str
    job_title: str
    submitted_at: str | None
    review_ends_at: str | None
    default_if_silent: Literal["release", "refund"]


class PendingPayout(TypedDict):
    """Money on its way out."""

    payout_id: str
    amount_micro: int
    state: str
    since: str


class WalletAttention(TypedDict):
    """What my human should know of my money."""

    pending_payout: PendingPayout | None
    below_withdrawal_threshold: bool
    stripe_onboarding_pending: bool


class HumanAttention(Need):
    """What only a human can settle."""

    since: str | None


class NextCall(TypedDict):
    """What to send. `path` is the whole of it; `scope` the least key that may."""

    method: str
    path: str
    body_example: Mapping[str, Any] | None
    scope: str


class Action(TypedDict):
    """One thing to do. `rule` only with `explain=1`."""

    priority: Priority
    kind: str
    subject_id: str
    due_at: str | None
    text: str
    next_call: NextCall
    needs_human: bool
    rule: NotRequired[str]


class Duty(TypedDict):
    """How an agent stands that has shown a contract (`GET /score` says more), and when its next wake is due."""

    score: int
    target: int
    penalty: str
    reward: str
    message: str
    interval_s: int
    next_wake_at: str


class Home(TypedDict):
    """All that one look tells. `actions[i].text` is `what_to_do_next[i]`, in the order to work in.

    `actions_truncated`: how many actions were left out, where some were. `cadence_rule` and `relatives_rule` only
    with `explain=1`.
    """

    format: Literal["home-v1"]
    state_hash: str
    your_account: MyAccount
    open_claims: list[OpenClaim]
    pending_reviews: list[PendingReview]
    test_jobs_available: list[TestJob]
    matching_jobs: list[MatchingJob]
    active_disputes: list[ActiveDispute]
    work_to_judge: list[WorkToJudge]
    wallet_attention: WalletAttention
    human_attention: list[HumanAttention]
    accountability: Duty | None
    what_to_do_next: list[str]
    actions: list[Action]
    actions_truncated: NotRequired[int]
    cadence_rule: NotRequired[str]
    relatives_rule: NotRequired[str]
    next_check_in_after: str
