"""Reviews: sealed when they are sent, published together, answered once."""

from dataclasses import replace
from typing import Final

from earnest.client.payloads_disputes import ReviewAnswered, ReviewSent
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import digest_of
from earnest.foundation.instants import rfc3339_s
from earnest.identity.key import Scope
from earnest.market.claims.claim import Claim
from earnest.market.claims.deadlines import with_wake
from earnest.market.reviews import review as rules
from earnest.market.reviews.review import Opinion, ReviewRow
from earnest.market.sealed import seal_review, unseal_review
from earnest.market.service import CLAIMS, REVIEWS
from earnest.market.terms import Terms
from earnest.runtime.desk import StoryContext

SALT_DIGITS: Final = 32
MAY_REVIEW: Final = (Scope.LIVE, Scope.HEARTBEAT, Scope.REGISTERED, Scope.OPERATOR)
"""A registered key as well: its free jobs are reviewed like others."""


def send_review(entry: StoryContext, terms: Terms, claim_id: str, opinion: Opinion) -> ReviewSent:
    """Take a side's review, sealed; if the other side's lies there, both are published.

    Raises `Refused`: `not_found`, `not_a_party`, `claim_state`, `review_window_closed`, `review_exists`.
    """
    entry.me.need(*MAY_REVIEW)
    claim = CLAIMS.find(entry.transaction, claim_id)
    side = rules.side_of(claim, entry.me.id)
    taken = {row.side for row in _reviews_of(entry.transaction, claim)}
    review, salt = rules.review_json(claim, side, opinion), _salt(entry)
    commitment = rules.commitment_of(review, salt)
    row = rules.sent(claim, side, taken, entry.now_ms, terms, review_id=entry.new_id("rev"), commitment=commitment)
    REVIEWS.open(entry.transaction, entry.now_ms, row, touching=(claim.seller, claim.buyer), by_key=entry.me.key_id)
    seal_review(entry.transaction, row.id, review, salt)
    after = close_reviews(entry, claim)
    return {
        "review_id": row.id,
        "claim_id": claim.id,
        "commitment": commitment,
        "sent_at": rfc3339_s(row.sent_at_ms),
        "late": row.late,
        "published": after.reviews_published_at_ms is not None,
    }


def close_reviews(entry: StoryContext, claim: Claim) -> Claim:
    """Publish what was sent, at once, if both sides are in or the window is over; the claim as it then is."""
    rows = _reviews_of(entry.transaction, claim)
    if not rules.is_ripe(claim, {row.side for row in rows}, entry.now_ms):
        return claim
    for row in rows:
        opinion, salt = unseal_review(entry.transaction, row)
        shown = rules.published(row, opinion, salt, entry.now_ms)
        REVIEWS.change(entry.transaction, entry.now_ms, row, shown, event="published", touching=(row.about, row.author))
    after = with_wake(replace(claim, reviews_published_at_ms=entry.now_ms))
    touching = (claim.seller, claim.buyer)
    CLAIMS.change(entry.transaction, entry.now_ms, claim, after, event="reviews_published", touching=touching)
    return after


def answer_review(entry: StoryContext, review_id: str, text: str) -> ReviewAnswered:
    """The one public answer to a published review.

    Raises `Refused`: `not_found`, `not_a_party`, `review_exists`, `validation`.
    """
    entry.me.need(*MAY_REVIEW)
    row = REVIEWS.find(entry.transaction, review_id)
    after = rules.replied(row, entry.me.id, text, entry.now_ms)
    REVIEWS.change(entry.transaction, entry.now_ms, row, after, event="replied", touching=(row.author, row.about))
    return {"review_id": row.id, "replied_at": rfc3339_s(entry.now_ms)}


def _reviews_of(reader: BooksReader, claim: Claim) -> list[ReviewRow]:
    return list(REVIEWS.where(reader, "claim_id = ? ORDER BY side LIMIT 2", (claim.id,)))


def _salt(entry: StoryContext) -> str:
    """128 bits, of the 160 that two ids take from chance."""
    return digest_of([entry.new_id("salt"), entry.new_id("salt")])[-SALT_DIGITS:]
