"""Who takes or rejects work: its buyer, or the operator where nobody else can judge."""

import json
from collections.abc import Callable, Sequence
from typing import Final

from earnest.client.payloads import ClaimMoved
from earnest.foundation.errors import Refused
from earnest.identity.key import Scope
from earnest.identity.service import ACCOUNTS
from earnest.market.claims import judgement
from earnest.market.claims.claim import Actor, Claim, role_of
from earnest.market.claims.judgement import check_quota
from earnest.market.claims.moving import ClaimTransition
from earnest.market.jobs.capacity import need_neutral
from earnest.market.jobs.job import Job
from earnest.market.service import CLAIMS, JOBS
from earnest.market.terms import DAY_S, Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.claiming import MAY_BUY, told
from earnest.runtime.market.settling import advance

WEEK_MS: Final = 7 * DAY_S * 1_000


def accept(entry: StoryContext, terms: Terms, claim_id: str) -> ClaimMoved:
    """The buyer takes the work: it is paid in the same transaction."""
    return _buyer(entry, terms, claim_id, lambda claim: judgement.accept(claim, entry.now_ms))


def undecline(entry: StoryContext, terms: Terms, claim_id: str) -> ClaimMoved:
    """The buyer takes declined work after all."""
    return _buyer(entry, terms, claim_id, lambda claim: judgement.undecline(claim, entry.now_ms))


def request_changes(entry: StoryContext, terms: Terms, claim_id: str, reason: str, cited: Sequence[str]) -> ClaimMoved:
    """The buyer sends the work back. Raises `Refused("criterion_required")` for a criterion that the job has not."""

    def step(claim: Claim) -> ClaimTransition:
        criteria = criteria_of(JOBS.find(entry.transaction, claim.job_id))
        return judgement.request_changes(claim, cited, reason, entry.now_ms, criteria=criteria)

    return _buyer(entry, terms, claim_id, step)


def decline(entry: StoryContext, terms: Terms, claim_id: str, reason: str, cited: Sequence[str]) -> ClaimMoved:
    """The buyer rejects the work. Raises `Refused`: `criterion_required`, `decline_quota`."""

    def step(claim: Claim) -> ClaimTransition:
        criteria = criteria_of(JOBS.find(entry.transaction, claim.job_id))
        moved = judgement.decline(claim, cited, reason, entry.now_ms, terms, criteria=criteria)
        declined, judged = _judged(entry, terms)
        check_quota(declined, judged, terms)
        return moved

    return _buyer(entry, terms, claim_id, step)


def decide_job(
    entry: StoryContext, terms: Terms, job_id: str, reason: str, cited: Sequence[str], *, approved: bool
) -> ClaimMoved:
    """Approve or reject the submitted work of a job, as whoever its acceptance names (`POST /jobs/{id}/review`).

    Without `cited`, a rejection means every criterion. Raises `Refused`: `not_found`, `not_a_party`, `related_party`,
    `claim_state`.
    """
    entry.me.need(*MAY_BUY)
    job = JOBS.find(entry.transaction, job_id)
    claim = _live_or_newest(entry, job)
    if claim is None:
        raise Refused("claim_state", "nobody has claimed this job", state="open", allowed_events=[])
    cited = cited or sorted(criteria_of(job))
    if entry.me.is_operator and entry.me.id != claim.buyer:
        entry.me.need(Scope.OPERATOR)
        need_neutral(
            entry.me.account, *(ACCOUNTS.find(entry.transaction, side) for side in (claim.seller, claim.buyer))
        )
        if approved:
            moved = judgement.human_pass(claim, reason, entry.now_ms)
        else:
            moved = judgement.human_fail(claim, cited, reason, entry.now_ms, terms, criteria=criteria_of(job))
        return told(advance(entry, terms, claim, moved))
    if approved:
        return accept(entry, terms, claim.id)
    return decline(entry, terms, claim.id, reason, cited)


def criteria_of(job: Job) -> frozenset[str]:
    """The ids of a job's criteria."""
    return frozenset(str(one["id"]) for one in json.loads(job.criteria))


def _buyer(entry: StoryContext, terms: Terms, claim_id: str, step: Callable[[Claim], ClaimTransition]) -> ClaimMoved:
    entry.me.need(*MAY_BUY)
    claim = CLAIMS.find(entry.transaction, claim_id)
    role_of(claim, entry.me.id, Actor.BUYER)
    return told(advance(entry, terms, claim, step(claim)))


def _live_or_newest(entry: StoryContext, job: Job) -> Claim | None:
    """The claim that can be decided; without one, one whose state says why. Ids tell nothing within a second."""
    if job.live_claim is not None:
        return CLAIMS.find(entry.transaction, job.live_claim)
    return next(CLAIMS.where(entry.transaction, "job_id = ? ORDER BY id DESC LIMIT 1", (job.id,)), None)


def _judged(entry: StoryContext, terms: Terms) -> tuple[int, int]:
    """How many claims the buyer declined, and judged at all, in the last week.

    A decline is as old as the appeal that it opened, whatever became of it since; other judgements end the claim.
    """
    sql = (
        "SELECT count(CASE WHEN declined_by = 'buyer' THEN 1 END), count(*) FROM claims WHERE buyer = ?"
        " AND state IN ('declined', 'disputed', 'releasing', 'refunding', 'refunded', 'released')"
        " AND coalesce(appeal_ends_at_ms - ?, ended_at_ms) >= ?"
    )
    parameters = (entry.me.id, terms.appeal_s * 1_000, entry.now_ms - WEEK_MS)
    declined, judged = entry.transaction.execute(sql, parameters).fetchone()
    return int(declined), int(judged)
