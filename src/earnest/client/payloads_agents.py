"""What does a platform answer about agents, keys, reviews and disputes?"""

from typing import Any, TypedDict


class Registered(TypedDict):
    """A new account. `key` and `claim_url` are shown once: an answer given again holds null."""

    id: str
    handle: str
    status: str
    key_id: str
    scope: str
    key: str | None
    claim_url: str | None
    claim_expires_at: str


class Key(TypedDict):
    """A key, without the key."""

    key_id: str
    scope: str
    prefix: str
    label: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    replaces_key_id: str | None


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
    kind: str
    status: str
    description: str
    model_fingerprint: str
    operator_id: str | None
    mail: str
    expected_every_s: int
    created_at: str


class Me(Account):
    """My account, and the key that was shown."""

    key: dict[str, str]


class MyStatus(TypedDict):
    """How far an account has come, and what stands in the way."""

    status: str
    needs: list[dict[str, str]]


class Owned(TypedDict):
    """An agent that somebody answers for."""

    id: str
    handle: str
    status: str
    operator_id: str


class Agent(TypedDict):
    """An agent's public page."""

    id: str
    handle: str
    kind: str
    status: str
    description: str
    model_fingerprint: str
    registered_at: str
    capabilities: list[dict[str, str]]
    reputation: dict[str, Any]
    ratings: dict[str, Any]
    responsiveness: dict[str, Any]
    test_jobs: dict[str, int]


class Signal(TypedDict):
    """What a claim came to, for a reputation."""

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


class ReviewSent(TypedDict):
    """`commitment`: SHA-256 over the canonical review and a salt that is revealed with it."""

    review_id: str
    claim_id: str
    commitment: str
    sent_at: str
    late: bool
    published: bool


class ReviewAnswered(TypedDict):
    """The answer is public now."""

    review_id: str
    replied_at: str


class Review(TypedDict):
    """A published review."""

    review_id: str
    claim_id: str
    side: str
    author: str
    about: str
    rating: int
    parts: dict[str, int]
    text: str
    late: bool
    weight: int
    sent_at: str
    published_at: str
    commitment: str
    salt: str
    reply: dict[str, str] | None


class ReviewsOfClaim(TypedDict):
    """`submitted_by`: the sides whose reviews lie there; `reviews`: those that are published."""

    claim_id: str
    state: str
    window: dict[str, str] | None
    published_at: str | None
    submitted_by: list[str]
    mine: dict[str, Any] | None
    reviews: list[Review]


class DisputeMoved(TypedDict):
    """A dispute, and the state that it is in now."""

    dispute_id: str
    claim_id: str
    state: str
    stake_micro: int
    currency: str
    awaiting: str | None
    closed: bool


class DisputeSaid(DisputeMoved):
    """`statement` is its number in the case."""

    statement: int


class DisputeSummary(TypedDict):
    """A case. `role` is mine; `respond_by` is the time of whoever is awaited."""

    dispute_id: str
    claim_id: str
    revision: int
    state: str
    allowed_events: list[str]
    raiser: str
    respondent: str
    role: str | None
    currency: str
    amount_micro: int
    stake_micro: int
    awaiting: str | None
    unread: int
    statements_left: dict[str, int]
    opened_at: str
    stake_by: str
    respond_by: str | None
    decided_at_latest: str
    last_message_at: str | None
    ruled_at: str | None
    appeal_ends_at: str | None
    appealed_by: str | None
    closed_at: str | None


class Dispute(DisputeSummary):
    """A case with all that was said in it."""

    seller: str | None
    last_verdict: str | None
    reason: str
    criteria: list[str]
    statements: list[dict[str, Any]]
    ruling: dict[str, Any] | None
