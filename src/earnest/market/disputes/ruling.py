"""Rulings on a dispute: what one says, who loses by it, and what holds where nobody rules."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.foundation.canonical import INTEGER_MAX, canonical_text
from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.foundation.shapes import to_json
from earnest.ledger.transfer import Chain
from earnest.market import settlement
from earnest.market.claims.claim import Claim
from earnest.market.claims.deadlines import frozen
from earnest.market.claims.deadlines import with_wake as with_claim_wake
from earnest.market.disputes.dispute import (
    Dispute,
    DisputeEvent,
    DisputeState,
    allowed_events,
    evidence_ended,
    step,
    with_wake,
)
from earnest.market.terms import Terms
from earnest.verification.verdict import Answer

CLOCK: Final = "clock"
REASON_CHARACTERS_MAX: Final = 5_000


class For(StrEnum):
    """Whom a ruling is for."""

    SELLER = "seller"
    BUYER = "buyer"
    SPLIT = "split"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The two amounts add up to what is held. `by`: the arbiter, or `clock`. `round` 2 is that of an appeal."""

    in_favour: For
    seller_micro: int
    buyer_micro: int
    criteria: tuple[str, ...]
    reason: str
    by: str
    round: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What an arbiter says. Amounts that go without saying may be None."""

    in_favour: For
    criteria: tuple[str, ...]
    reason: str
    seller_micro: int | None = None
    buyer_micro: int | None = None


def ruling_text(ruling: Ruling) -> str:
    """The ruling as it is kept: JSON {for, seller_micro, buyer_micro, criteria, reason, by, round}."""
    form = dict(to_json(ruling))
    return canonical_text({"for": form.pop("in_favour"), **form})


def read_ruling(text: str) -> Ruling:
    """The ruling that `ruling_text` wrote."""
    form = json.loads(text)
    return Ruling(in_favour=For(form.pop("for")), **{**form, "criteria": tuple(form["criteria"])})


def ruling_of(vote: Vote, by: str, amount_micro: int, known: Collection[str]) -> Ruling:
    """The ruling over this amount. `known`: the ids of the criteria that the claim is judged by.

    Raises `Refused`: `criterion_required`, `validation`.
    """
    if not vote.criteria or not set(vote.criteria) <= set(known):
        raise Refused("criterion_required", f"cite criteria of the job: {', '.join(sorted(known))}")
    whole = {For.SELLER: (amount_micro, 0), For.BUYER: (0, amount_micro), For.SPLIT: (None, None)}[vote.in_favour]
    given = (vote.seller_micro, vote.buyer_micro)
    seller_micro, buyer_micro = (one if one is not None else other for one, other in zip(given, whole, strict=True))
    if seller_micro is None or buyer_micro is None:
        raise Refused("validation", "a split names seller_micro and buyer_micro")
    is_split = vote.in_favour is For.SPLIT
    fits = min(seller_micro, buyer_micro) > 0 if is_split else (seller_micro, buyer_micro) == whole
    if not fits or seller_micro + buyer_micro != amount_micro:
        message = (
            f"the amounts of a ruling add up to {amount_micro}; a split gives something to both, others all to one"
        )
        raise Refused("validation", message)
    return Ruling(
        in_favour=vote.in_favour,
        seller_micro=seller_micro,
        buyer_micro=buyer_micro,
        criteria=vote.criteria,
        reason=vote.reason,
        by=by,
    )


def default_ruling(amount_micro: int, last_verdict: str) -> Ruling:
    """What the clock rules at the limit: as the last machine verdict says; where it says nothing, half and half.

    The odd micro goes to the seller, and so does an amount that cannot be halved.
    """
    if last_verdict == Answer.NOT_VERIFIED:
        in_favour, seller_micro = For.BUYER, 0
    elif last_verdict == Answer.VERIFIED or amount_micro < 2:
        in_favour, seller_micro = For.SELLER, amount_micro
    else:
        in_favour, seller_micro = For.SPLIT, amount_micro - amount_micro // 2
    reason = f"the time for a ruling was over; by the last machine verdict it counts as {last_verdict or 'not judged'}"
    return Ruling(
        in_favour=in_favour,
        seller_micro=seller_micro,
        buyer_micro=amount_micro - seller_micro,
        criteria=(),
        reason=reason,
        by=CLOCK,
    )


def ruled(dispute: Dispute, ruling: Ruling, now_ms: int, terms: Terms) -> Dispute:
    """A ruling: of the first round it waits for an appeal, of the second it is final.

    Raises `Refused("dispute_state")`.
    """
    state = step(dispute, DisputeEvent.RULE)
    told = replace(
        dispute,
        state=state,
        ruling=ruling_text(replace(ruling, round=2 if dispute.state is DisputeState.APPEAL else 1)),
        ruled_at_ms=now_ms,
        awaiting="",
        raiser_unread=dispute.raiser_unread + 1,
        respondent_unread=dispute.respondent_unread + 1,
        last_message_at_ms=now_ms,
    )
    if state is DisputeState.FINAL:
        return with_wake(replace(told, closed_at_ms=now_ms))
    ends_at_ms = min(now_ms + terms.dispute_appeal_s * SECOND_MS, dispute.hard_limit_ms)
    return with_wake(replace(told, appeal_ends_at_ms=ends_at_ms))


def appealed(dispute: Dispute, claim: Claim, account_id: str, now_ms: int) -> Dispute:
    """A side that did not get everything asks for a second ruling; its stake is twice the first.

    Raises `Refused`: `not_a_party`, `dispute_state` (no first ruling, or nothing to gain).
    """
    if not dispute.role_of(account_id):
        raise Refused("not_a_party", "only the two sides of a dispute appeal")
    state = step(dispute, DisputeEvent.APPEAL)
    if account_id == winner(claim, read_ruling(dispute.ruling)):
        message = "the ruling gives you everything"
        raise Refused("dispute_state", message, state=dispute.state.value, allowed_events=[])
    is_raiser = account_id == dispute.raiser
    return with_wake(
        replace(
            dispute,
            state=state,
            appealed_by=account_id,
            awaiting="arbiter",
            raiser_unread=dispute.raiser_unread + (not is_raiser),
            respondent_unread=dispute.respondent_unread + is_raiser,
            last_message_at_ms=now_ms,
        )
    )


def winner(claim: Claim, ruling: Ruling) -> str:
    """Who won; empty where it was divided."""
    return {For.SELLER: claim.seller, For.BUYER: claim.buyer, For.SPLIT: ""}[ruling.in_favour]


def clock(dispute: Dispute, last_verdict: str, now_ms: int) -> tuple[DisputeEvent, Dispute] | None:
    """The next thing that time alone does to a case whose stake lies there; None if its time has not come."""
    match dispute.state:
        case DisputeState.RULED if now_ms >= (dispute.appeal_ends_at_ms or 0):
            return DisputeEvent.APPEAL_ENDED, _final(dispute, DisputeEvent.APPEAL_ENDED, now_ms)
        case DisputeState.APPEAL if now_ms >= dispute.hard_limit_ms:
            return DisputeEvent.LIMIT, _final(dispute, DisputeEvent.LIMIT, now_ms)
        case DisputeState.OPEN | DisputeState.EVIDENCE | DisputeState.DELIBERATION if now_ms >= dispute.hard_limit_ms:
            told = replace(dispute, ruling=ruling_text(default_ruling(dispute.amount_micro, last_verdict)))
            final = _final(replace(told, ruled_at_ms=now_ms, last_message_at_ms=now_ms), DisputeEvent.LIMIT, now_ms)
            unread = (final.raiser_unread + 1, final.respondent_unread + 1)
            return DisputeEvent.LIMIT, replace(final, raiser_unread=unread[0], respondent_unread=unread[1])
        case DisputeState.OPEN | DisputeState.EVIDENCE if now_ms >= (dispute.respond_by_ms or 0):
            return DisputeEvent.EVIDENCE_ENDED, evidence_ended(dispute)
        case _:
            return None


def need_time(dispute: Dispute, now_ms: int) -> None:
    """What the clock owes comes first, even where it has not been at it yet. Raises `Refused("dispute_state")`."""
    if (owed := clock(dispute, "", now_ms)) is not None:
        message = f"too late: the time of a dispute that is {dispute.state} has ended"
        allowed = allowed_events(owed[1].state)
        raise Refused("dispute_state", message, state=owed[1].state.value, allowed_events=allowed)


def limit_lifted(claim: Claim) -> Claim:
    """A disputed claim once there is a ruling: the machine's verdict decides it no more, however late the clock is."""
    held = replace(frozen(claim), limit_ms=INTEGER_MAX)
    return with_claim_wake(replace(claim, frozen=held.text()))


def _final(dispute: Dispute, event: DisputeEvent, now_ms: int) -> Dispute:
    closed = replace(dispute, state=step(dispute, event), awaiting="", respond_by_ms=None, closed_at_ms=now_ms)
    return with_wake(closed)


def stakes_resolved(dispute: Dispute, claim: Claim, at_ms: int) -> Chain:
    """What becomes of the stakes of a case that is closed: the loser's pays for the ruling, the winner's returns.

    Of a divided ruling half returns. Where nobody ruled (withdrawn, or the clock did) nobody is paid: all returns, and
    so does the stake of an appeal that was not decided.
    """
    ruling = read_ruling(dispute.ruling) if dispute.ruling else None
    chain: Chain = ()
    for stake in dispute.stakes:
        if ruling is None or ruling.by == CLOCK or stake.round > ruling.round or stake.party == winner(claim, ruling):
            chain += settlement.stake_returned(stake, at_ms)
        elif ruling.in_favour is For.SPLIT:
            chain += settlement.stake_split(stake, at_ms)
        else:
            chain += settlement.stake_lost(stake, at_ms)
    return chain
