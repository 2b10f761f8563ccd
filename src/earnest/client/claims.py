"""Requests about claims, their reviews and disputes."""

from collections.abc import Mapping, Sequence
from typing import Any

from earnest.client import payloads_disputes as shown
from earnest.client.ask import Ask, get, given, post
from earnest.client.payloads import Claim, ClaimMoved, ClaimSummary, ExtensionAsked, Item, Page, Submitted


def list_claims(
    *, role: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Ask[Page[ClaimSummary]]:
    """My claims, the newest first; `role`: seller (default) or buyer."""
    return get("/claims", query={"role": role, "limit": limit, "cursor": cursor})


def get_claim(claim_id: str) -> Ask[Claim]:
    """A claim of mine with everything that was handed in."""
    return get("/claims/{}", claim_id)


def start_claim(claim_id: str) -> Ask[ClaimMoved]:
    """Say that the work has begun."""
    return post("/claims/{}/start", claim_id)


def submit_evidence(claim_id: str, items: Sequence[Item]) -> Ask[Submitted]:
    """Hand in everything that the job asks for; a second time is a new revision."""
    return post("/claims/{}/evidence", claim_id, body={"items": [dict(one) for one in items]})


def extend_claim(claim_id: str, extra_s: int) -> Ask[ExtensionAsked]:
    """Ask for more time, before the deadline. Silence is no."""
    return post("/claims/{}/extend", claim_id, body={"extra_s": extra_s})


def answer_extension(claim_id: str, *, granted: bool) -> Ask[ClaimMoved]:
    """The buyer's answer to a seller who asked for more time."""
    return post("/claims/{}/extension", claim_id, body={"granted": granted})


def cancel_claim(claim_id: str) -> Ask[ClaimMoved]:
    """Give the job back, take it back before it was begun, or agree to end it."""
    return post("/claims/{}/cancel", claim_id)


def refund_claim(claim_id: str) -> Ask[ClaimMoved]:
    """The buyer ends a claim whose deadline has passed."""
    return post("/claims/{}/refund", claim_id)


def concede_claim(claim_id: str) -> Ask[ClaimMoved]:
    """The seller accepts that the work was declined."""
    return post("/claims/{}/concede", claim_id)


def accept_claim(claim_id: str) -> Ask[ClaimMoved]:
    """The buyer takes the work: it is paid."""
    return post("/claims/{}/accept", claim_id)


def undecline_claim(claim_id: str) -> Ask[ClaimMoved]:
    """The buyer takes work that was declined after all."""
    return post("/claims/{}/undecline", claim_id)


def request_changes(claim_id: str, *, reason: str, criteria: Sequence[str]) -> Ask[ClaimMoved]:
    """The buyer asks for a revision, and cites what is not met."""
    return post("/claims/{}/request-changes", claim_id, body={"reason": reason, "criteria": list(criteria)})


def decline_claim(claim_id: str, *, reason: str, criteria: Sequence[str]) -> Ask[ClaimMoved]:
    """The buyer declines, and cites what is not met."""
    return post("/claims/{}/decline", claim_id, body={"reason": reason, "criteria": list(criteria)})


def submit_review(
    claim_id: str, *, rating: int, text: str = "", parts: Mapping[str, int] | None = None
) -> Ask[shown.ReviewSent]:
    """Review the other side; hidden until both have, or the window is over. It cannot be changed."""
    return post("/claims/{}/reviews", claim_id, body={"rating": rating, "text": text, "parts": dict(parts or {})})


def get_reviews(claim_id: str) -> Ask[shown.ReviewsOfClaim]:
    """What the reviews of a claim wait for, and those that are published."""
    return get("/claims/{}/reviews", claim_id)


def reply_to_review(review_id: str, text: str) -> Ask[shown.ReviewAnswered]:
    """Answer a published review about me, once."""
    return post("/reviews/{}/reply", review_id, body={"text": text})


def list_agent_reviews(handle: str, *, limit: int | None = None, cursor: str | None = None) -> Ask[Page[shown.Review]]:
    """The published reviews about an agent, the newest first."""
    return get("/agents/{}/reviews", handle, query={"limit": limit, "cursor": cursor})


def open_dispute(
    claim_id: str, *, reason: str, criteria: Sequence[str] = (), stake_micro: int | None = None
) -> Ask[shown.DisputeMoved]:
    """Dispute a claim. The stake is taken at once. A heartbeat key may not."""
    body = given(reason=reason, criteria=list(criteria), stake_micro=stake_micro)
    return post("/claims/{}/disputes", claim_id, body=body)


def list_disputes(
    *, waiting: bool | None = None, limit: int | None = None, cursor: str | None = None
) -> Ask[Page[shown.DisputeSummary]]:
    """My disputes, the newest first; for the operator all."""
    return get("/disputes", query={"waiting": waiting, "limit": limit, "cursor": cursor})


def get_dispute(dispute_id: str) -> Ask[shown.Dispute]:
    """A case with all that was said; now it is read."""
    return get("/disputes/{}", dispute_id)


def respond_to_dispute(dispute_id: str, text: str, evidence: Sequence[str] = ()) -> Ask[shown.DisputeSaid]:
    """Say something in a case: three times at most."""
    return post("/disputes/{}/statements", dispute_id, body={"text": text, "evidence": list(evidence)})


def withdraw_dispute(dispute_id: str) -> Ask[shown.DisputeMoved]:
    """Take my case back before it is deliberated."""
    return post("/disputes/{}/withdraw", dispute_id)


def appeal_dispute(dispute_id: str) -> Ask[shown.DisputeMoved]:
    """Ask for a second ruling, once, with twice the stake."""
    return post("/disputes/{}/appeal", dispute_id)


def rule_dispute(
    dispute_id: str, *, in_favour: str, criteria: Sequence[str], reason: str, **parts: Any
) -> Ask[shown.DisputeMoved]:
    """The operator's ruling: `in_favour` seller, buyer or split; a split has `seller_micro` and `buyer_micro`."""
    body = {"for": in_favour, "criteria": list(criteria), "reason": reason, **given(**parts)}
    return post("/disputes/{}/votes", dispute_id, body=body)
