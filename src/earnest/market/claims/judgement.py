"""Whether the work is what was asked for: who may say so, and what follows."""

import json
from collections.abc import Collection, Sequence

from earnest.contracts.spec import Acceptance
from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.foundation.shapes import replace
from earnest.market.claims.claim import Actor, Claim
from earnest.market.claims.deadlines import SILENT
from earnest.market.claims.lifecycle import refusal
from earnest.market.claims.moving import ClaimTransition, begin
from earnest.market.reviews.signal import SignalKind
from earnest.market.terms import Terms
from earnest.verification.verdict import Answer


def verdict_given(
    claim: Claim,
    answer: str,
    now_ms: int,
    terms: Terms,
    *,
    failed: Sequence[str] = (),
    reason: str = "",
    by_poster: bool = False,
) -> ClaimTransition:
    """The machine has judged the current revision. `failed`: ids of the criteria that it says are not met.

    A yes pays where machines accept, else it waits for who does. A no sends back while revisions are left, then it
    declines. Unclear never pays and never punishes; where a machine was to decide, the operator is asked, but not
    about what is unclear by the poster's fault (`by_poster`): then their silence accepts.
    Raises `ValueError` for what is no `Answer`.
    """
    if answer not in list(Answer):
        raise ValueError(f"{answer!r} is no answer of a verdict")
    judged = replace(claim, verdict=answer, last_verdict=answer)
    if answer == Answer.NOT_VERIFIED:
        if claim.revisions_left > 0:
            event, after = "verifier_fail", _sent_back(judged, failed, reason, now_ms)
        else:
            event = "verifier_fail_final"
            after = turned_down(judged, Actor.VERIFIER, failed, reason, now_ms=now_ms, terms=terms)
    elif answer == Answer.UNCLEAR:
        is_the_posters = by_poster and claim.acceptance == Acceptance.MACHINE
        escalated = claim.acceptance not in SILENT and not is_the_posters
        event, after = "verifier_unclear", replace(judged, escalated=escalated)
    elif claim.acceptance == Acceptance.MACHINE:
        event, after = "verifier_pass_final", judged
    else:
        event, after = "verifier_pass", replace(judged, escalated=claim.acceptance not in SILENT)
    return begin(claim, event, Actor.VERIFIER, now_ms).taken(after)


def accept(claim: Claim, now_ms: int) -> ClaimTransition:
    """The buyer takes the work."""
    return begin(claim, "accept", Actor.BUYER, now_ms).taken()


def request_changes(
    claim: Claim, cited: Sequence[str], reason: str, now_ms: int, *, criteria: Collection[str]
) -> ClaimTransition:
    """The buyer sends the work back, citing some of the snapshot's `criteria`.

    Raises `Refused`: `claim_state` (also without a revision left), `criterion_required`.
    """
    step = begin(claim, "request_changes", Actor.BUYER, now_ms)
    if claim.revisions_left <= 0:
        raise refusal(claim.state, "no revision is left: accept it, decline it or dispute it")
    _need_criteria(cited, criteria)
    return step.taken(_sent_back(claim, cited, reason, now_ms))


def decline(
    claim: Claim, cited: Sequence[str], reason: str, now_ms: int, terms: Terms, *, criteria: Collection[str]
) -> ClaimTransition:
    """The buyer rejects the work, citing some of the snapshot's `criteria`; the money stays held for an appeal.

    Only where buyer or proposer accept, and never work that a machine has verified. The quota is `declining`'s.
    Raises `Refused`: `claim_state`, `criterion_required`.
    """
    step = begin(claim, "decline", Actor.BUYER, now_ms)
    if claim.acceptance not in SILENT:
        raise refusal(claim.state, f"acceptance is {claim.acceptance}: the buyer does not decide")
    if claim.verdict == Answer.VERIFIED:
        raise refusal(claim.state, "verified work is not declined: dispute it")
    _need_criteria(cited, criteria)
    return step.taken(turned_down(claim, Actor.BUYER, cited, reason, now_ms=now_ms, terms=terms))


def human_pass(claim: Claim, reason: str, now_ms: int) -> ClaimTransition:
    """The operator takes the work. Raises `Refused("claim_state")` where it is not theirs to judge."""
    step = begin(claim, "human_pass", Actor.OPERATOR, now_ms)
    _need_operator(claim)
    return step.taken(replace(claim, reason=reason))


def human_fail(
    claim: Claim, cited: Sequence[str], reason: str, now_ms: int, terms: Terms, *, criteria: Collection[str]
) -> ClaimTransition:
    """The operator rejects the work. Raises `Refused`: `claim_state`, `criterion_required`."""
    step = begin(claim, "human_fail", Actor.OPERATOR, now_ms)
    _need_operator(claim)
    _need_criteria(cited, criteria)
    return step.taken(turned_down(claim, Actor.OPERATOR, cited, reason, now_ms=now_ms, terms=terms))


def concede(claim: Claim, now_ms: int) -> ClaimTransition:
    """The seller agrees that the work was declined: the money goes back at once."""
    return begin(claim, "concede", Actor.SELLER, now_ms).taken(None, SignalKind.REFUNDED)


def undecline(claim: Claim, now_ms: int) -> ClaimTransition:
    """The buyer takes declined work after all."""
    return begin(claim, "undecline", Actor.BUYER, now_ms).taken(replace(claim, appeal_ends_at_ms=None))


def turned_down(claim: Claim, by: Actor, cited: Sequence[str], reason: str, *, now_ms: int, terms: Terms) -> Claim:
    """The claim as somebody's no leaves it: the seller has some time to dispute it."""
    return replace(
        claim,
        declined_by=by.value,
        cited=json.dumps(list(cited)),
        reason=reason,
        appeal_ends_at_ms=now_ms + terms.appeal_s * SECOND_MS,
    )


def _sent_back(claim: Claim, cited: Sequence[str], reason: str, now_ms: int) -> Claim:
    """A new obligation, from now until `revise_by_ms`."""
    revise_by_ms = now_ms + claim.revise_s * SECOND_MS
    return replace(
        claim,
        revisions_left=claim.revisions_left - 1,
        start_at_ms=now_ms,
        due_at_ms=revise_by_ms,
        revise_by_ms=revise_by_ms,
        cited=json.dumps(list(cited)),
        reason=reason,
    )


def _need_criteria(cited: Sequence[str], criteria: Collection[str]) -> None:
    unknown = [one for one in cited if one not in criteria]
    if not cited or unknown:
        message = f"there is no criterion {unknown[0][:80]!r}" if unknown else "cite at least one criterion"
        raise Refused("criterion_required", f"{message}; the claim's are {', '.join(sorted(criteria))}")


def _need_operator(claim: Claim) -> None:
    machine_could_not = claim.acceptance == Acceptance.MACHINE and claim.escalated
    if claim.acceptance != Acceptance.HUMAN and not machine_could_not:
        raise refusal(claim.state, f"acceptance is {claim.acceptance}: the operator was not asked")


def declines_max(judged: int, terms: Terms) -> int:
    """The quota of a buyer who judged so many claims in the last week: a fixed number or a share, whichever is more."""
    return max(terms.declines_per_week, judged * terms.declines_share_percent // 100)


def check_quota(declined: int, judged: int, terms: Terms) -> None:
    """Refuse one decline more. `declined` and `judged` (declines included) are counted over the window.

    Raises `Refused("decline_quota")`.
    """
    most = declines_max(judged, terms)
    if declined >= most:
        raise Refused("decline_quota", f"you declined {declined} claims within a week, and {most} is the most now")
