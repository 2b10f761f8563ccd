"""Values that homes are built from, with what a test does not care about filled in."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from earnest.foundation.canonical import JsonObject
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.ledger.payout import Payout, PayoutState
from earnest.market.capabilities.capability import Capability, CapabilityState, Trial
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.disputes.dispute import Dispute, DisputeState
from earnest.market.homes.given import HomeInput, Unreviewed
from earnest.market.homes.home import Home, build
from earnest.market.jobs.job import Job, JobState, TaskClass
from earnest.market.terms import Terms

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
ME, OTHER = "act_ME", "act_OTHER"
TERMS = Terms()


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp()) * 1_000


NOW = ms("2026-05-04T12:00:00Z")
ALWAYS = json.dumps({"max_concurrent": 3, "paused": False, "hours": []})


def account(**changes: Any) -> Account:
    values = {
        "id": ME,
        "handle": "worker",
        "kind": AccountKind.AGENT,
        "status": AccountStatus.PAYOUTS_ENABLED,
        "created_at_ms": NOW - 100 * DAY_MS,
    }
    return Account(**{**values, **changes})


def claim(name: str = "clm_1", *, hours: int = 24, left_s: int = 6 * 3_600, **changes: Any) -> Claim:
    """A claim of mine under way, `hours` in all, due `left_s` from now."""
    due = NOW + left_s * 1_000
    values: dict[str, Any] = {
        "id": name,
        "job_id": f"job_{name}",
        "job_title": "Write it",
        "seller": ME,
        "buyer": OTHER,
        "state": ClaimState.IN_PROGRESS,
        "currency": "USD",
        "amount_micro": 2_000_000,
        "fee_micro": 100_000,
        "acceptance": "buyer",
        "category": "writing",
        "task_class": "objective",
        "spec_digest": "sha256:0",
        "claimed_at_ms": due - hours * HOUR_MS,
        "start_at_ms": due - hours * HOUR_MS,
        "due_at_ms": due,
        "grace_ends_at_ms": due + DAY_MS,
        "auto_extend": True,
        "auto_release_s": 259_200,
        "revise_s": 86_400,
        "revisions_left": 2,
    }
    return Claim(**{**values, **changes})


def unreviewed(name: str = "clm_r", *, is_held: bool, closes_in_ms: int = 10 * DAY_MS) -> Unreviewed:
    closes = NOW + closes_in_ms
    done = replace(
        claim(name, left_s=-99 * 3_600),
        state=ClaimState.RELEASED,
        ended_at_ms=closes - 14 * DAY_MS,
        reviews_close_at_ms=closes,
    )
    return Unreviewed(claim=done, closes_at_ms=closes, counterparty="maya_r", is_held=is_held)


def dispute(name: str = "dsp_1", **changes: Any) -> Dispute:
    values: dict[str, Any] = {
        "id": name,
        "claim_id": "clm_d",
        "revision": 1,
        "raiser": OTHER,
        "respondent": ME,
        "state": DisputeState.OPEN,
        "currency": "USD",
        "amount_micro": 9_000_000,
        "stake_micro": 1_000_000,
        "reason": "",
        "criteria": "[]",
        "opened_at_ms": NOW - DAY_MS,
        "stake_by_ms": NOW - DAY_MS,
        "hard_limit_ms": NOW + 20 * DAY_MS,
        "respond_by_ms": NOW + 4 * DAY_MS,
        "awaiting": "respondent",
        "respondent_unread": 1,
        "last_message_at_ms": NOW - DAY_MS,
    }
    return Dispute(**{**values, **changes})


def capability(name: str = "cap_01J0000000AAAAAAAAAAAAAAAA", **changes: Any) -> Capability:
    values: dict[str, Any] = {
        "id": name,
        "account_id": ME,
        "category": "code-generation",
        "task_class": "objective",
        "state": CapabilityState.VERIFIED,
        "declared_at_ms": NOW - 9 * DAY_MS,
        "availability": ALWAYS,
        "currency": "USD",
    }
    return Capability(**{**values, **changes})


def trial(name: str = "job_test_9", **changes: Any) -> Trial:
    values: dict[str, Any] = {
        "id": name,
        "account_id": ME,
        "capability_id": capability().id,
        "category": "code-generation",
        "task_class": "objective",
        "generator": "g",
        "hidden": False,
        "state": "failed",
        "question": "{}",
        "secret": "{}",
        "commitment": "",
        "model_fingerprint": "",
        "amount_micro": 10_000,
        "currency": "AID",
        "started_at_ms": NOW - HOUR_MS,
        "expires_at_ms": NOW - HOUR_MS // 2,
    }
    return Trial(**{**values, **changes})


def job(name: str = "job_1", **changes: Any) -> Job:
    values: dict[str, Any] = {
        "id": name,
        "creator": OTHER,
        "state": JobState.OPEN,
        "title": "A program",
        "text": "",
        "category": "code-generation",
        "task_class": TaskClass.OBJECTIVE,
        "currency": "USD",
        "amount_micro": 5_000_000,
        "fee_bps": 500,
        "acceptance": "machine",
        "criteria": "[]",
        "requirements": "[]",
        "spec_digest": "sha256:0",
        "work_s": 86_400,
        "closes_at_ms": NOW + 30 * DAY_MS,
        "created_at_ms": NOW - HOUR_MS,
    }
    return Job(**{**values, **changes})


def payout(state: PayoutState) -> Payout:
    return Payout(
        id="pay_1",
        account_id=ME,
        currency="USD",
        amount_micro=9,
        state=state,
        rail="manual",
        destination="",
        requested_at_ms=NOW,
    )


def home(now_ms: int = NOW, *, explain: bool = False, **read: Any) -> Home:
    """What is built for an account with this."""
    whole = HomeInput(**{"account": account(), "requirements": {}, "seen_at_ms": NOW, **read})
    return build(whole, now_ms, TERMS, explain=explain)


def body(now_ms: int = NOW, *, explain: bool = False, **read: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", home(now_ms, explain=explain, **read).body)


def classes(shown: JsonObject) -> list[tuple[int, str]]:
    """Priority and subject of each action, in order."""
    return [(each["priority"], each["subject_id"]) for each in cast("list[Any]", shown["actions"])]
