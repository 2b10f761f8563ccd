"""What follows when a claim moves: its money, its job and what is said of its parties, in the same transaction."""

from typing import Final

from earnest.effects.ground.storage.known_rows import Ahead, Sought
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller, Scope
from earnest.ledger import service as ledger
from earnest.ledger.transfer import Transfer, available, escrow
from earnest.market import settlement
from earnest.market.capabilities.capability import CapabilityState
from earnest.market.claims import ending
from earnest.market.claims.claim import TERMINAL, Actor, Claim, ClaimState
from earnest.market.claims.moving import ClaimTransition
from earnest.market.jobs.job import Job, given_back
from earnest.market.jobs.job import settled as job_settled
from earnest.market.reviews.reputation import PPM
from earnest.market.reviews.signal import SignalKind
from earnest.market.reviews.standing import standing
from earnest.market.service import CAPABILITIES, CATEGORY, CLAIMS, JOBS, SIGNALS
from earnest.market.terms import OWN, Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.capabilities import look_after_work
from earnest.runtime.market.money import give

_MONEY_GOES: Final = TERMINAL | {ClaimState.RELEASING, ClaimState.REFUNDING, ClaimState.DECLINED}
"""Where it is said who gets the money: at once, or by the clock if nobody objects."""


_VERIFIED_SQL: Final = "account_id = ? AND category = ? AND state = ? LIMIT 1"


def sought(claim: Claim) -> Ahead:
    """What is looked for when work is accepted and its claim is paid."""
    return (
        Sought(JOBS.lookup, (claim.job_id,)),
        *ledger.sought(settlement.released(claim, 0)),
        Sought(SIGNALS.lookup, (f"{claim.id}/{SignalKind.RELEASED}",)),
        Sought(CAPABILITIES.lookup, conditions=_VERIFIED_SQL, parameters=_badge_of(claim)),
    )


def need_may_move(me: Caller, currency: str, amount_micro: int) -> None:
    """A key that only registers moves ai$ and no other money. Raises `Refused("scope_forbidden")`."""
    if amount_micro and currency != OWN:
        me.need(*(scope for scope in Scope if scope is not Scope.REGISTERED))


def advance(entry: StoryContext, terms: Terms, before: Claim, moved: ClaimTransition) -> Claim:
    """Save a claim that moved, and do all that follows from it at once; the claim as it then is.

    Raises `Refused("scope_forbidden")` where a caller may not say where its money goes.
    """
    if entry.caller is not None and moved.claim.state in _MONEY_GOES:
        need_may_move(entry.caller, before.currency, before.amount_micro)
    claim = _save(entry, before, moved)
    match claim.state:
        case ClaimState.RELEASING | ClaimState.REFUNDING if before.state is not claim.state:
            return settle(entry, terms, claim)
        case ClaimState.CANCELLED | ClaimState.EXPIRED:
            ledger.post(entry.transaction, settlement.voided(claim, entry.now_ms))
            job = JOBS.find(entry.transaction, claim.job_id)
            save_job(entry, job, given_back(job, entry.now_ms), "given_back")
    return claim


def settle(entry: StoryContext, terms: Terms, claim: Claim) -> Claim:
    """Pay or return what a claim holds, by transfers that are the same at each try. What fails is tried again later."""
    job = JOBS.find(entry.transaction, claim.job_id)
    try:
        ledger.post(entry.transaction, _owed(claim, job, entry.now_ms))
    except Refused as refused:
        return _save(entry, claim, ending.settle_failed(claim, entry.now_ms), reason=refused.code)
    settled = _save(entry, claim, ending.settled(claim, entry.now_ms, terms))
    save_job(entry, job, job_settled(job, settled, entry.now_ms), "settled")
    _weigh(entry, settled)
    if settled.state is ClaimState.RELEASED:
        give(entry, settlement.approved_bonus(settled, terms, entry.now_ms))
    else:
        _fine(entry, terms, settled)
    return settled


def _weigh(entry: StoryContext, claim: Claim) -> None:
    """A badge for such work depends on how such work ends."""
    if not any(CAPABILITIES.where(entry.transaction, _VERIFIED_SQL, _badge_of(claim))):
        return
    now = standing(entry.transaction, claim.seller, entry.now_ms, claim.category)
    look_after_work(entry, claim.seller, claim.category, now.lower_bound_ppm / PPM, sum(now.counts.values()))


def _badge_of(claim: Claim) -> tuple[str, str, str]:
    """The parameters of `_VERIFIED_SQL`."""
    return claim.seller, claim.category, CapabilityState.VERIFIED


def save_job(entry: StoryContext, before: Job, after: Job, event: str) -> Job:
    """Save a job; once it has ended, what its escrow still holds returns to the creator."""
    touching = (after.creator, CATEGORY + after.category)
    JOBS.change(entry.transaction, entry.now_ms, before, after, event=event, touching=touching)
    if after.ended_at_ms is None:
        return after
    if ledger.balance(entry.transaction, escrow(after.id, after.currency)).balance_micro:
        ledger.post(entry.transaction, settlement.closed(after, entry.now_ms))
    return after


def _owed(claim: Claim, job: Job, at_ms: int) -> tuple[Transfer, ...]:
    if claim.state is ClaimState.REFUNDING:
        return settlement.voided(claim, at_ms)
    if claim.settlement_seller_micro is not None:
        return settlement.split(claim, job.fee_bps, at_ms)
    return settlement.released(claim, at_ms)


def _save(entry: StoryContext, before: Claim, moved: ClaimTransition, **why: str) -> Claim:
    claim, by = moved.claim, entry.caller.id if entry.caller else ""
    touching = (claim.seller, claim.buyer)
    CLAIMS.change(
        entry.transaction,
        entry.now_ms,
        before,
        claim,
        touching=touching,
        event=moved.event,
        actor=moved.actor.value,
        by=by,
        **why,
    )
    for signal in moved.signals:
        if SIGNALS.get(entry.transaction, signal.id) is None:
            SIGNALS.open(entry.transaction, entry.now_ms, signal, touching=(signal.account_id,))
    return claim


def _fine(entry: StoryContext, terms: Terms, claim: Claim) -> None:
    """Work that was rejected costs its worker a little, once: never for an unclear verdict, never below nothing."""
    if claim.declined_by == Actor.VERIFIER:
        penalty = settlement.fail_penalty_micro(claim, terms)
    elif claim.declined_by == Actor.BUYER:
        penalty = settlement.proposer_penalty_micro(claim, terms)
    else:
        return
    free = ledger.balance(entry.transaction, available(claim.seller, claim.currency)).free_micro
    chain = settlement.fined(claim, penalty, free, entry.now_ms)
    if chain:
        ledger.post(entry.transaction, chain)
