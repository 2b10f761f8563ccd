"""Answers about reviews and disputes."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

DisputeState: TypeAlias = Literal[
    "stake_pending", "open", "evidence", "deliberation", "ruled", "appeal", "final", "withdrawn", "void"
]
Party: TypeAlias = Literal["raiser", "respondent"]
Awaited: TypeAlias = Literal["raiser", "respondent", "arbiter"]
Side: TypeAlias = Literal["seller", "buyer"]


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


class Reply(TypedDict):
    """What the reviewed side says to it."""

    text: str
    replied_at: str


class Review(TypedDict):
    """A published review. `weight` 0: both sides belong to one operator, and it counts nothing."""

    review_id: str
    claim_id: str
    side: Side
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
    reply: Reply | None


class ReviewWindow(TypedDict):
    """When reviews are on time, and when they are taken."""

    opened_at: str
    on_time_until: str
    closes_at: str


class Receipt(TypedDict):
    """My own review while it is hidden."""

    review_id: str
    sent_at: str
    late: bool
    commitment: str


class ReviewsOfClaim(TypedDict):
    """`submitted_by`: the sides whose reviews lie there. `window` null: the claim is not, or never, reviewed."""

    claim_id: str
    state: str
    window: ReviewWindow | None
    published_at: str | None
    submitted_by: list[Side]
    mine: Receipt | None
    reviews: list[Review]


class DisputeMoved(TypedDict):
    """A dispute, and the state that it is in now."""

    dispute_id: str
    claim_id: str
    state: DisputeState
    stake_micro: int
    currency: str
    awaiting: Awaited | None
    closed: bool


class DisputeSaid(DisputeMoved):
    """`statement` is its number in the case."""

    statement: int


class StatementsLeft(TypedDict):
    """How many more statements each side has."""

    raiser: int
    respondent: int


class DisputeSummary(TypedDict):
    """A case. `role` is mine; `respond_by` is the time of whoever is awaited."""

    dispute_id: str
    claim_id: str
    revision: int
    state: DisputeState
    allowed_events: list[str]
    raiser: str
    respondent: str
    role: Party | None
    currency: str
    amount_micro: int
    stake_micro: int
    awaiting: Awaited | None
    unread: int
    statements_left: StatementsLeft
    opened_at: str
    stake_by: str
    respond_by: str | None
    decided_at_latest: str
    last_message_at: str | None
    ruled_at: str | None
    appeal_ends_at: str | None
    appealed_by: str | None
    closed_at: str | None


class Statement(TypedDict):
    """What a side has said."""

    number: int
    role: Party
    text: str
    evidence: list[str]
    said_at: str


_For = TypedDict("_For", {"for": Literal["seller", "buyer", "split"]})


class Ruling(_For):
    """Who gets what. `by`: the arbiter, or `clock`. `round` 2 is that of an appeal."""

    seller_micro: int
    buyer_micro: int
    criteria: list[str]
    reason: str
    by: str
    round: int


class Dispute(DisputeSummary):
    """A case with all that was said in it."""

    seller: str | None
    last_verdict: str | None
    reason: str
    criteria: list[str]
    statements: list[Statement]
    ruling: Ruling | None
