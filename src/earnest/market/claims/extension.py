"""Extensions of a deadline."""

from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.foundation.shapes import replace
from earnest.market.claims.claim import Actor, Claim
from earnest.market.claims.lifecycle import refusal
from earnest.market.claims.moving import ClaimStep, ClaimTransition, begin
from earnest.market.terms import Terms


def ask_extension(claim: Claim, seconds: int, now_ms: int, terms: Terms) -> ClaimTransition:
    """The seller asks for more time, before the deadline. The policy grants it once, or the buyer is asked.

    The event is `grant_extension` (by policy) or `extension_asked`. Silence is no. A new question replaces the last.
    Raises `Refused`: `claim_state`, `validation`, `limit_reached`.
    """
    step = begin(claim, "grant_extension", Actor.POLICY, now_ms)
    if now_ms >= claim.due_at_ms:
        raise refusal(claim.state, "more time is asked for before the deadline, not after it")
    if seconds < 1:
        raise Refused("validation", "an extension is at least a second")
    if _total_s(claim) + seconds > terms.job_work_max_s:
        raise Refused("limit_reached", f"a claim has at most {terms.job_work_max_s} seconds in all")
    if claim.auto_extend and not claim.extended and seconds <= policy_max_s(claim, terms):
        return _extended(step, replace(claim, extended=True), seconds)
    asked = replace(claim, extension_asked_at_ms=now_ms, extension_asked_s=seconds)
    return ClaimTransition(claim=asked, event="extension_asked", actor=Actor.SELLER)


def grant_extension(claim: Claim, now_ms: int) -> ClaimTransition:
    """The buyer grants what was asked for."""
    step = begin(claim, "grant_extension", Actor.BUYER, now_ms)
    _need_question(claim)
    return _extended(step, claim, claim.extension_asked_s)


def refuse_extension(claim: Claim, now_ms: int) -> ClaimTransition:
    """The buyer says no. The event is `extension_refused`."""
    begin(claim, "grant_extension", Actor.BUYER, now_ms)
    _need_question(claim)
    refused = replace(claim, extension_asked_at_ms=None, extension_asked_s=0)
    return ClaimTransition(claim=refused, event="extension_refused", actor=Actor.BUYER)


def policy_max_s(claim: Claim, terms: Terms) -> int:
    """The longest extension that the policy grants: a share of the whole time, in whole seconds."""
    return _total_s(claim) // terms.extension_share


def _extended(step: ClaimStep, claim: Claim, seconds: int) -> ClaimTransition:
    longer_ms = seconds * SECOND_MS
    return step.taken(
        replace(
            claim,
            due_at_ms=claim.due_at_ms + longer_ms,
            grace_ends_at_ms=claim.grace_ends_at_ms + longer_ms,
            extension_asked_at_ms=None,
            extension_asked_s=0,
        )
    )


def _total_s(claim: Claim) -> int:
    return (claim.due_at_ms - claim.start_at_ms) // SECOND_MS


def _need_question(claim: Claim) -> None:
    if claim.extension_asked_at_ms is None:
        raise refusal(claim.state, "nobody has asked for more time")
