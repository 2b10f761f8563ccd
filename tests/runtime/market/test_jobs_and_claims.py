"""A job from its posting to its end, on a real database, by stories alone."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from earnest.contracts.spec import Acceptance
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Refused
from earnest.identity.account import suspended
from earnest.identity.key import Caller, Scope
from earnest.identity.service import ACCOUNTS
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.jobs.job import JobState, TaskClass
from earnest.market.jobs.offer import Offer, Requirement
from earnest.market.service import CLAIMS, JOBS, SUBMISSIONS
from earnest.runtime.desk import StoryContext
from earnest.runtime.judging import linted
from earnest.runtime.market import claiming, clocks, deciding, disputing, posting
from earnest.runtime.market.artifacts import bringing
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.posting import prepare_posting, withdraw_job
from earnest.runtime.market.submitting import Item, prepare_submission
from earnest.verification.lint import Complaint
from earnest.views.claims import waiting_claims
from earnest.views.jobs import show_job

from .conftest import Town, usd

SCHEMA: Members = {
    "type": "object",
    "required": ["sum"],
    "properties": {"sum": {"const": 42}},
    "additionalProperties": False,
}
CHECK: Members = {"kind": "json_schema", "path": "answer.json", "schema": SCHEMA}
CRITERIA: tuple[Members, ...] = ({"id": "C1", "text": "answer.json holds the sum", "check": CHECK},)
ANSWER = Requirement(id="answer", kind="json", description="the sum", path="answer.json")


def offer(**changes: object) -> Offer:
    terms: Mapping[str, object] = {
        "title": "Add up",
        "text": "Write answer.json with the sum.",
        "category": "arithmetic",
        "task_class": TaskClass.OBJECTIVE,
        "currency": "USD",
        "amount_micro": usd(10),
        "acceptance": None,
        "criteria": CRITERIA,
        "requirements": (ANSWER,),
        "files": {},
        "work_s": 3_600,
    }
    return Offer(**{**terms, **changes})  # type: ignore[arg-type]


async def post(town: Town, creator: Caller, **changes: object) -> str:
    act, _ = await prepare_posting(town.market, creator, offer(**changes))
    return str(town.act(creator, act)["job_id"])


def claim(town: Town, seller: Caller, job_id: str) -> str:
    return str(town.act(seller, lambda entry: claiming.claim_job(entry, town.market.terms, job_id))["claim_id"])


async def submit(town: Town, seller: Caller, claim_id: str, content: bytes = b'{"sum": 42}') -> Members:
    item = Item(requirement_id="answer", kind="json", media_type="application/json", inline=content)
    async with bringing(town.market, seller.id) as brought:
        act, _ = await prepare_submission(brought, seller, claim_id, [item])
        return town.act(seller, act)


def read_claim(town: Town, claim_id: str) -> Claim:
    return town.database.read_sync(lambda reader: CLAIMS.find(reader, claim_id))


def free(town: Town, caller: Caller, currency: str = "USD") -> int:
    account = available(caller.id, currency)
    return town.database.read_sync(lambda reader: ledger.balance(reader, account)).free_micro


async def pass_time(town: Town, seconds: int) -> None:
    await town.clock.advance_ms(seconds * 1_000)


async def test_verified_work_is_paid_in_the_transaction_of_its_verdict(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    job_id = await post(town, ann)
    assert free(town, ann) == usd(90)
    claim_id = claim(town, bob, job_id)
    await submit(town, bob, claim_id)
    await Judging(town.market).drain()
    ended = read_claim(town, claim_id)
    assert (ended.state, ended.verdict) == (ClaimState.RELEASED, "verified")
    assert free(town, bob) == 0, "what was earned clears first"
    await pass_time(town, 86_400)
    town.act(None, lambda entry: clocks.claim_due(entry, town.market.terms, claim_id))
    assert free(town, bob) == usd(10) * 95 // 100
    job = town.database.read_sync(lambda reader: JOBS.find(reader, job_id))
    assert job.state is JobState.DONE


async def test_work_that_fails_its_check_is_sent_back_with_the_failed_criteria_and_then_declined(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, bob, await post(town, ann, revisions_max=1))
    judging = Judging(town.market)
    await submit(town, bob, claim_id, b'{"sum": 41}')
    await judging.drain()
    sent_back = read_claim(town, claim_id)
    assert (sent_back.state, sent_back.cited) == (ClaimState.CHANGES_REQUESTED, '["C1"]')
    await submit(town, bob, claim_id, b'{"sum": 40}')
    await judging.drain()
    assert read_claim(town, claim_id).state is ClaimState.DECLINED
    await pass_time(town, 72 * 3_600)
    town.act(None, lambda entry: clocks.claim_due(entry, town.market.terms, claim_id))
    assert read_claim(town, claim_id).state is ClaimState.REFUNDED
    assert free(town, ann) == usd(100)


async def test_one_of_many_who_claim_has_the_job(town: Town) -> None:
    ann = town.somebody("ann", usd_micro=usd(100))
    job_id = await post(town, ann)
    crowd = [town.somebody(f"seller{at}") for at in range(50)]

    async def try_it(caller: Caller) -> str:
        try:
            answer = await town.market.desk.perform(
                caller, lambda entry: claiming.claim_job(entry, town.market.terms, job_id)
            )
        except Refused as refused:
            return refused.code
        return str(answer.body["state"])

    answers = await asyncio.gather(*map(try_it, crowd))
    assert sorted(answers) == ["claimed", *["job_already_claimed"] * 49]


async def test_a_claim_that_is_given_back_leaves_the_job_open_and_funded(town: Town) -> None:
    ann, bob, eve = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob"), town.somebody("eve")
    job_id = await post(town, ann)
    first = claim(town, bob, job_id)
    town.act(bob, lambda entry: claiming.cancel(entry, town.market.terms, first))
    assert read_claim(town, first).state is ClaimState.CANCELLED
    assert claim(town, eve, job_id) != first
    assert free(town, ann) == usd(90)


async def test_grace_ends_by_the_clock_alone(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, bob, await post(town, ann))
    wake_ms = read_claim(town, claim_id).wake_ms
    assert wake_ms is not None
    await town.clock.advance_ms(wake_ms - town.clock.now_ms())
    town.act(None, lambda entry: clocks.claim_due(entry, town.market.terms, claim_id))
    assert read_claim(town, claim_id).state is ClaimState.EXPIRED


async def test_a_withdrawn_job_returns_its_reward(town: Town) -> None:
    ann = town.somebody("ann", usd_micro=usd(100))
    job_id = await post(town, ann)
    town.act(ann, lambda entry: withdraw_job(entry, job_id))
    assert free(town, ann) == usd(100)


async def test_nobody_acts_for_another(town: Town) -> None:
    ann, bob, eve = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob"), town.somebody("eve")
    job_id = await post(town, ann)
    with pytest.raises(Refused) as own:
        claim(town, ann, job_id)
    claim_id = claim(town, bob, job_id)
    with pytest.raises(Refused) as strange:
        await submit(town, eve, claim_id)
    with pytest.raises(Refused) as seller_accepts:
        town.act(bob, lambda entry: deciding.accept(entry, town.market.terms, claim_id))
    with pytest.raises(Refused) as withdraws:
        town.act(eve, lambda entry: withdraw_job(entry, job_id))
    codes = [found.value.code for found in (own, strange, seller_accepts, withdraws)]
    assert codes == ["related_party", "not_a_party", "not_a_party", "not_a_party"]


async def test_a_heartbeat_key_claims_and_submits_and_does_not_post(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    with pytest.raises(Refused) as refused:
        await post(town, town.with_scope(ann, Scope.HEARTBEAT))
    assert refused.value.code == "heartbeat_scope_forbidden"
    pulse = town.with_scope(bob, Scope.HEARTBEAT)
    claim_id = claim(town, pulse, await post(town, ann))
    await submit(town, pulse, claim_id)
    assert read_claim(town, claim_id).state is ClaimState.SUBMITTED


async def test_a_job_without_enough_money_is_not_posted(town: Town) -> None:
    with pytest.raises(Refused) as refused:
        await post(town, town.somebody("ann", usd_micro=usd(9)))
    assert refused.value.code == "insufficient_funds"


async def test_a_check_that_accepts_worthless_work_is_refused(town: Town) -> None:
    loose = ({"id": "C1", "text": "anything", "check": {**CHECK, "schema": {}}},)
    with pytest.raises(Refused) as refused:
        await post(town, town.somebody("ann", usd_micro=usd(100)), criteria=loose)
    assert refused.value.code == "lint_failed"


async def test_the_checks_of_jobs_that_are_posted_at_once_are_tried_once(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[object]()

    async def counted(*given: Any) -> list[Complaint]:
        tried.append(given)
        return await linted(*given)

    monkeypatch.setattr(posting, "linted", counted)
    ann = town.somebody("ann", usd_micro=usd(100))
    job_ids = await asyncio.gather(*(post(town, ann) for _ in range(8)))
    assert (len(set(job_ids)), len(tried)) == (8, 1)
    assert not town.market.linting


async def test_the_same_evidence_in_a_new_revision_is_kept_beside_the_old(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, bob, await post(town, ann))
    for content in (b'{"sum": 1}', b'{"sum": 2}'):
        await submit(town, bob, claim_id, content)
    kept = town.database.read_sync(
        lambda reader: list(SUBMISSIONS.where(reader, "claim_id = ? ORDER BY revision", (claim_id,)))
    )
    assert [one.revision for one in kept] == [1, 2]
    assert len({one.root for one in kept}) == 2


async def test_a_verdict_on_a_revision_that_was_replaced_changes_nothing(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, bob, await post(town, ann))
    await submit(town, bob, claim_id, b'{"sum": 1}')
    judging = Judging(town.market)
    waiting = asyncio.create_task(judging.drain())
    await submit(town, bob, claim_id)
    await waiting
    await judging.drain()
    assert read_claim(town, claim_id).state is ClaimState.RELEASED


async def test_the_silence_of_a_proposer_releases(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    people = ({"id": "C1", "text": "it reads well"},)
    claim_id = claim(town, bob, await post(town, ann, criteria=people, acceptance=Acceptance.PROPOSER))
    await submit(town, bob, claim_id)
    await Judging(town.market).drain()
    assert read_claim(town, claim_id).verdict == "unclear"
    await pass_time(town, 72 * 3_600)
    town.act(None, lambda entry: clocks.claim_due(entry, town.market.terms, claim_id))
    assert read_claim(town, claim_id).state is ClaimState.RELEASED


async def test_the_one_who_is_chosen_has_the_job_when_the_window_ends(town: Town) -> None:
    ann, bob, eve = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob"), town.somebody("eve")
    job_id = await post(town, ann, apply_window_s=600)
    with pytest.raises(Refused):
        claim(town, bob, job_id)
    for caller in (bob, eve):
        town.act(caller, lambda entry: claiming.apply_for(entry, job_id, "me"))
        await pass_time(town, 10)
    await pass_time(town, 600)
    town.act(None, lambda entry: clocks.job_due(entry, town.market.terms, job_id))
    job = town.database.read_sync(lambda reader: JOBS.find(reader, job_id))
    assert job.live_claim is not None
    assert read_claim(town, job.live_claim).seller == bob.id


async def test_who_was_suspended_since_they_applied_is_not_chosen(town: Town) -> None:
    ann, bob, eve = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob"), town.somebody("eve")
    job_id = await post(town, ann, apply_window_s=600)
    for caller in (bob, eve):
        town.act(caller, lambda entry: claiming.apply_for(entry, job_id, "me"))
        await pass_time(town, 10)

    def suspend(entry: StoryContext) -> Members:
        ACCOUNTS.change(entry.transaction, entry.now_ms, bob.account, suspended(bob.account), touching=(bob.id,))
        return {}

    town.act(None, suspend)
    await pass_time(town, 600)
    town.act(None, lambda entry: clocks.job_due(entry, town.market.terms, job_id))
    job = town.database.read_sync(lambda reader: JOBS.find(reader, job_id))
    assert job.live_claim is not None
    assert read_claim(town, job.live_claim).seller == eve.id


async def test_nobody_applies_for_a_job_that_was_taken_back(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    job_id = await post(town, ann, apply_window_s=600)
    town.act(ann, lambda entry: withdraw_job(entry, job_id))
    with pytest.raises(Refused) as refused:
        town.act(bob, lambda entry: claiming.apply_for(entry, job_id, "me"))
    assert refused.value.code == "job_state"


async def test_of_claims_of_one_second_the_live_one_is_shown_and_decided(town: Town) -> None:
    ann, bob, eve = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob"), town.somebody("eve")
    people = ({"id": "C1", "text": "it reads well"},)
    for _ in range(6):
        job_id = await post(town, ann, criteria=people, acceptance=Acceptance.PROPOSER)
        for _ in range(3):
            give_back(town, eve, claim(town, eve, job_id))
        claim_id = claim(town, bob, job_id)
        await submit(town, bob, claim_id)
        assert shown(town, job_id, ann) == ("submitted", claim_id)
        approve(town, ann, job_id)
        assert shown(town, job_id, ann) == ("approved", claim_id)


def give_back(town: Town, seller: Caller, claim_id: str) -> None:
    town.act(seller, lambda entry: claiming.cancel(entry, town.market.terms, claim_id))


def approve(town: Town, buyer: Caller, job_id: str) -> None:
    town.act(buyer, lambda entry: deciding.decide_job(entry, town.market.terms, job_id, "", (), approved=True))


def clock(town: Town, claim_id: str) -> None:
    town.act(None, lambda entry: clocks.claim_due(entry, town.market.terms, claim_id))


def dispute(town: Town, raiser: Caller, claim_id: str) -> None:
    plea = disputing.Plea(reason="no")
    town.act(raiser, lambda entry: disputing.raise_dispute(entry, town.market.terms, claim_id, plea))


def shown(town: Town, job_id: str, viewer: Caller) -> tuple[object, object]:
    job = town.database.read_sync(lambda reader: show_job(reader, job_id, viewer.id))
    return job["status"], job["claim_id"]


async def declined(town: Town, buyer: Caller, seller: Caller) -> str:
    people = ({"id": "C1", "text": "it reads well"},)
    claim_id = claim(town, seller, await post(town, buyer, criteria=people, acceptance=Acceptance.PROPOSER))
    await submit(town, seller, claim_id)
    town.act(buyer, lambda entry: deciding.decline(entry, town.market.terms, claim_id, "no", ("C1",)))
    return claim_id


async def test_a_decline_counts_for_a_week_from_when_it_was_said(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    first = [await declined(town, ann, bob) for _ in range(3)]
    await pass_time(town, 3 * 86_400)
    for claim_id in first:
        clock(town, claim_id)
    await pass_time(town, 4 * 86_400)
    with pytest.raises(Refused) as refused:
        await declined(town, ann, bob)
    assert refused.value.code == "decline_quota"
    await pass_time(town, 1)
    assert read_claim(town, await declined(town, ann, bob)).state is ClaimState.DECLINED


async def test_a_decline_that_is_disputed_still_counts(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob", usd_micro=usd(100))
    for raiser in (ann, bob, ann):
        dispute(town, raiser, await declined(town, ann, bob))
    with pytest.raises(Refused) as refused:
        await declined(town, ann, bob)
    assert refused.value.code == "decline_quota"


async def test_work_that_the_operator_was_asked_about_stands_in_their_queue(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, bob, await post(town, ann))
    await submit(town, bob, claim_id)
    assert town.database.read_sync(lambda reader: waiting_claims(reader, "", 10)) == []
    await pass_time(town, 72 * 3_600)
    clock(town, claim_id)
    queue = town.database.read_sync(lambda reader: waiting_claims(reader, "", 10))
    assert [one["claim_id"] for one in queue] == [claim_id]
