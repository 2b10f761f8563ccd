"""Reviews: what one side thinks of the other, and when anybody may know.

Double-blind (market ruling a.6). Until publication a review's row and its facts hold a commitment and nothing of what
it says; the content lies sealed apart (`market/sealed.py`). Publication puts it into a fact, and so into the row.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.foundation.canonical import JsonObject, canonical_bytes, canonical_text, digest_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.market.claims.claim import Claim, weight_of
from earnest.market.terms import Terms

RATING_MIN: Final = 1
RATING_MAX: Final = 5
PARTS: Final = ("quality", "communication", "punctuality")
"""What a sub-rating can be about."""
TEXT_CHARACTERS_MAX: Final = 4_000
REPLY_CHARACTERS_MAX: Final = 1_000


class Side(StrEnum):
    """Whose review it is."""

    SELLER = "seller"
    BUYER = "buyer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRow:
    """One side's review of a claim. `rating` (1 to 5), `parts` (JSON), `text` and `salt` are empty until publication.

    `commitment` is SHA-256 over the canonical review and 16 bytes of salt (hexadecimal), in the log since `sent_at_ms`.
    `weight` 0: the claim weighs nothing. `reply` is the one public answer of whom it is `about`.
    """

    id: str
    claim_id: str
    side: Side
    author: str
    about: str
    commitment: str
    sent_at_ms: int
    late: bool = False
    weight: int = 1
    rating: int = 0
    parts: str = "{}"
    text: str = ""
    salt: str = ""
    published_at_ms: int | None = None
    reply: str = ""
    replied_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a review says. `parts` are sub-ratings by name, of `PARTS`."""

    rating: int
    text: str = ""
    parts: Mapping[str, int]

    def __post_init__(self) -> None:
        given = (self.rating, *self.parts.values())
        if not all(type(one) is int and RATING_MIN <= one <= RATING_MAX for one in given):
            raise Refused("validation", f"a rating is a whole number from {RATING_MIN} to {RATING_MAX}")
        if set(self.parts) - set(PARTS):
            raise Refused("validation", f"parts: one can rate {', '.join(PARTS)}")
        if len(self.text) > TEXT_CHARACTERS_MAX:
            raise Refused("validation", f"text: at most {TEXT_CHARACTERS_MAX} characters")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewWindow:
    """When reviews of a claim can be sent: on time before `on_time_until_ms`, late before `closes_at_ms`."""

    opened_at_ms: int
    on_time_until_ms: int
    closes_at_ms: int


def window_of(claim: Claim, terms: Terms) -> ReviewWindow | None:
    """The window of a claim that has one: it was released, or refunded after a dispute."""
    if claim.ended_at_ms is None or claim.reviews_close_at_ms is None:
        return None
    return ReviewWindow(
        opened_at_ms=claim.ended_at_ms,
        on_time_until_ms=claim.ended_at_ms + terms.review_on_time_s * SECOND_MS,
        closes_at_ms=claim.reviews_close_at_ms,
    )


def side_of(claim: Claim, account_id: str) -> Side:
    """Which side somebody is on. Raises `Refused("not_a_party")`."""
    if account_id == claim.seller:
        return Side.SELLER
    if account_id == claim.buyer:
        return Side.BUYER
    raise Refused("not_a_party", "only the seller and the buyer of a claim review each other")


def review_json(claim: Claim, side: Side, opinion: Opinion) -> JsonObject:
    """What is committed to: the review in the form whose canonical bytes are hashed."""
    author, about = (claim.seller, claim.buyer) if side is Side.SELLER else (claim.buyer, claim.seller)
    return {
        "about": about,
        "author": author,
        "claim_id": claim.id,
        "parts": dict(opinion.parts),
        "rating": opinion.rating,
        "side": side.value,
        "text": opinion.text,
    }


def commitment_of(review: JsonObject, salt: str) -> str:
    """SHA-256(RFC 8785 form || salt). `salt` is 32 hexadecimal digits."""
    return digest_bytes(canonical_bytes(review) + bytes.fromhex(salt))


def sent(
    claim: Claim, side: Side, taken: Collection[Side], now_ms: int, terms: Terms, *, review_id: str, commitment: str
) -> ReviewRow:
    """A sealed review. `taken`: the sides that have sent theirs.

    Raises `Refused`: `claim_state` (there is nothing to review), `review_window_closed`, `review_exists`.
    """
    window = window_of(claim, terms)
    if window is None:
        message = "reviews are for claims that were released, or refunded after a dispute"
        raise Refused("claim_state", message, state=claim.state.value, allowed_events=[])
    if now_ms >= window.closes_at_ms or (claim.reviews_published_at_ms is not None and side not in taken):
        raise Refused("review_window_closed", "the time for reviews of this claim is over")
    if side in taken:
        raise Refused("review_exists", "your review of this claim was sent; it cannot be changed")
    return ReviewRow(
        id=review_id,
        claim_id=claim.id,
        side=side,
        author=claim.seller if side is Side.SELLER else claim.buyer,
        about=claim.buyer if side is Side.SELLER else claim.seller,
        commitment=commitment,
        sent_at_ms=now_ms,
        late=now_ms >= window.on_time_until_ms,
        weight=weight_of(claim),
    )


def is_ripe(claim: Claim, sides: Collection[Side], now_ms: int) -> bool:
    """True when the reviews of a claim are to be published: both are in, or the window is over."""
    if claim.reviews_close_at_ms is None or claim.reviews_published_at_ms is not None:
        return False
    return len(sides) == len(Side) or now_ms >= claim.reviews_close_at_ms


def published(row: ReviewRow, opinion: Opinion, salt: str, now_ms: int) -> ReviewRow:
    """The review for everybody to read, with the salt that proves it the one that was sent."""
    return replace(
        row,
        rating=opinion.rating,
        parts=canonical_text(dict(opinion.parts)),
        text=opinion.text,
        salt=salt,
        published_at_ms=now_ms,
    )


def replied(row: ReviewRow, account_id: str, text: str, now_ms: int) -> ReviewRow:
    """The one public answer. Raises `Refused`: `not_a_party`, `not_found` (not published yet), `review_exists`."""
    if account_id != row.about:
        raise Refused("not_a_party", "whom a review is about answers it, nobody else")
    if row.published_at_ms is None:
        raise Refused("not_found", "the review is not published")
    if row.replied_at_ms is not None:
        raise Refused("review_exists", "the review was answered; an answer cannot be changed")
    if not 1 <= len(text) <= REPLY_CHARACTERS_MAX:
        raise Refused("validation", f"text: 1 to {REPLY_CHARACTERS_MAX} characters")
    return replace(row, reply=text, replied_at_ms=now_ms)
