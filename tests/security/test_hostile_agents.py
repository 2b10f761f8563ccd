"""The server, not the agent, enforces what an agent may do at once, and three different parties to each job."""

import asyncio
from typing import Any

import pytest

from surfaces.web.conftest import Site
from surfaces.web.jobs import RIGHT, job_body

from .people import gathered

AID = {"currency": "AID", "amount_micro": 5_000_000, "acceptance": "proposer"}


def aid(**changes: Any) -> dict[str, Any]:
    return job_body(**{**AID, **changes})


async def codes(asked: list[Any]) -> list[str]:
    answers = await asyncio.gather(*asked)
    return sorted(answer.json().get("code", "done") for answer in answers)


@pytest.mark.slow
async def test_a_proposer_who_posts_by_many_keys_at_once_has_one_open_job(site: Site) -> None:
    people = await gathered(site)
    more = await site.ask("POST", "/agents/me/keys", key=people.keys["ann"]["live"], json={"scope": "live"})
    people.keys["ann"]["second"] = more.json()["key"]
    posts = [people.ask(who, "POST", "/jobs", aid(title=f"n{at}")) for at in range(4) for who in ("ann", "ann.second")]
    assert await codes(posts) == ["done", *["limit_reached"] * 7]
    open_jobs = (await people.ok("ann", "GET", "/jobs?created_by=ann&status=open"))["data"]
    assert len(open_jobs) == 1
    assert (await people.ok("ann", "GET", "/wallet"))["balances"] != []


async def test_giving_back_and_posting_anew_leaves_one_open_job(site: Site) -> None:
    people = await gathered(site)
    job = await people.ok("ann", "POST", "/jobs", aid())
    claim = await people.ok("bob", "POST", f"/jobs/{job['job_id']}/claim")
    await people.ok("ann", "POST", "/jobs", aid(title="another"))
    await people.ok("bob", "POST", f"/claims/{claim['claim_id']}/cancel")  # the first is open again
    assert await people.code("ann", "POST", "/jobs", aid(title="third")) == "limit_reached"


async def test_only_the_operator_ends_a_period_so_nobody_buys_a_turn_with_one(site: Site) -> None:
    people = await gathered(site)
    await people.ok("ann", "POST", "/jobs", aid())
    for who in ("ann", "ann.hb", "ann.reg"):
        assert "scope_forbidden" in await people.code(who, "POST", "/periods", {"name": "mine"})
    assert await people.code("ann", "POST", "/jobs", aid(title="another")) == "limit_reached"


async def test_an_executor_who_claims_by_many_keys_at_once_holds_one(site: Site) -> None:
    people = await gathered(site)
    jobs = [(await people.ok(who, "POST", "/jobs", aid()))["job_id"] for who in ("ann", "eve")]
    claims = [people.ask(who, "POST", f"/jobs/{job}/claim") for job in jobs for who in ("bob", "bob.hb")]
    found = await codes(claims)
    assert found.count("done") == 1
    assert set(found) <= {"done", "capacity_exceeded", "job_already_claimed"}


async def test_nobody_is_two_of_the_three_parties(site: Site) -> None:
    people = await gathered(site)
    job = await people.ok("ann", "POST", "/jobs", aid())
    path = f"/jobs/{job['job_id']}"
    assert await people.code("ann", "POST", f"{path}/claim") == "related_party"
    claim = await people.ok("bob", "POST", f"{path}/claim")
    await people.ok("bob", "POST", f"/claims/{claim['claim_id']}/evidence", RIGHT)
    decision = {"approved": True, "reason": "splendid", "penalty": 0}
    for who in ("bob", "bob.reg", "eve"):
        assert await people.code(who, "POST", f"{path}/review", decision) == "not_a_party"
    for word in ("seller", "creator", "reviewer", "by", "agent"):
        assert await people.code("bob", "POST", f"{path}/review", {**decision, word: "act_ann"}) == "unknown_field"
    before = (await people.ok("bob", "GET", "/wallet"))["balances"]
    assert (await people.ok("bob", "GET", "/wallet"))["balances"] == before
    decided = await people.ok("ann", "POST", f"{path}/review", decision)
    assert decided["state"] == "released"


async def test_a_penalty_in_a_body_counts_for_nothing(site: Site) -> None:
    people = await gathered(site)
    job = await people.ok("ann", "POST", "/jobs", aid())
    claim = await people.ok("bob", "POST", f"/jobs/{job['job_id']}/claim")
    await people.ok("bob", "POST", f"/claims/{claim['claim_id']}/evidence", RIGHT)
    no = {"approved": False, "reason": "no", "penalty": 99}
    await people.ok("ann", "POST", f"/jobs/{job['job_id']}/review", no)
    await people.ticked(80 * 3_600_000)
    (aid_balance,) = (one for one in (await people.ok("bob", "GET", "/wallet"))["balances"] if one["currency"] == "AID")
    assert aid_balance["balance_micro"] == 99_500_000  # a tenth of the reward, by the platform's own terms
