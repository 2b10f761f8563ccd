"""Reviews that may be read. What is not published has nothing in its row to be read."""

import json

from earnest.client import payloads_disputes as shown
from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.reviews.review import ReviewRow, window_of
from earnest.market.rows import CLAIMS, REVIEWS
from earnest.market.terms import Terms


def reviews_of_claim(
    reader: BooksReader, claim_id: str, viewer: str, terms: Terms, *, sees_all: bool
) -> shown.ReviewsOfClaim:
    """The window of a claim, who has sent a review, and the published ones.

    Of a review that is hidden the other side learns that it is there, and nothing else. Raises `Refused`: `not_found`,
    `not_a_party`.
    """
    claim = CLAIMS.get(reader, claim_id)
    if claim is None:
        raise Refused("not_found", f"there is no claim {claim_id[:80]!r}, or you may not know of it")
    if viewer not in {claim.seller, claim.buyer} and not sees_all:
        raise Refused("not_a_party", "only its two parties see what a claim's reviews wait for")
    rows = list(REVIEWS.where(reader, "claim_id = ? ORDER BY side", (claim.id,)))
    window = window_of(claim, terms)
    mine = next((row for row in rows if row.author == viewer), None)
    return {
        "claim_id": claim.id,
        "state": claim.state.value,
        "window": None
        if window is None
        else {
            "opened_at": rfc3339_s(window.opened_at_ms),
            "on_time_until": rfc3339_s(window.on_time_until_ms),
            "closes_at": rfc3339_s(window.closes_at_ms),
        },
        "published_at": rfc3339_s(claim.reviews_published_at_ms),
        "submitted_by": [row.side.value for row in rows],
        "mine": None if mine is None else _receipt(mine),
        "reviews": [review_json(row) for row in rows if row.published_at_ms is not None],
    }


def reviews_about(
    reader: BooksReader, account_id: str, *, before: tuple[int, str] | None, limit: int
) -> list[ReviewRow]:
    """The published reviews about an account, the newest first."""
    parameters: tuple[SqlValue, ...] = (account_id, limit)
    older = ""
    if before is not None:
        older, parameters = " AND (published_at_ms, id) < (?, ?)", (account_id, *before, limit)
    condition = f"about = ? AND published_at_ms IS NOT NULL{older} ORDER BY published_at_ms DESC, id DESC LIMIT ?"
    return list(REVIEWS.where(reader, condition, parameters))


def review_json(row: ReviewRow) -> shown.Review:
    """A published review, with what proves that it is the one that was sent."""
    return {
        "review_id": row.id,
        "claim_id": row.claim_id,
        "side": row.side.value,
        "author": row.author,
        "about": row.about,
        "rating": row.rating,
        "parts": json.loads(row.parts),
        "text": row.text,
        "late": row.late,
        "weight": row.weight,
        "sent_at": rfc3339_s(row.sent_at_ms),
        "published_at": rfc3339_s(row.published_at_ms or 0),
        "commitment": row.commitment,
        "salt": row.salt,
        "reply": None if row.replied_at_ms is None else {"text": row.reply, "replied_at": rfc3339_s(row.replied_at_ms)},
    }


def _receipt(row: ReviewRow) -> shown.Receipt:
    return {
        "review_id": row.id,
        "sent_at": rfc3339_s(row.sent_at_ms),
        "late": row.late,
        "commitment": row.commitment,
    }
