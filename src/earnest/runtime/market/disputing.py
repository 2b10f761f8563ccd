"""Disputes: raised with a stake, argued in turns, ruled by an arbiter or at last by the clock."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from earnest.client.payloads_disputes import DisputeMoved, DisputeSaid
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import canonical_text
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller, Scope
from earnest.identity.service import ACCOUNTS
from earnest.ledger import service as ledger
from earnest.market import settlement
from earnest.market.claims import contest
from earnest.market.claims.claim import Claim, ClaimState, role_of
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import counting_verdict
from earnest.market.claims.evidence import artifact_id
from earnest.market.claims.moving import ClaimTransition
from earnest.market.disputes import dispute as rules
from earnest.market.disputes import ruling as rulings
from earnest.market.disputes.dispute import CLOSED, Dispute, DisputeState, Statement
from earnest.market.disputes.ruling import CLOCK, For, Ruling, Vote
from earnest.market.jobs.capacity import need_neutral
from earnest.market.service import ARTIFACTS, CLAIMS, DISPUTES, JOBS, STATEMENTS, SUBMISSIONS
from earnest.market.terms import Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.presence import disputes_changed
from earnest.runtime.market.settling import advance

MAY_OPEN: Final = (Scope.LIVE, Scope.OPERATOR)
MAY_ANSWER: Final = (*MAY_OPEN, Scope.HEARTBEAT)
DISPUTES_OF_CLAIM_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Plea:
    """What somebody raises a dispute with. `stake_micro`: what they expect it to take; None: whatever it takes."""

    reason: str
    criteria: tuple[str, ...] = ()
    stake_micro: int | None = None


def raise_dispute(entry: StoryContext, terms: Terms, claim_id: str, plea: Plea) -> DisputeMoved:
    """Open a case and lay down its stake; without the money for it the case waits for it, and falls if none comes.

    Raises `Refused`: `heartbeat_scope_forbidden`, `not_found`, `not_a_party`, `claim_state`, `below_dispute_floor`,
    `dispute_exists`, `criterion_required`, `stake_mismatch`.
    """
    entry.me.need(*MAY_OPEN)
    claim = CLAIMS.find(entry.transaction, claim_id)
    role_of(claim, entry.me.id)
    criteria = canonical_text(sorted(set(plea.criteria)))
    dispute_id = entry.new_id("dsp")
    raised = rules.raised(
        claim, entry.me.id, entry.now_ms, terms, dispute_id=dispute_id, reason=plea.reason, criteria=criteria
    )
    _check_first(entry.transaction, raised)
    _confirmed(claim, raised, entry.now_ms)
    if not set(plea.criteria) <= _criteria(entry.transaction, claim):
        raise Refused("criterion_required", "criteria: some of these are none of the job's")
    if plea.stake_micro not in {None, raised.stake_micro}:
        message = f"the stake of this dispute is {raised.stake_micro} micro {raised.currency}"
        raise Refused("stake_mismatch", message, stake_micro=raised.stake_micro, currency=raised.currency)
    DISPUTES.open(entry.transaction, entry.now_ms, raised, touching=(raised.raiser,), by_key=entry.me.key_id)
    return _shown(_try_stake(entry, terms, raised))


def speak(entry: StoryContext, dispute_id: str, text: str, evidence: Sequence[str]) -> DisputeSaid:
    """Add a statement; its evidence is what is stored under these digests, as it is now.

    Raises `Refused`: `not_found`, `dispute_state`, `limit_reached`, `evidence_incomplete`.
    """
    entry.me.need(*MAY_ANSWER)
    dispute = find_mine(entry.transaction, dispute_id, entry.me)
    rulings.need_time(dispute, entry.now_ms)
    after = rules.read_by(rules.spoken(dispute, entry.me.id, entry.now_ms), entry.me.id)
    if lacking := sorted(one for one in set(evidence) if not _is_known(entry, dispute, one)):
        raise Refused("evidence_incomplete", "you have no such artifacts, nor has the claim", missing=lacking)
    number = after.raiser_statements + after.respondent_statements
    statement = Statement(
        id=f"{dispute.id}/{number}",
        dispute_id=dispute.id,
        number=number,
        author=entry.me.id,
        text=text,
        evidence=canonical_text(list(dict.fromkeys(evidence))),
        said_at_ms=entry.now_ms,
    )
    STATEMENTS.open(entry.transaction, entry.now_ms, statement, by_key=entry.me.key_id)
    _save(entry, dispute, after, "statement")
    return {**_shown(after), "statement": number}


def withdraw_dispute(entry: StoryContext, terms: Terms, dispute_id: str) -> DisputeMoved:
    """Take a case back before it is deliberated: the stake returns and the claim goes on where it stood.

    Raises `Refused`: `not_found`, `not_a_party`, `dispute_state`.
    """
    entry.me.need(*MAY_OPEN)
    dispute = find_mine(entry.transaction, dispute_id, entry.me)
    rulings.need_time(dispute, entry.now_ms)
    after = rules.withdrawn(dispute, entry.me.id, entry.now_ms)
    _save(entry, dispute, after, "withdrawn")
    if dispute.state is not DisputeState.STAKE_PENDING:
        claim = CLAIMS.find(entry.transaction, dispute.claim_id)
        ledger.post(entry.transaction, rulings.stakes_resolved(after, claim, entry.now_ms))
        advance(entry, terms, claim, contest.dispute_withdrawn(claim, entry.now_ms, terms))
    return _shown(after)


def rule(entry: StoryContext, terms: Terms, dispute_id: str, vote: Vote) -> DisputeMoved:
    """An arbiter's ruling; that of an appeal is carried out at once, a first one when nobody has appealed.

    Raises `Refused`: `scope_forbidden`, `not_found`, `related_party`, `dispute_state`, `criterion_required`,
    `validation`.
    """
    entry.me.need(Scope.OPERATOR)
    dispute = DISPUTES.find(entry.transaction, dispute_id)
    claim = CLAIMS.find(entry.transaction, dispute.claim_id)
    need_neutral(entry.me.account, *(ACCOUNTS.find(entry.transaction, side) for side in (claim.seller, claim.buyer)))
    rulings.need_time(dispute, entry.now_ms)
    ruling = rulings.ruling_of(vote, entry.me.id, claim.amount_micro, _criteria(entry.transaction, claim))
    after = rulings.ruled(dispute, ruling, entry.now_ms, terms)
    _save(entry, dispute, after, "ruled")
    if after.state is DisputeState.FINAL:
        _carry_out(entry, terms, after, claim)
    else:
        lifted = rulings.limit_lifted(claim)
        CLAIMS.change(entry.transaction, entry.now_ms, claim, lifted, event="ruled")
    return _shown(after)


def appeal(entry: StoryContext, dispute_id: str) -> DisputeMoved:
    """Ask for a second ruling, once, with twice the stake.

    Raises `Refused`: `not_found`, `dispute_state`, `insufficient_funds`.
    """
    entry.me.need(*MAY_OPEN)
    dispute = find_mine(entry.transaction, dispute_id, entry.me)
    rulings.need_time(dispute, entry.now_ms)
    claim = CLAIMS.find(entry.transaction, dispute.claim_id)
    after = rules.read_by(rulings.appealed(dispute, claim, entry.me.id, entry.now_ms), entry.me.id)
    ledger.post(entry.transaction, settlement.stake_held(after.stakes[-1], entry.now_ms))
    _save(entry, dispute, after, "appealed")
    return _shown(after)


def mark_read(entry: StoryContext, dispute_id: str) -> DisputeMoved:
    """Whoever looks at a case has read it."""
    dispute = find_mine(entry.transaction, dispute_id, entry.me)
    after = rules.read_by(dispute, entry.me.id)
    if after != dispute:
        _save(entry, dispute, after, "read")
    return _shown(after)


def due(entry: StoryContext, terms: Terms, key: str) -> DisputeMoved:
    """Do to a case all that time does."""
    dispute = DISPUTES.find(entry.transaction, key)
    if dispute.state is DisputeState.STAKE_PENDING:
        return _shown(_try_stake(entry, terms, dispute))
    claim = CLAIMS.find(entry.transaction, dispute.claim_id)
    while (past := rulings.clock(dispute, counting_verdict(claim), entry.now_ms)) is not None:
        event, after = past
        _save(entry, dispute, after, event.value)
        dispute = after
        if dispute.state is DisputeState.FINAL:
            _carry_out(entry, terms, dispute, claim)
    return _shown(dispute)


def find_mine(reader: BooksReader, dispute_id: str, caller: Caller) -> Dispute:
    """A case that the caller is a side of. Raises `Refused("not_found")`, also for one of others."""
    dispute = DISPUTES.find(reader, dispute_id)
    if not dispute.role_of(caller.id):
        raise Refused("not_found", f"there is no dispute {dispute_id[:80]!r}, or you may not know of it")
    return dispute


def _check_first(reader: BooksReader, raised: Dispute) -> None:
    """One case at a time, and of each side one a revision: whoever took theirs back cannot stall with another.

    A case that waits for its stake keeps only its own side from raising another.
    """
    parameters = (raised.claim_id, DISPUTES_OF_CLAIM_MAX)
    for other in DISPUTES.where(reader, "claim_id = ? AND state != 'void' ORDER BY id DESC LIMIT ?", parameters):
        is_mine = other.raiser == raised.raiser
        is_open = other.closed_at_ms is None and (is_mine or other.state is not DisputeState.STAKE_PENDING)
        if is_open or (is_mine and other.revision == raised.revision):
            raise Refused("dispute_exists", "there is a dispute about this", dispute_id=other.id)


def _try_stake(entry: StoryContext, terms: Terms, dispute: Dispute) -> Dispute:
    """Lay down the stake if the raiser has it and the claim still stands where it did."""
    claim = CLAIMS.find(entry.transaction, dispute.claim_id)
    if claim.revision != dispute.revision:
        return _save(entry, dispute, rules.stake_missed(dispute, entry.now_ms), "claim_went_on")
    held = rules.stake_held(dispute, entry.now_ms, terms)
    try:
        moved = _confirmed(claim, held, entry.now_ms)
        ledger.post(entry.transaction, settlement.stake_held(dispute.stakes[0], entry.now_ms))
    except Refused as refused:
        if refused.code == "insufficient_funds" and entry.now_ms < dispute.stake_by_ms:
            return _save(entry, dispute, rules.stake_tried(dispute, entry.now_ms), "stake_tried")
        return _save(entry, dispute, rules.stake_missed(dispute, entry.now_ms), refused.code)
    _save(entry, dispute, held, "stake_held")
    advance(entry, terms, claim, moved)
    return held


def _confirmed(claim: Claim, dispute: Dispute, now_ms: int) -> ClaimTransition:
    """The claim under this dispute. Raises `Refused`: `not_a_party`, `claim_state`, `claim_expired`."""
    role = role_of(claim, dispute.raiser)
    return contest.dispute_confirmed(claim, role, dispute.id, dispute.hard_limit_ms, now_ms)


def _carry_out(entry: StoryContext, terms: Terms, dispute: Dispute, claim: Claim) -> None:
    """What a final ruling says: the stakes, then the claim and its money.

    What the clock rules at the limit the claim's own clock rules alike, and may have done before.
    """
    ledger.post(entry.transaction, rulings.stakes_resolved(dispute, claim, entry.now_ms))
    ruling = rulings.read_ruling(dispute.ruling)
    if ruling.by == CLOCK:
        if claim.state is ClaimState.DISPUTED:
            advance(entry, terms, claim, clock(claim, entry.now_ms, terms)[0])
        return
    advance(entry, terms, claim, _outcome(claim, ruling, entry.now_ms))


def _outcome(claim: Claim, ruling: Ruling, now_ms: int) -> ClaimTransition:
    match ruling.in_favour:
        case For.SELLER:
            return contest.ruled_seller(claim, now_ms)
        case For.BUYER:
            return contest.ruled_buyer(claim, now_ms)
        case For.SPLIT:
            return contest.ruled_split(claim, ruling.seller_micro, ruling.buyer_micro, now_ms)


def _criteria(reader: BooksReader, claim: Claim) -> frozenset[str]:
    """The ids of the criteria that the claim's job is judged by."""
    return frozenset(one["id"] for one in json.loads(JOBS.find(reader, claim.job_id).criteria))


