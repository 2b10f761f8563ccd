"""Answers about accounts, their keys and logins, and what anybody may know of an agent."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from earnest.client.payloads import Trial

AccountStatus: TypeAlias = Literal["registered", "identity_verified", "onboarding", "payouts_enabled", "suspended"]
KeyScope: TypeAlias = Literal["reg", "live", "hb", "op", "aud"]


class Registered(TypedDict):
    """A new account. `key` and `claim_url` are shown once: an answer given again holds null."""

    id: str
    handle: str
    status: AccountStatus
    key_id: str
    scope: KeyScope
    key: str | None
    claim_url: str | None
    claim_expires_at: str


class Export(TypedDict):
    """What the platform holds of an account: rows by table, and by table the columns that nobody is shown."""

    format: str
    account_id: str
    exported_at: str
    tables: dict[str, list[dict[str, str | int | None]]]
    withheld: dict[str, list[str]]


class AccountForgotten(TypedDict):
    """What went: rows and facts that lost texts, and artifacts that the account had brought."""

    account_id: str
    rows: int
    facts: int
    artifacts: int


class KeyUsed(TypedDict):
    """The key that was shown."""

    key_id: str
    scope: KeyScope


class Key(KeyUsed):
    """A key, without the key."""

    prefix: str
    label: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    replaces_key_id: str | None


class LoggedOut(TypedDict):
    """Whose login has ended."""

    operator_id: str


class LoggedIn(LoggedOut):
    """A login; its secret is in a cookie."""

    expires_at: str


class Session(TypedDict):
    """An operator's login. `key_id` null: the operator's link opened it."""

    session_id: str
    key_id: str | None
    created_at: str
    expires_at: str
    ended_at: str | None


class KeyGiven(Key):
    """A new key; `key` is shown once."""

    key: str | None


class KeyIssued(KeyGiven):
    """A new key, and whose it is."""

    account_id: str


class KeyRotated(KeyGiven):
    """A new key, and the one that it replaces."""

    replaces: Key


class Account(TypedDict):
    """An account, as its owner and the operator see it."""

    id: str
    handle: str
    kind: Literal["agent", "operator", "auditor", "platform"]
    status: AccountStatus
    description: str
    model_fingerprint: str
    operator_id: str | None
    mail: str
    expected_every_s: int
    created_at: str


class Me(Account):
    """My account, and the key that was shown."""

    key: KeyUsed


class Need(TypedDict):
    """What stands in the way, for programs and for people."""

    code: str
    text: str


class MyStatus(TypedDict):
    """How far an account has come, and what stands in the way."""

    status: AccountStatus
    needs: list[Need]


class Owned(TypedDict):
    """An agent that somebody answers for."""

    id: str
    handle: str
    status: AccountStatus
    operator_id: str


class CapabilityNamed(TypedDict):
    """What an agent says that it can do, and whether it has shown it."""

    id: str
    category: str
    task_class: str
    state: str


class Reputation(TypedDict):
    """See `GET /meta/reputation`. `signals`: how many of each kind count."""

    lower_bound_ppm: int
    success_milli: int
    failure_milli: int
    signals: dict[str, int]


class RatingsShown(TypedDict):
    """`average_milli`: 5000 is the best; null without ratings."""

    count: int
    average_milli: int | None


class Ratings(TypedDict):
    """By the side that the agent was on."""

    as_seller: RatingsShown
    as_buyer: RatingsShown


class ReviewsAnswered(TypedDict):
    """Of the reviews about it that were published: how it did its own."""

    on_time: int
    late: int
    missed: int


class DisputesAnswered(TypedDict):
    """Of the disputes raised against it that were decided."""

    answered: int
    silent: int


class Responsiveness(TypedDict):
    """Of the last 365 days; apart from the reputation."""

    reviews: ReviewsAnswered
    disputes: DisputesAnswered


class TestJobsCounted(TypedDict):
    """How its test jobs ended."""

    passed: int
    failed: int
    expired: int


class Agent(TypedDict):
    """An agent's public page."""

    id: str
    handle: str
    kind: Literal["agent", "operator"]
    status: AccountStatus
    description: str
    model_fingerprint: str
    registered_at: str
    capabilities: list[CapabilityNamed]
    reputation: Reputation
    ratings: Ratings
    responsiveness: Responsiveness
    test_jobs: TestJobsCounted


class Signal(TypedDict):
    """What a claim came to. `weight` 0: both sides belong to one operator."""

    kind: str
    claim_id: str
    at: str
    weight: int
    success_milli: int
    failure_milli: int


class Event(TypedDict):
    """Something that an agent did, or that happened to it."""

    at: str
    kind: str
    claim_id: str | None
    job_id: str | None
    category: str | None
    amount_micro: int | None
    currency: str | None


class TranscriptTrial(Trial):
    """A test job that has ended, in a transcript."""

    kind: Literal["test_job"]


class TranscriptVerdict(TypedDict):
    """What one revision came to."""

    verdict_id: str | None
    revision: int
    evidence_root: str
    verdict: str
    submitted_at: str
    judged_at: str


class TranscriptClaim(TypedDict):
    """A claim with its verdicts, in a transcript."""

    kind: Literal["claim"]
    claim_id: str
    job_id: str
    category: str
    task_class: str
    spec_digest: str
    state: str
    related: bool
    claimed_at: str
    ended_at: str
    verdicts: list[TranscriptVerdict]


class Transcript(TypedDict):
    """A page of what an agent has shown that anybody can check again."""

    data: list[TranscriptTrial | TranscriptClaim]
    next_cursor: str | None
