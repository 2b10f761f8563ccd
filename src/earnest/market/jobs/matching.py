"""The open jobs and test jobs that are for somebody."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from earnest.foundation.errors import Refused
from earnest.market.capabilities.capability import Capability, CapabilityState, Trial
from earnest.market.capabilities.generators.registry import generators_for
from earnest.market.capabilities.trial import attempts_left, trial_id_of
from earnest.market.claims.claim import Claim
from earnest.market.homes.given import Match, TestOffer
from earnest.market.jobs.capacity import is_available, need_room
from earnest.market.jobs.job import Job, JobState
from earnest.market.terms import Terms

MATCHES_MAX: Final = 5
UNTESTED: Final = frozenset({CapabilityState.DECLARED, CapabilityState.LAPSED})
MATCH_BASE: Final = 500
MATCH_VERIFIED: Final = 200
MATCH_PRICE: Final = 300


def matches(
    jobs: Collection[Job], capabilities: Sequence[Capability], claims: Sequence[Claim], now_ms: int, terms: Terms
) -> tuple[Match, ...]:
    """The best that there is room for, the best first; equal ones by id. `claims`: what is worked on already."""
    able_now = [able for able in capabilities if _is_offered(able, now_ms)]
    kinds = {(job.category, job.task_class, job.currency): job for job in jobs}
    with_room = {kind for kind, job in kinds.items() if _has_room(job, capabilities, claims, terms)}
    found = [
        Match(job=job, score=max(scores))
        for job in jobs
        if job.state is JobState.OPEN
        and now_ms < job.closes_at_ms
        and (job.category, job.task_class, job.currency) in with_room
        and (scores := [_score(job, able) for able in able_now if _fits(job, able)])
    ]
    return tuple(sorted(found, key=lambda match: (-match.score, match.job.id))[:MATCHES_MAX])


def _is_offered(able: Capability, now_ms: int) -> bool:
    return not able.removed and able.state is not CapabilityState.REVOKED and is_available(able, now_ms)


def _has_room(job: Job, capabilities: Sequence[Capability], claims: Sequence[Claim], terms: Terms) -> bool:
    """For one more job of this kind."""
    try:
        need_room(job, capabilities, claims, terms)
    except Refused:
        return False
    return True


def _fits(job: Job, able: Capability) -> bool:
    kind = (able.category, able.task_class, able.currency)
    return kind == (job.category, job.task_class, job.currency) and able.floor_micro <= job.amount_micro


def _score(job: Job, able: Capability) -> int:
    """Half for the kind of work, the rest for the badge and for how far the price is over the floor."""
    verified = MATCH_VERIFIED if able.state is CapabilityState.VERIFIED else 0
    return MATCH_BASE + verified + MATCH_PRICE * (job.amount_micro - able.floor_micro) // max(1, job.amount_micro)


def test_offers(
    capabilities: Iterable[Capability], trials: Sequence[Trial], now_ms: int, terms: Terms
) -> tuple[TestOffer, ...]:
    """One for each capability that has shown nothing yet or no longer; while a test job runs, only that one."""
    running = next((trial for trial in trials if trial.state == "running"), None)
    return tuple(
        TestOffer(
            capability=able, job_id=running.id if running else trial_id_of(able), attempts_left=left, running=running
        )
        for able in capabilities
        if not able.removed
        and generators_for(able.category)
        and ((left := attempts_left(able, trials, now_ms, terms)) > 0 or running is not None)
        and (able.id == running.capability_id if running else able.state in UNTESTED)
    )