def _is_known(entry: StoryContext, dispute: Dispute, sha256: str) -> bool:
    """True for an artifact of the caller, and for what was handed in for the claim or shown in the case."""
    if ARTIFACTS.get(entry.transaction, artifact_id(entry.me.id, sha256)) is not None:
        return True
    submissions = SUBMISSIONS.where(entry.transaction, "claim_id = ?", (dispute.claim_id,))
    if any(sha256 == item["sha256"] for submission in submissions for item in json.loads(submission.manifest)):
        return True
    statements = STATEMENTS.where(entry.transaction, "dispute_id = ?", (dispute.id,))
    return any(sha256 in json.loads(statement.evidence) for statement in statements)


def _save(entry: StoryContext, before: Dispute, after: Dispute, event: str) -> Dispute:
    touching = (before.raiser,) if after.state is DisputeState.STAKE_PENDING else (before.raiser, before.respondent)
    actor = entry.caller.id if entry.caller else ""
    DISPUTES.change(entry.transaction, entry.now_ms, before, after, event=event, actor=actor, touching=touching)
    for party in touching:
        disputes_changed(entry, party)
    return after


def _shown(dispute: Dispute) -> DisputeMoved:
    return {
        "dispute_id": dispute.id,
        "claim_id": dispute.claim_id,
        "state": dispute.state.value,
        "stake_micro": dispute.stake_micro,
        "currency": dispute.currency,
        "awaiting": dispute.awaiting or None,
        "closed": dispute.state in CLOSED,
    }
