"""Holding a job: claim it, begin, ask for more time, give it back."""

from collections.abc import Callable
from typing import Final

from earnest.client.payloads import Applied, ClaimMoved, ClaimOpened, ExtensionAsked
from earnest.effects.ground.storage.known_rows import Sought
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import AccountStatus
from earnest.identity.key import Caller, Scope
from earnest.identity.service import ACCOUNTS
from earnest.ledger import service as ledger
from earnest.market import settlement
from earnest.market.claims import extension, judgement, working
from earnest.market.claims.claim import WORKING, Actor, Claim, ClaimState, role_of
from earnest.market.claims.moving import ClaimTransition
from earnest.market.jobs.capacity import need_room, proves_nothing
from earnest.market.jobs.job import Application, Job, JobState, taken
from earnest.market.service import APPLICATIONS, CAPABILITIES, CATEGORY, CLAIMS, JOBS
from earnest.market.terms import Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.settling import advance

MAY_WORK: Final = (Scope.LIVE, Scope.HEARTBEAT)
MAY_BUY: Final = (Scope.LIVE, Scope.OPERATOR, Scope.REGISTERED)
MAY_SELL: Final = (*MAY_BUY, Scope.HEARTBEAT)
_ABLE_SQL = "account_id = ? AND removed = 0"
_WORKING_SQL = f"seller = ? AND state IN ({', '.join(repr(state.value) for state in sorted(WORKING))})"


def claim_job(entry: StoryContext, terms: Terms, job_id: str) -> ClaimOpened:
    """One of all who try holds the job.

    Raises `Refused`: `job_already_claimed`, `job_withdrawn`, `capacity_exceeded`, `related_party`, `scope_forbidden`.
    """
    job, me = _job_for(entry, job_id)
    return _opened(open_claim(entry, terms, job, me.account.id))


def open_claim(entry: StoryContext, terms: Terms, job: Job, seller: str) -> Claim:
    """The claim of a seller who asked, or was chosen, and has room for it."""
    if entry.transaction.link.known is not None:
        entry.transaction.link.look(
            (
                Sought(CAPABILITIES.lookup, conditions=_ABLE_SQL, parameters=(seller,)),
                Sought(CLAIMS.lookup, conditions=_WORKING_SQL, parameters=(seller,)),
                Sought(ACCOUNTS.lookup, (seller, job.creator)),
                *ledger.sought_of(*settlement.accounts_of_claim(job, seller)),
            )
        )
    able = list(CAPABILITIES.where(entry.transaction, _ABLE_SQL, (seller,)))
    at_work = list(CLAIMS.where(entry.transaction, _WORKING_SQL, (seller,)))
    parties = ACCOUNTS.all(entry.transaction, (seller, job.creator))
    if parties[seller].status is AccountStatus.SUSPENDED:  # since they applied
        raise Refused("account_suspended", "the account is suspended: its operator knows why")
    related = proves_nothing(parties[seller], parties[job.creator])
    claim = working.open_claim(entry.new_id("clm"), job, seller, entry.now_ms, related=related)
    need_room(job, able, at_work, terms)
    touching = (job.creator, seller)
    CLAIMS.open(entry.transaction, entry.now_ms, claim, touching=touching, event="claim", by=seller)
    JOBS.change(
        entry.transaction,
        entry.now_ms,
        job,
        taken(job, claim.id),
        event="claimed",
        touching=(*touching, CATEGORY + job.category),
    )
    ledger.post(entry.transaction, settlement.claimed(claim, entry.now_ms))
    return claim


def apply_for(entry: StoryContext, job_id: str, note: str) -> Applied:
    """Ask for a job that is given to one of those who ask. Raises `Refused`: `job_state`, `related_party`."""
    job, me = _job_for(entry, job_id)
    if me.id == job.creator:
        raise Refused("related_party", "the creator of a job does not work on it")
    if job.state is not JobState.OPEN or job.apply_until_ms is None or job.apply_until_ms <= entry.now_ms:
        raise Refused("job_state", "nobody applies for this job: it is claimed, if it is open", state=job.state.value)
    application = Application(
        id=f"{job.id}/{me.id}", job_id=job.id, account_id=me.id, note=note, applied_at_ms=entry.now_ms
    )
    if APPLICATIONS.get(entry.transaction, application.id) is None:
        APPLICATIONS.open(entry.transaction, entry.now_ms, application, touching=(me.id,))
    return {"job_id": job.id, "account_id": me.id, "apply_until": rfc3339_s(job.apply_until_ms)}


def start(entry: StoryContext, terms: Terms, claim_id: str) -> ClaimMoved:
    """The seller begins."""
    return _seller(entry, terms, claim_id, lambda claim: working.start(claim, entry.now_ms))


