"""Does what has ended stay so, and is what was settled settled once?"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from earnest.effects.outside.rails.api import ManualRail
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.ledger import service as ledger
from earnest.market import settlement
from earnest.market.service import CLAIMS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.payouts import tend_payouts
from earnest.runtime.market.settling import settle
from surfaces.web.conftest import Site
from surfaces.web.jobs import job_body

from .operations import Operation
from .people import People, gathered, whole, with_belongings
from .test_who_may import GATE, MORE

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
OVER = GATE | {"claim_state", "not_judged", "claim_expired", "not_a_party", "validation"}
REFUSED = {"reason": "no", "criteria": ["C1"]}


@pytest.fixture
async def people(site: Site) -> People:
    return await gathered(site)


async def _released(people: People) -> str:
    _, claim_id = await people.submitted()
    await people.ok("ann", "POST", f"/claims/{claim_id}/accept")
    return claim_id


async def _refunded(people: People) -> str:
    _, claim_id = await people.submitted()
    await people.ok("ann", "POST", f"/claims/{claim_id}/decline", REFUSED)
    await people.ok("bob", "POST", f"/claims/{claim_id}/concede")
    return claim_id


async def _cancelled(people: People) -> str:
    _, claim_id = await people.claimed()
    await people.ok("bob", "POST", f"/claims/{claim_id}/cancel")
    return claim_id


async def _expired(people: People) -> str:
    _, claim_id = await people.claimed(work_s=60, grace_s=0)
    await people.ticked(120_000)
    return claim_id


ENDS: Mapping[str, Callable[[People], Awaitable[str]]] = {
    "released": _released,
    "refunded": _refunded,
    "cancelled": _cancelled,
    "expired": _expired,
}
WINDOW_IS_OPEN = ("released", "POST /claims/{claim_id}/reviews")
"""The one thing that an end begins."""


@pytest.mark.parametrize("end", ENDS)
async def test_no_event_revives_a_claim_that_has_ended(
    people: People, operations: dict[str, Operation], end: str
) -> None:
    claim_id = await ENDS[end](people)
    await people.judged()
    assert (await people.ok("ann", "GET", f"/claims/{claim_id}"))["state"] == end
    before, tried = people.books(), 0
    for name, operation in operations.items():
        if operation.method == "GET" or operation.names != ["claim_id"] or (end, name) == WINDOW_IS_OPEN:
            continue
        body = operation.sample()
        given = None if body is None else {**body, **MORE.get(name, {})}
        for who in ("ann", "bob", "bob.hb", "olga"):
            answer = await people.ask(who, operation.method, whole(operation.at({"claim_id": claim_id})), given)
            assert answer.json()["code"] in OVER, f"{name} by {who}: {answer.text}"
            tried += 1
    assert tried > 40
    assert people.books() == before
    await people.ticked()
    assert people.books() == before


async def test_a_job_that_has_ended_is_not_claimed_again(people: People) -> None:
    job_id, claim_id = await people.submitted()
    await people.ok("ann", "POST", f"/claims/{claim_id}/accept")
    gone = (await people.ok("ann", "POST", "/jobs", job_body()))["job_id"]
    await people.ok("ann", "POST", f"/jobs/{gone}/withdraw")
    assert await people.code("eve", "POST", f"/jobs/{job_id}/claim") == "job_already_claimed"
    assert await people.code("eve", "POST", f"/jobs/{gone}/claim") == "job_withdrawn"
    for ended in (job_id, gone):
        assert await people.code("ann", "POST", f"/jobs/{ended}/withdraw") in {"job_already_claimed", "job_withdrawn"}
    for approved in (True, False):
        decision = {"approved": approved, "reason": "again"}
        assert await people.code("ann", "POST", f"/jobs/{job_id}/review", decision) in {"claim_state", "claim_expired"}


async def test_what_is_decided_once_is_not_decided_again(people: People) -> None:
    ids, rails = (await with_belongings(people)).ids, {"manual": ManualRail()}
    deposit = f"/operator/deposits/{ids['deposit_id']}/decision"
    payout = f"/operator/payouts/{ids['payout_id']}/decision"
    dispute = f"/disputes/{ids['dispute_id']}"
    await people.ok("olga", "POST", deposit, {"confirmed": False})
    await people.ok("olga", "POST", payout, {"state": "failed"})
    await people.ok("bob", "POST", f"{dispute}/withdraw")
    trial = f"/trials/{ids['trial_id']}/answer"
    await people.ok("bob", "POST", trial, {"answer": 1})
    before = people.books()
    for confirmed in (True, False):
        assert await people.code("olga", "POST", deposit, {"confirmed": confirmed}) == "deposit_state"
    for state in ("approved", "failed", "sent", "settled", "returned", "requested"):
        assert await people.code("olga", "POST", payout, {"state": state}) == "payout_state"
    await tend_payouts(people.site.market.desk, rails)
    for what, who, body in (
        ("statements", "bob", {"text": "and"}),
        ("respond", "ann", {"text": "and"}),
        ("withdraw", "bob", None),
        ("appeal", "bob", None),
        ("votes", "olga", {"for": "seller", "criteria": ["C1"], "reason": "so"}),
    ):
        assert await people.code(who, "POST", f"{dispute}/{what}", body) == "dispute_state", what
    assert await people.code("bob", "POST", trial, {"answer": 2}) == "claim_state"
    assert people.books() == before


async def test_a_settlement_that_is_replayed_moves_nothing(people: People) -> None:
    """The same request, again under another key, the story, and the chain itself; and the clock."""
    _, claim_id = await people.submitted()
    once = {"headers": {"Idempotency-Key": "once"}}
    first = await people.ok("ann", "POST", f"/claims/{claim_id}/accept", **once)
    before = people.books()
    assert await people.ok("ann", "POST", f"/claims/{claim_id}/accept", **once) == first
    assert await people.code("ann", "POST", f"/claims/{claim_id}/accept") == "claim_state"
    market = people.site.market

    def settle_again(entry: StoryContext) -> JsonObject:
        with pytest.raises(Refused):
            settle(entry, market.terms, CLAIMS.find(entry.transaction, claim_id))
        return {}

    def post_again(entry: StoryContext) -> JsonObject:
        claim = CLAIMS.find(entry.transaction, claim_id)
        ledger.post(entry.transaction, settlement.released(claim, entry.now_ms))
        with pytest.raises(Refused):  # a release and a refund of the same hold
            ledger.post(entry.transaction, settlement.voided(claim, entry.now_ms))
        return {}

    for act in (settle_again, post_again):
        await market.desk.tick(act)
        assert people.books() == before, act
    await people.ticked()
    assert people.books() == before


async def test_the_clock_clears_what_was_earned_once(people: People) -> None:
    _, claim_id = await people.submitted()
    await people.ok("ann", "POST", f"/claims/{claim_id}/accept")
    seen: list[Any] = []
    for wait_ms in (15 * DAY_MS, 0, HOUR_MS, DAY_MS):
        await people.ticked(wait_ms)
        balances = (await people.ok("bob", "GET", "/wallet"))["balances"]
        seen.append(next(one for one in balances if one["currency"] == "USD")["withdrawable_micro"])
    assert seen == [109_500_000] * 4


async def test_why_a_job_cannot_be_taken_back_stands_in_the_document(
    people: People, operations: dict[str, Operation]
) -> None:
    told = operations["POST /jobs/{job_id}/withdraw"].codes
    claimed, _ = await people.claimed()
    gone = (await people.ok("ann", "POST", "/jobs", job_body()))["job_id"]
    await people.ok("ann", "POST", f"/jobs/{gone}/withdraw")
    for job_id in (claimed, gone):
        answer = await people.ask("ann", "POST", f"/jobs/{job_id}/withdraw")
        assert answer.json()["code"] in told[answer.status_code]
