"""The end of a claim once it is clear who gets the money."""

from typing import Final

from earnest.foundation.instants import SECOND_MS
from earnest.foundation.shapes import replace
from earnest.market.claims.claim import Actor, Claim, ClaimState
from earnest.market.claims.deadlines import with_wake
from earnest.market.claims.moving import ClaimTransition, begin
from earnest.market.reviews.signal import SignalKind
from earnest.market.terms import Terms

RETRY_FIRST_S: Final = 10
RETRY_MAX_S: Final = 3_600


def settled(claim: Claim, now_ms: int, terms: Terms) -> ClaimTransition:
    """The ledger has moved the money: the claim is released or refunded, once and for all.

    Earnings wait for clearing. Reviews are open, after a refund only if a dispute led to it.
    """
    releasing = claim.state is ClaimState.RELEASING
    event = "release_settled" if releasing else "refund_settled"
    step = begin(claim, event, Actor.LEDGER, now_ms)
    after = claim
    if releasing or claim.dispute_id is not None:
        after = replace(after, reviews_close_at_ms=now_ms + terms.review_closes_s * SECOND_MS)
    if releasing and claim.amount_micro > 0:
        clearing_s = terms.currencies[claim.currency].clearing_s
        after = replace(after, clears_at_ms=now_ms + clearing_s * SECOND_MS)
    delivered = releasing and claim.settlement_seller_micro is None
    return step.taken(after, *((SignalKind.RELEASED,) if delivered else ()))


def settle_failed(claim: Claim, now_ms: int) -> ClaimTransition:
    """The ledger could not: the same transfers are tried again, less and less often, for ever."""
    event = "release_failed" if claim.state is ClaimState.RELEASING else "refund_failed"
    step = begin(claim, event, Actor.LEDGER, now_ms)
    wait_s = min(RETRY_FIRST_S << min(claim.settle_tries, 16), RETRY_MAX_S)
    return step.taken(replace(claim, settle_tries=claim.settle_tries + 1, settle_at_ms=now_ms + wait_s * SECOND_MS))


def earnings_cleared(claim: Claim) -> Claim:
    """The claim once its clearing time is over and the seller may spend what it brought."""
    return with_wake(replace(claim, cleared=True))
