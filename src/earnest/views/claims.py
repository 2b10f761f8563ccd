"""Claims as their parties see them, and their reviews. What is not published has nothing in its row to be read."""

import json
from typing import Final, cast

from earnest.client import payloads as shown
from earnest.client.payloads_disputes import Receipt, Review, ReviewsOfClaim
from earnest.effects.ground.storage.known_rows import Sought
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.claims.claim import Claim
from earnest.market.claims.evidence import MEASURED, Submission
from earnest.market.claims.lifecycle import allowed_events
from earnest.market.reviews.review import ReviewRow, window_of
from earnest.market.rows import CLAIMS, REVIEWS, SUBMISSIONS
from earnest.market.terms import Terms

_NEWEST: Final = "~"
"""After every id."""
_SUBMITTED_SQL: Final = "claim_id = ? ORDER BY revision DESC"


def show_claim(
    reader: BooksReader, claim_id: str, viewer: str, *, sees_all: bool, sees_measured: bool = False
) -> shown.Claim:
    """A claim with its submissions, newest first. Raises as `find_claim`."""
    theirs = Sought(SUBMISSIONS.lookup, conditions=_SUBMITTED_SQL, parameters=(claim_id,))
    reader.link.look((Sought(CLAIMS.lookup, (claim_id,)), theirs))
    claim = find_claim(reader, claim_id, viewer, sees_all=sees_all)
    submissions = SUBMISSIONS.where(reader, _SUBMITTED_SQL, (claim.id,))
    return {
        **claim_json(claim),
        "submissions": [submission_json(one, sees_measured=sees_measured) for one in submissions],
    }


def find_claim(reader: BooksReader, claim_id: str, viewer: str, *, sees_all: bool, what: str = "a claim") -> Claim:
    """A claim, for its parties: `what` they alone see. Raises `Refused`: `not_found`, `not_a_party`."""
    claim = CLAIMS.get(reader, claim_id)
    if claim is None:
        raise Refused("not_found", f"there is no claim {claim_id[:80]!r}, or you may not know of it")
    if viewer not in {claim.seller, claim.buyer} and not sees_all:
        raise Refused("not_a_party", f"only its two parties see {what}")
    return claim


def list_claims(reader: BooksReader, viewer: str, after: str, limit: int, *, role: str) -> list[shown.ClaimSummary]:
    """The claims of one side (`seller` or `buyer`), newest first."""
    column = "buyer" if role == "buyer" else "seller"
    condition = f"{column} = ? AND id < ? ORDER BY id DESC LIMIT ?"
    return [claim_json(claim) for claim in CLAIMS.where(reader, condition, (viewer, after or _NEWEST, limit))]


def waiting_claims(reader: BooksReader, after: str, limit: int) -> list[shown.ClaimSummary]:
    """The operator's queue: work that no machine could judge, oldest first."""
    condition = (
        "state IN ('submitted', 'verified') AND id > ? AND (acceptance = 'human' OR (acceptance = 'machine' AND "
        "escalated = 1)) ORDER BY id LIMIT ?"
    )
    return [claim_json(claim) for claim in CLAIMS.where(reader, condition, (after, limit))]


def claim_json(claim: Claim) -> shown.ClaimSummary:
    """A claim without its evidence."""
    return {
        "claim_id": claim.id,
        "job_id": claim.job_id,
        "job_title": claim.job_title,
        "seller": claim.seller,
        "buyer": claim.buyer,
        "state": claim.state.value,
        "allowed_events": sorted(allowed_events(claim.state)),
        "currency": claim.currency,
        "amount_micro": claim.amount_micro,
        "fee_micro": claim.fee_micro,
        "acceptance": claim.acceptance,
        "spec_digest": claim.spec_digest,
        "claimed_at": rfc3339_s(claim.claimed_at_ms),
        "due_at": rfc3339_s(claim.due_at_ms),
        "grace_ends_at": rfc3339_s(claim.grace_ends_at_ms),
        "revise_by": rfc3339_s(claim.revise_by_ms),
        "submitted_at": rfc3339_s(claim.submitted_at_ms),
        "review_ends_at": rfc3339_s(claim.review_ends_at_ms),
        "appeal_ends_at": rfc3339_s(claim.appeal_ends_at_ms),
        "ended_at": rfc3339_s(claim.ended_at_ms),
        "revision": claim.revision,
        "revisions_left": claim.revisions_left,
        "verdict": cast("shown.Answer | None", claim.verdict or None),
        "late": claim.late,
        "declined_by": claim.declined_by or None,
        "reason": claim.reason,
        "cited_criteria": json.loads(claim.cited),
        "evidence_root": claim.evidence_root or None,
        "dispute_id": claim.dispute_id,
        "extension": {
            "asked_s": claim.extension_asked_s or None,
            "asked_at": rfc3339_s(claim.extension_asked_at_ms),
            "granted": claim.extended,
        },
    }


def submission_json(submission: Submission, *, sees_measured: bool = False) -> shown.Submission:
    """One revision with its verdict; `sees_measured`: with what only the operator may know of it."""
    verdict = json.loads(submission.verdict) if submission.verdict else None
    if verdict is not None and not sees_measured:
        verdict.pop(MEASURED, None)
    return {
        "evidence_id": submission.id,
        "revision": submission.revision,
        "evidence_root": submission.root,
        "submitted_at": rfc3339_s(submission.submitted_at_ms),
        "items": json.loads(submission.manifest),
        "verdict": verdict,
        "verdict_id": submission.verdict_id,
    }


def reviews_of_claim(
    reader: BooksReader, claim_id: str, viewer: str, terms: Terms, *, sees_all: bool
) -> ReviewsOfClaim:
    """The window of a claim, who has sent a review, and the published ones.

    Of a review that is hidden the other side learns that it is there, and nothing else. Raises `Refused`: `not_found`,
    `not_a_party`.
    """
    claim = find_claim(reader, claim_id, viewer, sees_all=sees_all, what="what a claim's reviews wait for")
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
    at_ms, last = before or (2**62, "")
    condition = (
        "about = ? AND published_at_ms IS NOT NULL AND (published_at_ms, id) < (?, ?) "
        "ORDER BY published_at_ms DESC, id DESC LIMIT ?"
    )
    return list(REVIEWS.where(reader, condition, (account_id, at_ms, last, limit)))


def review_json(row: ReviewRow) -> Review:
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


def _receipt(row: ReviewRow) -> Receipt:
    return {
        "review_id": row.id,
        "sent_at": rfc3339_s(row.sent_at_ms),
        "late": row.late,
        "commitment": row.commitment,
    }