def concede(entry: StoryContext, terms: Terms, claim_id: str) -> ClaimMoved:
    """The seller agrees that the work was declined."""
    return _seller(entry, terms, claim_id, lambda claim: judgement.concede(claim, entry.now_ms))


def extend(entry: StoryContext, terms: Terms, claim_id: str, extra_s: int) -> ExtensionAsked:
    """The seller asks for more time; the job's policy grants it at once, or the buyer is asked."""
    before = _mine(entry, claim_id, Actor.SELLER)
    moved = extension.ask_extension(before, extra_s, entry.now_ms, terms)
    after = advance(entry, terms, before, moved)
    return {**told(after), "granted": after.due_at_ms > before.due_at_ms, "due_at": rfc3339_s(after.due_at_ms)}


def answer_extension(entry: StoryContext, terms: Terms, claim_id: str, *, granted: bool) -> ClaimMoved:
    """The buyer's answer to a seller who asked for more time."""
    rule = extension.grant_extension if granted else extension.refuse_extension
    return _buyer(entry, terms, claim_id, lambda claim: rule(claim, entry.now_ms))


def cancel(entry: StoryContext, terms: Terms, claim_id: str) -> ClaimMoved:
    """The seller gives the job back; a buyer takes it back before work began, and then asks the seller to agree."""
    entry.me.need(*MAY_SELL)
    claim = CLAIMS.find(entry.transaction, claim_id)
    if role_of(claim, entry.me.id) is Actor.BUYER:
        return _buyer(entry, terms, claim_id, lambda claim: _buyer_cancels(claim, entry.now_ms))
    return _seller(entry, terms, claim_id, lambda claim: _seller_cancels(claim, entry.now_ms))


def refund(entry: StoryContext, terms: Terms, claim_id: str) -> ClaimMoved:
    """The buyer waits no longer than the deadline."""
    return _buyer(entry, terms, claim_id, lambda claim: working.buyer_refund(claim, entry.now_ms))


def told(claim: Claim) -> ClaimMoved:
    """The claim, and the state that it is in now."""
    return {"claim_id": claim.id, "state": claim.state.value}


def _seller_cancels(claim: Claim, now_ms: int) -> ClaimTransition:
    """Where the buyer has asked to call it off, the seller's cancelling is consent, and no mark."""
    if claim.cancel_asked_by == Actor.BUYER and claim.state is ClaimState.IN_PROGRESS:
        return working.ask_mutual_cancel(claim, Actor.SELLER, now_ms)
    return working.cancel(claim, now_ms)


def _buyer_cancels(claim: Claim, now_ms: int) -> ClaimTransition:
    if claim.state is ClaimState.IN_PROGRESS:
        return working.ask_mutual_cancel(claim, Actor.BUYER, now_ms)
    return working.buyer_cancel(claim, now_ms)


def _opened(claim: Claim) -> ClaimOpened:
    return {
        **told(claim),
        "job_id": claim.job_id,
        "due_at": rfc3339_s(claim.due_at_ms),
        "grace_ends_at": rfc3339_s(claim.grace_ends_at_ms),
        "amount_micro": claim.amount_micro,
        "fee_micro": claim.fee_micro,
        "currency": claim.currency,
    }


def _seller(entry: StoryContext, terms: Terms, claim_id: str, step: Callable[[Claim], ClaimTransition]) -> ClaimMoved:
    claim = _mine(entry, claim_id, Actor.SELLER)
    return told(advance(entry, terms, claim, step(claim)))


def _buyer(entry: StoryContext, terms: Terms, claim_id: str, step: Callable[[Claim], ClaimTransition]) -> ClaimMoved:
    claim = _mine(entry, claim_id, Actor.BUYER)
    return told(advance(entry, terms, claim, step(claim)))


def _job_for(entry: StoryContext, job_id: str) -> tuple[Job, Caller]:
    """A job, and the caller whose key may work on it: one that only registers takes free ones."""
    me = entry.me
    me.need(*MAY_WORK, Scope.REGISTERED)
    job = JOBS.find(entry.transaction, job_id)
    if job.amount_micro and me.scope not in MAY_WORK:
        me.need(*MAY_WORK)
    return job, me


def _mine(entry: StoryContext, claim_id: str, role: Actor) -> Claim:
    """A claim of the caller's. A heartbeat key acts for a seller only."""
    me = entry.me
    me.need(*(MAY_SELL if role is Actor.SELLER else MAY_BUY))
    claim = CLAIMS.find(entry.transaction, claim_id)
    role_of(claim, me.id, role)
    return claim
