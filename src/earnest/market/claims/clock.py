"""What time alone does to a claim."""

from collections.abc import Mapping
from typing import Final

from earnest.foundation.instants import SECOND_MS
from earnest.foundation.shapes import replace
from earnest.market.claims.claim import Actor, Claim
from earnest.market.claims.deadlines import OPERATOR_ASKED, counting_verdict, next_deadline, with_wake
from earnest.market.claims.judgement import turned_down
from earnest.market.claims.moving import ClaimTransition, begin
from earnest.market.reviews.signal import SignalKind
from earnest.market.terms import Terms
from earnest.verification.verdict import Answer

_MARKS: Final[Mapping[str, SignalKind]] = {
    "clock:grace_ended": SignalKind.MISSED_DEADLINE,
    "clock:appeal_ended": SignalKind.REFUNDED,
    "clock:ruling_default_refund": SignalKind.REFUNDED,
}


def clock(claim: Claim, now_ms: int, terms: Terms) -> tuple[ClaimTransition, ...]:
    """Every step of the clock whose time has come, in order, each from where the last one led.

    A time that begins with such a step (72 h to dispute a decline) begins now, however late the clock is: nobody loses
    it because the platform was down.
    """
    moves: list[ClaimTransition] = []
    while (due := next_deadline(claim)) is not None and due.at_ms <= now_ms:
        moves.append(_tick(claim, due.event, now_ms, terms))
        claim = moves[-1].claim
    return tuple(moves)


def _tick(claim: Claim, event: str, now_ms: int, terms: Terms) -> ClaimTransition:
    if event == OPERATOR_ASKED:
        return ClaimTransition(claim=with_wake(replace(claim, escalated=True)), event=event, actor=Actor.CLOCK)
    marks = (_MARKS[event],) if event in _MARKS else ()
    return begin(claim, event, Actor.CLOCK, now_ms).taken(_after(claim, event, now_ms, terms), *marks)


def _after(claim: Claim, event: str, now_ms: int, terms: Terms) -> Claim:
    match event:
        case "clock:review_lapsed":
            return replace(claim, reason="unjudged")
        case "clock:revise_ended" if claim.verdict == Answer.VERIFIED:
            return _verified_again(claim, now_ms, terms)
        case "clock:revise_ended":
            return turned_down(claim, Actor.CLOCK, (), "no revision came in time", now_ms=now_ms, terms=terms)
        case "clock:ruling_default_pay":
            return _paid_by_default(claim)
        case "clock:ruling_default_refund":
            return replace(claim, frozen="")
        case _:
            return claim


def _verified_again(claim: Claim, now_ms: int, terms: Terms) -> Claim:
    """Work that a machine has verified stays so where no revision came: its review goes on, a while at least."""
    ends_ms = max(claim.review_ends_at_ms or 0, now_ms + terms.resume_min_s * SECOND_MS)
    unjudged_ms = ends_ms + terms.unjudged_s * SECOND_MS
    return replace(claim, revise_by_ms=None, review_ends_at_ms=ends_ms, unjudged_at_ms=unjudged_ms)


def _paid_by_default(claim: Claim) -> Claim:
    """The machine's yes pays all; where it could not tell, each side gets half, the seller the odd micro."""
    half = claim.amount_micro // 2
    if counting_verdict(claim) == Answer.VERIFIED or half == 0:
        return replace(claim, frozen="")
    seller_micro = claim.amount_micro - half
    return replace(claim, frozen="", settlement_seller_micro=seller_micro, settlement_buyer_micro=half)
