"""What a dispute does to the claim that it is about."""

from earnest.foundation.errors import Refused
from earnest.foundation.shapes import replace
from earnest.market.claims.claim import Actor, Claim
from earnest.market.claims.deadlines import Frozen, deadline, frozen
from earnest.market.claims.moving import ClaimTransition, begin
from earnest.market.reviews.signal import SignalKind
from earnest.market.terms import Terms


def dispute_confirmed(claim: Claim, role: Actor, dispute_id: str, limit_ms: int, now_ms: int) -> ClaimTransition:
    """The stake is held: every clock of the claim stops. `role`: the raiser's; `limit_ms`: the dispute's hard limit."""
    step = begin(claim, "dispute_confirmed", role, now_ms)
    due = deadline(claim)
    left_ms = due.at_ms - now_ms if due else 0
    stopped = Frozen(state=claim.state, at_ms=now_ms, left_ms=left_ms, limit_ms=limit_ms)
    return step.taken(replace(claim, dispute_id=dispute_id, frozen=stopped.text()))


def ruled_seller(claim: Claim, now_ms: int) -> ClaimTransition:
    """All goes to the seller. Like every ruling: once it is final, and before the hard limit."""
    return begin(claim, "ruled_seller", Actor.ARBITER, now_ms).taken(replace(claim, frozen=""))


def ruled_buyer(claim: Claim, now_ms: int) -> ClaimTransition:
    """All goes back to the buyer."""
    step = begin(claim, "ruled_buyer", Actor.ARBITER, now_ms)
    return step.taken(replace(claim, frozen=""), SignalKind.REFUNDED)


def ruled_split(claim: Claim, seller_micro: int, buyer_micro: int, now_ms: int) -> ClaimTransition:
    """Both get a part. Raises `Refused("validation")` unless both are over 0 and add up to the amount."""
    step = begin(claim, "ruled_split", Actor.ARBITER, now_ms)
    if min(seller_micro, buyer_micro) <= 0 or seller_micro + buyer_micro != claim.amount_micro:
        raise Refused("validation", f"two parts over 0 add up to the amount of {claim.amount_micro}")
    after = replace(claim, frozen="", settlement_seller_micro=seller_micro, settlement_buyer_micro=buyer_micro)
    return step.taken(after, SignalKind.SPLIT)


def dispute_withdrawn(claim: Claim, now_ms: int, terms: Terms) -> ClaimTransition:
    """The raiser gives in: the claim is where it was, with the time that it had left, at least `resume_min_s`."""
    step = begin(claim, "dispute_withdrawn", Actor.RAISER, now_ms)
    pause_ms = frozen(claim).pause_ms(now_ms, terms.resume_min_s)

    def later(at_ms: int | None) -> int | None:
        return None if at_ms is None else at_ms + pause_ms

    after = replace(claim, dispute_id=None, frozen="")
    after = replace(
        after,
        review_ends_at_ms=later(claim.review_ends_at_ms),
        unjudged_at_ms=later(claim.unjudged_at_ms),
        appeal_ends_at_ms=later(claim.appeal_ends_at_ms),
    )
    if claim.revise_by_ms is not None:
        due_at_ms = claim.revise_by_ms + pause_ms
        start_at_ms = min(claim.start_at_ms + pause_ms, now_ms)
        after = replace(after, revise_by_ms=due_at_ms, due_at_ms=due_at_ms, start_at_ms=start_at_ms)
    return step.taken(after)
