"""From claiming a job to handing in the work, and the ways out before, for both sides."""

from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.foundation.shapes import replace
from earnest.market.claims.claim import Actor, Claim, ClaimState, is_overdue
from earnest.market.claims.deadlines import due_at
from earnest.market.claims.lifecycle import refusal
from earnest.market.claims.moving import ClaimTransition, begin
from earnest.market.jobs.job import Job, need_claimable
from earnest.market.reviews.signal import SignalKind
from earnest.market.terms import Terms


def open_claim(claim_id: str, job: Job, seller: str, now_ms: int, *, related: bool = False) -> Claim:
    """A seller's hold on an open job, at the job's terms of now. `related`: both sides belong to one operator.

    Raises `Refused`: `job_already_claimed`, `job_withdrawn`, `claim_state` (agents apply first), `related_party`.
    """
    need_claimable(job, now_ms)
    if seller == job.creator:
        raise Refused("related_party", "who offers a job does not work it")
    due_at_ms = due_at(job, now_ms)
    grace_ends_at_ms = due_at_ms + job.grace_s * SECOND_MS
    return Claim(
        id=claim_id,
        job_id=job.id,
        job_title=job.title,
        seller=seller,
        buyer=job.creator,
        state=ClaimState.CLAIMED,
        currency=job.currency,
        amount_micro=job.amount_micro,
        fee_micro=job.amount_micro * job.fee_bps // 10_000,
        acceptance=job.acceptance,
        category=job.category,
        task_class=job.task_class.value,
        spec_digest=job.spec_digest,
        claimed_at_ms=now_ms,
        start_at_ms=now_ms,
        due_at_ms=due_at_ms,
        grace_ends_at_ms=grace_ends_at_ms,
        auto_extend=job.auto_extend,
        auto_release_s=job.auto_release_s,
        revise_s=job.revise_s,
        revisions_left=job.revisions_max,
        related=related,
        wake_ms=grace_ends_at_ms,  # as `with_wake` would have it
    )


def start(claim: Claim, now_ms: int) -> ClaimTransition:
    """The seller begins. Raises `Refused` as `moving.begin` does, like every step."""
    return begin(claim, "start", Actor.SELLER, now_ms).taken()


def submit(claim: Claim, now_ms: int, terms: Terms, root: str) -> ClaimTransition:
    """Evidence is handed in as a new revision, `root` its digest; the review time begins.

    Until grace ends (late after the deadline), until `revise_by_ms`, or in the place of a revision not yet judged.
    Raises `Refused`: `claim_state`, `claim_expired`, `limit_reached`.
    """
    step = begin(claim, "submit_evidence", Actor.SELLER, now_ms)
    again = claim.state is ClaimState.SUBMITTED
    if again and claim.verdict:
        raise refusal(claim.state, "this revision has its verdict: it is not replaced")
    if again and claim.submissions >= terms.submissions_max:
        raise Refused("limit_reached", f"evidence is handed in at most {terms.submissions_max} times for one request")
    review_ends_at_ms = now_ms + claim.auto_release_s * SECOND_MS
    late = claim.state is not ClaimState.CHANGES_REQUESTED and is_overdue(claim, now_ms)
    after = replace(
        claim,
        revision=claim.revision + 1,
        submissions=claim.submissions + 1 if again else 1,
        submitted_at_ms=now_ms,
        review_ends_at_ms=review_ends_at_ms,
        unjudged_at_ms=review_ends_at_ms + terms.unjudged_s * SECOND_MS,
        revise_by_ms=None,
        evidence_root=root,
        verdict="",
        escalated=False,
        late=claim.late or late,
        extension_asked_at_ms=None,
        extension_asked_s=0,
        cancel_asked_by=None,
    )
    return step.taken(after, *((SignalKind.LATE,) if late else ()))


def cancel(claim: Claim, now_ms: int, reason: str = "") -> ClaimTransition:
    """The seller gives up: the job is free again, or the money goes back if work was sent back."""
    step = begin(claim, "cancel", Actor.SELLER, now_ms)
    if claim.state is ClaimState.CHANGES_REQUESTED:
        kind = SignalKind.WITHDREW
    else:
        kind = SignalKind.LATE_CANCEL if is_overdue(claim, now_ms) else SignalKind.EARLY_CANCEL
    return step.taken(replace(claim, reason=reason), kind)


def buyer_cancel(claim: Claim, now_ms: int, reason: str = "") -> ClaimTransition:
    """The buyer takes it back before work has started and before the deadline."""
    step = begin(claim, "buyer_cancel", Actor.BUYER, now_ms)
    if is_overdue(claim, now_ms):
        raise refusal(claim.state, "the claim is overdue: refund it instead")
    return step.taken(replace(claim, reason=reason))


def ask_mutual_cancel(claim: Claim, role: Actor, now_ms: int) -> ClaimTransition:
    """One side asks to call it off; it ends when the other has asked too. `role`: seller or buyer.

    The event is `cancel_asked` (the state stays) or `mutual_cancel`.
    """
    step = begin(claim, "mutual_cancel", Actor.BOTH, now_ms)
    if claim.cancel_asked_by not in {None, role.value}:
        return step.taken(replace(claim, cancel_asked_by=None))
    asked = replace(claim, cancel_asked_by=role.value)
    return ClaimTransition(claim=asked, event="cancel_asked", actor=role)


def buyer_refund(claim: Claim, now_ms: int) -> ClaimTransition:
    """The buyer waits no longer than the deadline."""
    step = begin(claim, "buyer_refund", Actor.BUYER, now_ms)
    if not is_overdue(claim, now_ms):
        raise refusal(claim.state, "the deadline has not passed")
    return step.taken(None, SignalKind.MISSED_DEADLINE)
