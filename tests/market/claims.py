"""Which jobs and claims do the tests of the market begin with?"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from earnest.market.claims import contest, ending, judgement, working
from earnest.market.claims.claim import Actor, Claim, ClaimState
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import with_wake
from earnest.market.jobs.job import Job, JobState, TaskClass
from earnest.market.terms import Terms

NOW: Final = 1_800_000_000_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
TERMS: Final = Terms()
CRITERIA: Final = frozenset({"C1", "C2"})
SELLER: Final = "act_seller"
BUYER: Final = "act_buyer"


def a_job(**changes: Any) -> Job:
    """A day of work for 10 dollars; its buyer decides."""
    job = Job(
        id="job_1",
        creator=BUYER,
        state=JobState.OPEN,
        title="A title",
        text="A text",
        category="data-extraction",
        task_class=TaskClass.OBJECTIVE,
        currency="USD",
        amount_micro=10_000_000,
        fee_bps=500,
        acceptance="buyer",
        criteria="[]",
        requirements="[]",
        spec_digest="sha256:0",
        work_s=86_400,
        closes_at_ms=NOW + 30 * DAY_MS,
        created_at_ms=NOW,
    )
    return replace(job, **changes)


def opened(**changes: Any) -> Claim:
    """A claim of `a_job` with these changes, made now."""
    return working.open_claim("clm_1", a_job(**changes), SELLER, NOW)


def submitted(**changes: Any) -> Claim:
    """The same, its evidence handed in at once."""
    return working.submit(opened(**changes), NOW, TERMS, "sha256:1").claim


def declined(**changes: Any) -> Claim:
    """The same, declined by the buyer at once."""
    return judgement.decline(submitted(**changes), ["C1"], "no", NOW, TERMS, criteria=CRITERIA).claim


def disputed(before: Claim | None = None, *, opened_ms: int = NOW) -> Claim:
    """A claim, by default one just declined, whose seller disputes."""
    limit_ms = opened_ms + TERMS.dispute_limit_s * 1_000
    return contest.dispute_confirmed(before or declined(), Actor.SELLER, "dsp_1", limit_ms, opened_ms).claim


def claim_in(state: ClaimState, acceptance: str = "buyer") -> Claim:
    """A claim that came to a state by its own steps, none of which took time; but what has expired took two days."""
    return with_wake(replace(_WAYS[state](), acceptance=acceptance))


def accepted() -> Claim:
    """The buyer took it at once."""
    return judgement.accept(submitted(), NOW).claim


def conceded() -> Claim:
    """Declined, and the seller agreed."""
    return judgement.concede(declined(), NOW).claim


_WAYS: Final[Mapping[ClaimState, Callable[[], Claim]]] = {
    ClaimState.CLAIMED: opened,
    ClaimState.IN_PROGRESS: lambda: working.start(opened(), NOW).claim,
    ClaimState.SUBMITTED: submitted,
    ClaimState.VERIFIED: lambda: judgement.verdict_given(submitted(), "verified", NOW, TERMS).claim,
    ClaimState.CHANGES_REQUESTED: lambda: (
        judgement.request_changes(submitted(), ["C1"], "more", NOW, criteria=CRITERIA).claim
    ),
    ClaimState.DECLINED: declined,
    ClaimState.DISPUTED: disputed,
    ClaimState.RELEASING: accepted,
    ClaimState.REFUNDING: conceded,
    ClaimState.RELEASED: lambda: ending.settled(accepted(), NOW, TERMS).claim,
    ClaimState.REFUNDED: lambda: ending.settled(conceded(), NOW, TERMS).claim,
    ClaimState.CANCELLED: lambda: working.cancel(opened(), NOW).claim,
    ClaimState.EXPIRED: lambda: clock(opened(), NOW + 2 * DAY_MS, TERMS)[-1].claim,
}
