"""What time alone does to jobs and claims, and the story that the clock calls for each table."""

from collections.abc import Mapping
from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.ledger import service as ledger
from earnest.market import settlement
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import with_wake
from earnest.market.claims.ending import earnings_cleared
from earnest.market.jobs.job import Job, due_event, lapsed, window_ended
from earnest.market.reviews.standing import standing
from earnest.market.service import APPLICATIONS, CLAIMS, JOBS
from earnest.market.terms import Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market import capabilities, disputing, presence, trials
from earnest.runtime.market.claiming import open_claim
from earnest.runtime.market.reviewing import close_reviews
from earnest.runtime.market.settling import advance, save_job, settle
from earnest.runtime.timers import Due

APPLICANTS_MAX = 100


def claim_due(entry: StoryContext, terms: Terms, claim_id: str) -> JsonObject:
    """Everything whose time has come for a claim: its clocks, another try to settle, clearing, the end of reviews."""
    claim = CLAIMS.find(entry.transaction, claim_id)
    for moved in clock(claim, entry.now_ms, terms):
        claim = advance(entry, terms, claim, moved)
    if claim.settle_at_ms is not None and claim.settle_at_ms <= entry.now_ms:
        claim = settle(entry, terms, claim)
    if claim.clears_at_ms is not None and not claim.cleared and claim.clears_at_ms <= entry.now_ms:
        claim = _clear(entry, claim)
    if claim.reviews_close_at_ms is not None and claim.reviews_close_at_ms <= entry.now_ms:
        claim = close_reviews(entry, claim)
    return {"claim_id": claim.id, "state": claim.state.value}


def job_due(entry: StoryContext, terms: Terms, job_id: str) -> JsonObject:
    """A job that nobody claimed in time lapses; one whose applicants have waited is given to the best of them."""
    job = JOBS.find(entry.transaction, job_id)
    match due_event(job, entry.now_ms):
        case "lapsed":
            job = save_job(entry, job, lapsed(job, entry.now_ms), "lapsed")
        case "window_ended":
            job = save_job(entry, job, window_ended(job), "window_ended")
            _choose(entry, terms, job)
    return {"job_id": job.id, "state": job.state.value}


def _choose(entry: StoryContext, terms: Terms, job: Job) -> None:
    """The applicant with the best reputation who has room for it, the earlier of two that are alike."""
    applicants = APPLICATIONS.where(
        entry.transaction, "job_id = ? ORDER BY applied_at_ms, id LIMIT ?", (job.id, APPLICANTS_MAX)
    )
    ranked = sorted(
        (one.account_id for one in applicants),
        key=lambda account: standing(entry.transaction, account, entry.now_ms).lower_bound_ppm,
        reverse=True,
    )
    for account in ranked:
        try:
            open_claim(entry, terms, job, account)
        except Refused:  # no room now, or suspended since: the next
            continue
        return


def _clear(entry: StoryContext, claim: Claim) -> Claim:
    """The seller may spend what the claim brought."""
    job = JOBS.find(entry.transaction, claim.job_id)
    if claim.state is ClaimState.RELEASED:
        ledger.post(entry.transaction, settlement.cleared(claim, job.fee_bps, entry.now_ms))
    cleared = with_wake(earnings_cleared(claim))
    CLAIMS.change(entry.transaction, entry.now_ms, claim, cleared, event="cleared", touching=(claim.seller,))
    return cleared


TIMETABLE: Final[Mapping[str, tuple[str, Due]]] = {
    "jobs": ("id", job_due),
    "claims": ("id", claim_due),
    "disputes": ("id", disputing.due),
    "capabilities": ("id", capabilities.due),
    "trials": ("id", trials.due),
    "presences": ("account_id", presence.due),
}
"""Every table whose rows wake for what a transaction alone can do: its key, and the story."""
