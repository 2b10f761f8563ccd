"""When a claim is due, when the clock does something with it, and what a dispute stops."""

import json
from dataclasses import dataclass
from typing import Final

from earnest.contracts.spec import Acceptance
from earnest.foundation.instants import SECOND_MS
from earnest.foundation.shapes import replace
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.jobs.job import Job
from earnest.verification.verdict import Answer


def due_at(job: Job, now_ms: int) -> int:
    """The deadline of a claim that is made now."""
    due_at_ms = now_ms + job.work_s * SECOND_MS
    return due_at_ms if job.deadline_at_ms is None else min(due_at_ms, job.deadline_at_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """`state` is where the claim was at `at_ms`, with `left_ms` to go. At `limit_ms` the last verdict decides."""

    state: ClaimState
    at_ms: int
    left_ms: int
    limit_ms: int

    def text(self) -> str:
        """As `Claim.frozen` holds it."""
        values = {"at_ms": self.at_ms, "left_ms": self.left_ms, "limit_ms": self.limit_ms, "state": self.state.value}
        return json.dumps(values)

    def pause_ms(self, now_ms: int, least_s: int) -> int:
        """By how much the clocks move when it goes on: the time of the dispute, and what is missing to `least_s`."""
        return now_ms - self.at_ms + max(0, least_s * SECOND_MS - self.left_ms)


def frozen(claim: Claim) -> Frozen:
    """What a disputed claim was."""
    values = json.loads(claim.frozen)
    return Frozen(
        state=ClaimState(values["state"]),
        at_ms=values["at_ms"],
        left_ms=values["left_ms"],
        limit_ms=values["limit_ms"],
    )


OPERATOR_ASKED: Final = "clock:operator_asked"
"""Nobody has judged the work by the end of its review time. No step of the table: the state stays."""

SILENT: Final = frozenset({Acceptance.BUYER, Acceptance.PROPOSER})
"""Whose silence releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """At `at_ms` the clock takes the step `event`."""

    at_ms: int
    event: str


def deadline(claim: Claim) -> Deadline | None:
    """What ends the state that a claim is in if nobody does anything. None: the ledger ends it, or it is an end."""
    match claim.state:
        case ClaimState.CLAIMED | ClaimState.IN_PROGRESS:
            return Deadline(at_ms=claim.grace_ends_at_ms, event="clock:grace_ended")
        case ClaimState.SUBMITTED | ClaimState.VERIFIED:
            return _review_deadline(claim)
        case ClaimState.CHANGES_REQUESTED:
            return Deadline(at_ms=_known(claim.revise_by_ms), event="clock:revise_ended")
        case ClaimState.DECLINED:
            return Deadline(at_ms=_known(claim.appeal_ends_at_ms), event="clock:appeal_ended")
        case ClaimState.DISPUTED:
            failed = claim.last_verdict == Answer.NOT_VERIFIED
            event = "clock:ruling_default_refund" if failed else "clock:ruling_default_pay"
            return Deadline(at_ms=frozen(claim).limit_ms, event=event)
        case _:
            return None


def is_the_buyers(claim: Claim) -> bool:
    """True where the buyer's silence accepts: they do, or they left the machine unable to tell."""
    return claim.acceptance in SILENT or _is_by_their_fault(claim)


def counting_verdict(claim: Claim) -> str:
    """What the clock rules a dispute by: the last machine verdict; what the buyer made unclear counts as met."""
    return Answer.VERIFIED if _is_by_their_fault(claim) else claim.last_verdict


def _is_by_their_fault(claim: Claim) -> bool:
    """True where the buyer's own files or probes left the machine unable to tell."""
    return claim.acceptance == Acceptance.MACHINE and claim.verdict == Answer.UNCLEAR and not claim.escalated


def _review_deadline(claim: Claim) -> Deadline:
    """Silence of who accepts releases. Where a machine or the operator decides, and after a no, it refunds later."""
    if is_the_buyers(claim) and claim.last_verdict != Answer.NOT_VERIFIED:
        return Deadline(at_ms=_known(claim.review_ends_at_ms), event="clock:review_ended")
    return Deadline(at_ms=_known(claim.unjudged_at_ms), event="clock:review_lapsed")


def next_deadline(claim: Claim) -> Deadline | None:
    """What the clock does next: `deadline`, or before it asking the operator."""
    due = deadline(claim)
    if due is not None and due.event == "clock:review_lapsed" and not claim.escalated:
        return Deadline(at_ms=_known(claim.review_ends_at_ms), event=OPERATOR_ASKED)
    return due


def with_wake(claim: Claim) -> Claim:
    """The claim with the next instant at which the clock, the ledger, clearing or the reviews have something to do."""
    due = next_deadline(claim)
    instants = (
        due.at_ms if due else None,
        claim.settle_at_ms,
        None if claim.cleared else claim.clears_at_ms,
        None if claim.reviews_published_at_ms is not None else claim.reviews_close_at_ms,
    )
    wake_ms = min((at_ms for at_ms in instants if at_ms is not None), default=None)
    return claim if claim.wake_ms == wake_ms else replace(claim, wake_ms=wake_ms)


def _known(at_ms: int | None) -> int:
    assert at_ms is not None, "a claim has the instants of its state"
    return at_ms
