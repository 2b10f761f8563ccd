"""Claims as their parties see them."""

import json
from typing import cast

from earnest.client import payloads as shown
from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.claims.claim import Claim
from earnest.market.claims.evidence import MEASURED, Submission
from earnest.market.claims.lifecycle import allowed_events
from earnest.market.rows import CLAIMS, SUBMISSIONS


def show_claim(
    reader: BooksReader, claim_id: str, viewer: str, *, sees_all: bool, sees_measured: bool = False
) -> shown.Claim:
    """A claim with its submissions, newest first. Raises as `find_claim`."""
    claim = find_claim(reader, claim_id, viewer, sees_all=sees_all)
    submissions = SUBMISSIONS.where(reader, "claim_id = ? ORDER BY revision DESC", (claim.id,))
    return {**claim_json(claim), "submissions": [_submission(one, sees_measured=sees_measured) for one in submissions]}


def find_claim(reader: BooksReader, claim_id: str, viewer: str, *, sees_all: bool) -> Claim:
    """A claim, for its parties. Raises `Refused`: `not_found`, `not_a_party`."""
    claim = CLAIMS.get(reader, claim_id)
    if claim is None:
        raise Refused("not_found", f"there is no claim {claim_id[:80]!r}, or you may not know of it")
    if viewer not in {claim.seller, claim.buyer} and not sees_all:
        raise Refused("not_a_party", "only its two parties see a claim")
    return claim


def list_claims(reader: BooksReader, viewer: str, *, role: str, after: str, limit: int) -> list[shown.ClaimSummary]:
    """The claims of one side (`seller` or `buyer`), newest first."""
    column = "buyer" if role == "buyer" else "seller"
    parameters: tuple[SqlValue, ...] = (viewer, after, limit) if after else (viewer, limit)
    condition = f"{column} = ?{' AND id < ?' if after else ''} ORDER BY id DESC LIMIT ?"
    return [claim_json(claim) for claim in CLAIMS.where(reader, condition, parameters)]


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


def _submission(submission: Submission, *, sees_measured: bool) -> shown.Submission:
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
