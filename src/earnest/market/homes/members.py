"""The members of a home, each as it is written: names, types and units of market ruling a.2."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from earnest.accountability.agreement import FIRST_USE
from earnest.accountability.tiers import Penalty, message_of
from earnest.client import payloads_home as shown
from earnest.client.payloads import RequirementSummary
from earnest.foundation.instants import SECOND_MS, rfc3339_s
from earnest.identity.account import AccountStatus
from earnest.ledger.payout import PayoutState
from earnest.market.claims.claim import WORKING, Claim, ClaimState
from earnest.market.claims.deadlines import deadline
from earnest.market.claims.extension import policy_max_s
from earnest.market.disputes.dispute import Dispute
from earnest.market.homes.cadence import HeartbeatHealth, is_awaited, total_s, unread
from earnest.market.homes.given import Duty, HomeInput, Match, Outlook, TestOffer, Unreviewed
from earnest.market.homes.priority import ends_at_ms
from earnest.market.jobs.capacity import Capacity
from earnest.market.terms import Terms

NextAction: TypeAlias = Literal["start_work", "submit_evidence", "revise", "wait", "none"]
TEST_MINUTES: Final = 5
NEXT_ACTION: Final[Mapping[ClaimState, NextAction]] = {
    ClaimState.CLAIMED: "start_work",
    ClaimState.IN_PROGRESS: "submit_evidence",
    ClaimState.CHANGES_REQUESTED: "revise",
    ClaimState.SUBMITTED: "wait",
    ClaimState.VERIFIED: "wait",
    ClaimState.DISPUTED: "wait",
}
"""Of the other states: none."""

BEGUN: Final = frozenset({ClaimState.CLAIMED, ClaimState.IN_PROGRESS})
ON_ITS_WAY: Final = frozenset({PayoutState.REQUESTED, PayoutState.APPROVED, PayoutState.SENT})
FAILED: Final = frozenset({PayoutState.FAILED, PayoutState.RETURNED})
RELATED: Final = (
    "{} open jobs of the kinds that it does come from its own owner, and are not offered: agents of one owner prove"
    " nothing to each other. Where one person tries a market alone, `earnest serve --practice` gives each an owner."
)
SILENCE_RELEASES: Final = "clock:review_ended"


def whole(
    read: HomeInput, seen: Outlook, now_ms: int, terms: Terms, *, account: shown.MyAccount, actions: list[shown.Action]
) -> shown.Home:
    """A home without its hash and its next look, which are computed over all of it."""
    attention = _wallet(read, terms)
    return {
        "format": "home-v1",
        "state_hash": "",
        "your_account": account,
        "open_claims": [_claim(claim, read.requirements, now_ms, terms) for claim in read.claims],
        "pending_reviews": [_review(review, terms) for review in read.reviews],
        "test_jobs_available": [_test(test, terms) for test in seen.tests],
        "matching_jobs": [_match(match) for match in seen.matches],
        "active_disputes": [_dispute(dispute, read.account.id) for dispute in read.disputes],
        "work_to_judge": [_judged(claim) for claim in read.to_judge],
        "wallet_attention": attention,
        "human_attention": [*_human_attention(read, attention, now_ms), *_duty_attention(read.duty)],
        "accountability": None if read.duty is None else _duty(read.duty),
        "what_to_do_next": [action["text"] for action in actions],
        "actions": actions,
        "next_check_in_after": "",
    }


def account_member(read: HomeInput, room: Capacity, found: HeartbeatHealth, expected_s: int) -> shown.MyAccount:
    """`your_account`. Its `heartbeat` is as the agent was found: this look has not counted yet."""
    purse = read.purse
    return {
        "id": read.account.id,
        "handle": read.account.handle,
        "status": read.account.status.value,
        "balance_micro": purse.available_micro + purse.clearing_micro,
        "withdrawable_micro": _withdrawable_micro(read),
        "currency": purse.currency,
        "held_micro": purse.held_micro,
        "pending_micro": purse.clearing_micro,
        "capacity": {"max": room.max, "used": room.used, "free": room.free},
        "heartbeat": {"health": found.value, "expected_every_s": expected_s},
    }


def on_time_until_ms(review: Unreviewed, terms: Terms) -> int:
    """Until when a review is not late."""
    return review.closes_at_ms - (terms.review_closes_s - terms.review_on_time_s) * SECOND_MS


def _claim(claim: Claim, requirements: Mapping[str, str], now_ms: int, terms: Terms) -> shown.OpenClaim:
    left_s = (claim.due_at_ms - now_ms) // SECOND_MS
    needed = json.loads(requirements.get(claim.job_id, "[]"))
    longest_s = _extension_max_s(claim, terms) if claim.state in BEGUN and left_s > 0 else 0
    return {
        "claim_id": claim.id,
        "job_id": claim.job_id,
        "job_title": claim.job_title,
        "state": claim.state.value,
        "claimed_at": rfc3339_s(claim.claimed_at_ms),
        "deadline_at": rfc3339_s(claim.due_at_ms),
        "hours_remaining": max(0, left_s // 3_600) if claim.state in WORKING else 0,
        "seconds_total": total_s(claim),
        "grace_ends_at": rfc3339_s(ends_at_ms(claim)),
        "amount_micro": claim.amount_micro,
        "currency": claim.currency,
        "next_action": NEXT_ACTION.get(claim.state, "none"),
        "extension": {
            "allowed": longest_s > 0,
            "max_s": longest_s,
            "requested_at": rfc3339_s(claim.extension_asked_at_ms),
        },
        "evidence_requirements": [_requirement(one) for one in needed],
    }


def _requirement(kept: Mapping[str, Any]) -> RequirementSummary:
    return {
        "id": kept["id"],
        "kind": kept["kind"],
        "description": kept["description"],
        "required": kept["required"],
        "accept_media": kept["accept_media"],
        "max_bytes": kept["max_bytes"],
        "verifier": kept["verifier"],
    }


def _extension_max_s(claim: Claim, terms: Terms) -> int:
    """What the policy grants at once, the first time; else what the buyer may grant."""
    room_s = max(0, terms.job_work_max_s - total_s(claim))
    if claim.auto_extend and not claim.extended:
        return min(policy_max_s(claim, terms), room_s)
    return room_s


def _review(review: Unreviewed, terms: Terms) -> shown.PendingReview:
    on_time, closes = rfc3339_s(on_time_until_ms(review, terms)), rfc3339_s(review.closes_at_ms)
    whose = "The counterparty has sent theirs; yours publishes both" if review.is_held else "Neither side has sent one"
    return {
        "claim_id": review.claim.id,
        "counterparty_handle": f"@{review.counterparty}",
        "released_at": rfc3339_s(review.claim.ended_at_ms),
        "counterparty_submitted": review.is_held,
        "on_time_until": on_time,
        "closes_at": closes,
        "reminder": f"{whose}. On time until {on_time}, closed from {closes}.",
    }


def _test(test: TestOffer, terms: Terms) -> shown.TestJob:
    return {
        "job_id": test.job_id,
        "category": test.capability.category,
        "task_class": test.capability.task_class,
        "amount_micro": terms.trial_aid_micro,
        "currency": "AID",
        "verifies_capability_id": test.capability.id,
        "attempts_left": test.attempts_left,
        "est_minutes": TEST_MINUTES,
    }


def _match(match: Match) -> shown.MatchingJob:
    job = match.job
    return {
        "job_id": job.id,
        "title": job.title,
        "category": job.category,
        "amount_micro": job.amount_micro,
        "currency": job.currency,
        "deadline_at": rfc3339_s(job.deadline_at_ms),
        "match": match.score,
    }


def _dispute(dispute: Dispute, me: str) -> shown.ActiveDispute:
    awaiting: Literal["me", "them", "arbiter", "none"]
    if is_awaited(dispute, me):
        awaiting = "me"
    elif dispute.awaiting == "arbiter":
        awaiting = "arbiter"
    else:
        awaiting = "them" if dispute.awaiting else "none"
    return {
        "dispute_id": dispute.id,
        "claim_id": dispute.claim_id,
        "role": "raiser" if dispute.raiser == me else "respondent",
        "state": dispute.state.value,
        "awaiting": awaiting,
        "unread": unread(dispute, me),
        "respond_by": rfc3339_s(dispute.respond_by_ms),
        "last_message_at": rfc3339_s(dispute.last_message_at_ms),
    }


def _judged(claim: Claim) -> shown.WorkToJudge:
    by_silence = deadline(claim)
    return {
        "claim_id": claim.id,
        "job_title": claim.job_title,
        "submitted_at": rfc3339_s(claim.submitted_at_ms),
        "review_ends_at": rfc3339_s(claim.review_ends_at_ms),
        "default_if_silent": "release" if by_silence and by_silence.event == SILENCE_RELEASES else "refund",
    }


def _wallet(read: HomeInput, terms: Terms) -> shown.WalletAttention:
    payout = read.payout
    pending: shown.PendingPayout | None = None
    if payout is not None and payout.state in ON_ITS_WAY:
        pending = {
            "payout_id": payout.id,
            "amount_micro": payout.amount_micro,
            "state": payout.state.value,
            "since": rfc3339_s(payout.changed_at_ms or payout.requested_at_ms),
        }
    currency = terms.currencies[read.purse.currency]
    return {
        "pending_payout": pending,
        "below_withdrawal_threshold": currency.can_pay_out
        and 0 < _withdrawable_micro(read) < currency.payout_min_micro,
        "stripe_onboarding_pending": read.account.status is AccountStatus.ONBOARDING,
    }


def _say(code: str, text: str, since_ms: int | None = None) -> shown.HumanAttention:
    """`since` is null where the books do not say."""
    return {"code": code, "text": text, "since": rfc3339_s(since_ms)}


def _human_attention(read: HomeInput, wallet: shown.WalletAttention, now_ms: int) -> Iterator[shown.HumanAttention]:
    """What no heartbeat can settle."""
    if read.account.status is AccountStatus.SUSPENDED:
        yield _say("account_suspended", "The account is suspended: its operator knows why.")
    if wallet["below_withdrawal_threshold"]:
        yield _say("below_withdrawal_threshold", "What has been earned is less than the least that can be paid out.")
    if wallet["stripe_onboarding_pending"]:
        yield _say("stripe_onboarding_pending", "Payouts wait until the onboarding at the payment service is complete.")
    payout = read.payout
    if payout is not None and payout.state in FAILED:
        yield _say(
            "payout_failed", f"Payout {payout.id} did not arrive: it is {payout.state.value}.", payout.changed_at_ms
        )
    for claim in read.claims:
        if claim.state is ClaimState.DECLINED and claim.appeal_ends_at_ms is not None:
            until = rfc3339_s(claim.appeal_ends_at_ms)
            yield _say("claim_declined", f"Claim {claim.id} was declined: it can be disputed before {until}.")
    for dispute in read.disputes:
        if (
            dispute.respond_by_ms is not None
            and dispute.respond_by_ms <= now_ms
            and is_awaited(dispute, read.account.id)
        ):
            yield _say("dispute_overdue", f"Dispute {dispute.id} waits for an answer.", dispute.respond_by_ms)
    if read.related_jobs:
        yield _say("related_jobs", RELATED.format(read.related_jobs))


def _duty(duty: Duty) -> shown.Duty:
    penalty, reward = duty.score.penalty, duty.score.reward
    return {
        "score": duty.day.score,
        "target": duty.day.target,
        "penalty": penalty.value,
        "reward": reward.value,
        "message": message_of(penalty, reward),
        "interval_s": duty.interval_s,
        "next_wake_at": rfc3339_s(duty.agreement.next_wake_ms),
    }


def _duty_attention(duty: Duty | None) -> Iterator[shown.HumanAttention]:
    """What of an agent's promises only its operator can settle."""
    if duty is None:
        return
    agreement, score, day = duty.agreement, duty.score, duty.day
    exhausted, weakened = agreement.exhausted_on(day.date), json.loads(agreement.weakened)
    cases = (
        ("lockdown", score.penalty is Penalty.LOCKDOWN, "The agent is in lockdown.", score.tier_since_ms),
        ("task_exhausted", exhausted, f"No attempts are left today for: {', '.join(exhausted)}.", None),
        ("contract_weakened", weakened, f"The contract was weakened without leave: {', '.join(weakened)}.", None),
        (
            "contract_not_accepted",
            agreement.pinned_by == FIRST_USE,
            "The contract is the one that the agent showed first: accept it, or give another.",
            agreement.pinned_at_ms,
        ),
        ("verdict_waits", duty.waiting, "Tasks wait for the operator's verdict.", None),
        (
            "target_out_of_reach",
            agreement.possible < day.target,
            f"A whole day can earn {agreement.possible} points, and the target is {day.target}.",
            None,
        ),
    )
    for code, holds, text, since_ms in cases:
        if holds:
            yield _say(code, text, since_ms)


def _withdrawable_micro(read: HomeInput) -> int:
    return max(0, read.purse.available_micro - read.purse.reserved_micro)
