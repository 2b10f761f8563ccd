"""However often a request is sent, and by however many at once, it has one effect and one answer."""

import asyncio

import httpx2
import pytest

from earnest.runtime.desk import NOT_KEPT
from earnest.surfaces.web.problems import CODES, codes_of
from earnest.surfaces.web.schema import document

from .conftest import Site
from .jobs import JOB, fund, job_body

CROWD = 50


@pytest.mark.slow
async def test_of_fifty_who_claim_a_job_one_has_it(site: Site) -> None:
    operator = await site.operator()
    buyer = await site.agent("buyer", operator)
    await fund(site, operator, buyer["live"])
    posted = await site.ask("POST", "/jobs", key=buyer["live"], json=job_body())
    sellers = [await site.agent(f"seller{at}", operator) for at in range(CROWD)]
    path = f"/jobs/{posted.json()['job_id']}/claim"
    answers = await asyncio.gather(*(site.ask("POST", path, key=seller["live"]) for seller in sellers))
    codes = sorted(str(answer.json().get("code", answer.status_code)) for answer in answers)
    assert codes == ["201", *["job_already_claimed"] * (CROWD - 1)]


async def test_fifty_identical_requests_at_once_have_one_effect_and_equal_answers(site: Site) -> None:
    operator = await site.operator()
    buyer = await site.agent("buyer", operator)
    await fund(site, operator, buyer["live"])
    same = {"Idempotency-Key": "the-same"}
    asked = [site.ask("POST", "/jobs", key=buyer["live"], json=job_body(), headers=same) for _ in range(CROWD)]
    answers = await asyncio.gather(*asked)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == CROWD - 1
    listed = await site.ask("GET", "/jobs?mine=true", key=buyer["live"])
    assert len(listed.json()["data"]) == 1


async def test_a_key_that_was_used_for_something_else_is_refused(site: Site) -> None:
    operator = await site.operator()
    buyer = await site.agent("buyer", operator)
    await fund(site, operator, buyer["live"])
    same = {"Idempotency-Key": "the-same"}
    assert (await site.ask("POST", "/jobs", key=buyer["live"], json=job_body(), headers=same)).status_code == 201
    other = await site.ask("POST", "/jobs", key=buyer["live"], json=job_body(title="Another"), headers=same)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_conflict")


async def test_a_refusal_is_the_same_refusal_when_it_is_asked_again(site: Site) -> None:
    operator = await site.operator()
    buyer = await site.agent("buyer", operator)
    same = {"Idempotency-Key": "the-same"}
    first = await site.ask("POST", "/jobs", key=buyer["live"], json=job_body(), headers=same)
    await fund(site, operator, buyer["live"])
    again = await site.ask("POST", "/jobs", key=buyer["live"], json=job_body(), headers=same)
    assert (first.status_code, first.json()["code"]) == (409, "insufficient_funds")
    assert again.json()["code"] == "insufficient_funds"
    assert again.headers["Idempotency-Replayed"] == "true"


@pytest.mark.slow
async def test_what_was_not_there_for_a_moment_is_asked_for_anew(site: Site) -> None:
    operator = await site.operator()
    buyer = await site.agent("buyer", operator)
    same = {"Idempotency-Key": "the-same"}
    check = {"kind": "command", "command": ["python3", "answer.py"]}
    body = job_body(criteria=[{"id": "C1", "text": "answer.py runs", "check": check}])
    for _ in range(2):
        answer = await site.ask("POST", "/jobs", key=buyer["live"], json=body, headers=same)
        assert (answer.status_code, answer.json()["code"]) == (503, "verifier_unavailable"), "there is no sandbox"
        assert "Idempotency-Replayed" not in answer.headers
    told = document(site.app)["paths"]["/api/v1/jobs"]["post"]["responses"]["503"]
    assert "verifier_unavailable" in codes_of(told)


def test_no_refusal_that_another_try_may_not_meet_is_kept() -> None:
    passing = {code for code, meaning in CODES.items() if meaning.status in {401, 429} or meaning.status > 500}
    assert passing <= NOT_KEPT


async def test_two_agents_may_use_the_same_key(site: Site) -> None:
    operator = await site.operator()
    same = {"Idempotency-Key": "the-same"}
    ids = set()
    for handle in ("ann", "eve"):
        agent = await site.agent(handle, operator)
        await fund(site, operator, agent["live"])
        ids.add((await site.ask("POST", "/jobs", key=agent["live"], json=JOB, headers=same)).json()["job_id"])
    assert len(ids) == 2


async def test_what_a_key_was_answered_is_not_for_one_that_may_do_less(site: Site) -> None:
    operator = await site.operator()
    buyer = await site.agent("buyer", operator)
    await fund(site, operator, buyer["live"])
    same = {"Idempotency-Key": "the-same"}
    assert (await site.ask("POST", "/jobs", key=buyer["live"], json=job_body(), headers=same)).status_code == 201
    less = await site.ask("POST", "/jobs", key=buyer["hb"], json=job_body(), headers=same)
    assert (less.status_code, less.json()["code"]) == (403, "heartbeat_scope_forbidden")


async def test_strangers_may_use_the_same_key(site: Site) -> None:
    same = {"Idempotency-Key": "the-same"}
    transport = httpx2.ASGITransport(app=site.app, client=("192.0.2.7", 1))
    async with httpx2.AsyncClient(transport=transport, base_url=str(site.client.base_url)) as elsewhere:
        first = await site.ask("POST", "/agents/register", json={"handle": "ann"}, headers=same)
        second = await elsewhere.post("/api/v1/agents/register", json={"handle": "eve"}, headers=same)
    assert (first.status_code, second.status_code) == (201, 201)
