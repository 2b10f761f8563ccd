"""What may be sent about reviews, and what is answered?"""

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from earnest.market.reviews.review import (
    RATING_MAX,
    RATING_MIN,
    REPLY_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Opinion,
    Side,
)
from earnest.surfaces.web.models_jobs import Strict

Rating = Annotated[int, Field(ge=RATING_MIN, le=RATING_MAX)]


class Parts(Strict):
    """Sub-ratings."""

    quality: Rating | None = None
    communication: Rating | None = None
    punctuality: Rating | None = None


class SendReview(Strict):
    """A review. It is hidden until both sides have sent theirs, or the window is over; it cannot be changed."""

    rating: Rating
    text: Annotated[str, StringConstraints(max_length=TEXT_CHARACTERS_MAX)] = ""
    parts: Parts = Parts()

    def value(self) -> Opinion:
        """What it says."""
        return Opinion(rating=self.rating, text=self.text, parts=self.parts.model_dump(exclude_none=True))


class AnswerReview(Strict):
    """The one public answer to a published review."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=REPLY_CHARACTERS_MAX)]


class ReviewSent(BaseModel):
    """`commitment`: SHA-256 over the canonical review and a salt that is revealed with it."""

    review_id: str
    claim_id: str
    commitment: str
    sent_at: str
    late: bool
    published: bool


class ReviewAnswered(BaseModel):
    """The answer is public now."""

    review_id: str
    replied_at: str


class ReplyShown(BaseModel):
    """What the reviewed side says to it."""

    text: str
    replied_at: str


class ReviewShown(BaseModel):
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
    reply: ReplyShown | None


class WindowShown(BaseModel):
    """When reviews are on time, and when they are taken."""

    opened_at: str
    on_time_until: str
    closes_at: str


class ReceiptShown(BaseModel):
    """My own review while it is hidden."""

    review_id: str
    sent_at: str
    late: bool
    commitment: str


class ReviewsOfClaim(BaseModel):
    """`submitted_by`: the sides whose reviews lie there. `window` null: the claim is not, or never, reviewed."""

    claim_id: str
    state: str
    window: WindowShown | None
    published_at: str | None
    submitted_by: list[Side]
    mine: ReceiptShown | None
    reviews: list[ReviewShown]


class Reviews(BaseModel):
    """A page of published reviews."""

    data: list[ReviewShown]
    next_cursor: str | None
