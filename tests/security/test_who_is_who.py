"""Does anybody act for another, see what is another's, or judge what is their own?"""

from typing import Any

import pytest

from earnest.surfaces.web.requests import cursor_of
from surfaces.web.conftest import Site
from surfaces.web.jobs import job_body

from .operations import NOBODYS, Operation
from .people import People, gathered, whole, with_belongings
from .test_who_may import GATE, MORE

SAID_OF_ONESELF = ("account_id", "agent_id", "seller", "buyer", "author", "operator_id", "by", "on_behalf_of", "key_id")
FOR_STRANGERS = {
    "GET /jobs/{job_id}",
    "POST /jobs/{job_id}/claim",
    "POST /jobs/{job_id}/applications",
    "GET /periods/{period}/metrics",
    "GET /world/board/{thread_id}",
    *(f"GET /agents/{{handle}}{what}" for what in ("", "/activity", "/reviews", "/signals", "/transcript")),
}
"""Operations about things of others that are meant for everybody."""
PUBLIC = {"handle", "account_id", "capability_id", "job_id", "review_id"}
"""What strangers may know the ids of."""


@pytest.fixture
async def people(site: Site) -> People:
    return await gathered(site)


@pytest.mark.slow
async def test_no_body_says_who_asks(people: People, operations: dict[str, Operation]) -> None:
    victim, before, tried = people.keys["ann"]["id"], people.books(), 0
    for operation in operations.values():
        if operation.body is None:
            continue
        for name in set(SAID_OF_ONESELF):
            tried += 1
            body = {**operation.sample(), **MORE.get(operation.name, {}), name: victim}
            answer = await people.ask("eve", operation.method, whole(operation.at()), body)
            assert answer.json()["code"] == "unknown_field", f"{operation.name} {name}: {answer.text}"
    assert tried > 200
    assert people.books() == before


async def test_no_query_says_who_asks(people: People, operations: dict[str, Operation]) -> None:
    for operation in operations.values():
        for name in ("as", "account_id"):
            path = f"{whole(operation.at())}?{name}={people.keys['ann']['id']}"
            answer = await people.ask("eve", operation.method, path, operation.sample())
            assert answer.json()["code"] == "unknown_field", f"{operation.name} {name}: {answer.text}"


@pytest.mark.parametrize("who", ["eve", "eve.hb", "eve.reg"])
async def test_ids_of_others_open_nothing_and_change_nothing(
    people: People, operations: dict[str, Operation], who: str
) -> None:
    await with_belongings(people)
    before, tried = people.books(), 0
    for name, operation in operations.items():
        if not operation.names or name in FOR_STRANGERS:
            continue
        body = operation.sample()
        given = None if body is None else {**body, **MORE.get(name, {})}
        answer = await people.ask(who, operation.method, whole(operation.at(people.ids)), given)
        assert answer.json()["code"] in {"not_found", "not_a_party"} | GATE, f"{name}: {answer.text}"
        tried += 1
    assert tried >= 40
    assert people.books() == before


@pytest.mark.slow
async def test_lists_hold_nothing_of_others_whatever_cursor_is_shown(
    people: People, operations: dict[str, Operation]
) -> None:
    await with_belongings(people)
    secret = [value for name, value in people.ids.items() if name not in PUBLIC]
    cursors = ["", *(cursor_of(value) for value in secret), cursor_of(f"9999999999999 {secret[0]}")]
    for name, operation in operations.items():
        if operation.method != "GET" or set(operation.names) - {"handle"}:
            continue
        for cursor in cursors if "cursor" in operation.query else [""]:
            given: dict[str, Any] = {"params": {"cursor": cursor}} if cursor else {}
            answer = await people.ask("eve", "GET", whole(operation.at({"handle": "bob"})), **given)
            shown = [value for value in secret if value in answer.text]
            assert not set(shown) - _public_of(name, people), f"{name}: {shown}"


def _public_of(name: str, people: People) -> set[str]:
    """What a public page names: what an agent did, and the tests that it took."""
    ids = people.ids
    return {ids["claim_id"], ids["trial_id"]} if name.startswith("GET /agents/{handle}/") else set()


async def test_what_is_not_there_and_what_is_not_ones_own_read_alike(
    people: People, operations: dict[str, Operation]
) -> None:
    """Where the answer is `not_found`, it does not tell which of both it is."""
    await with_belongings(people)
    for name, operation in operations.items():
        if operation.method != "GET" or not operation.names or name in FOR_STRANGERS:
            continue
        of_others = await people.ask("eve", "GET", whole(operation.at(people.ids)))
        of_nobody = await people.ask("eve", "GET", whole(operation.at(NOBODYS)))
        if of_others.json()["code"] == "not_found":
            kept = ("code", "title", "status", "detail")
            told = [{part: answer.json()[part] for part in kept} for answer in (of_others, of_nobody)]
            for one, ids in zip(told, (people.ids, NOBODYS), strict=True):
                one["detail"] = one["detail"].replace(ids[operation.names[0]], "…")
            assert told[0] == told[1], name


async def test_who_offers_a_job_does_not_work_it_and_who_works_does_not_judge(people: People) -> None:
    job_id = (await people.ok("ann", "POST", "/jobs", job_body(acceptance="buyer")))["job_id"]
    waiting = (await people.ok("ann", "POST", "/jobs", job_body(apply_window_s=600)))["job_id"]
    assert await people.code("ann", "POST", f"/jobs/{job_id}/claim") == "related_party"
    assert await people.code("ann.hb", "POST", f"/jobs/{job_id}/claim") == "related_party"
    assert await people.code("ann", "POST", f"/jobs/{waiting}/applications", {}) == "related_party"
    _, claim_id = await people.submitted()
    judging = {"reason": "mine", "criteria": ["C1"]}
    for what, body in (("accept", None), ("decline", judging), ("request-changes", judging), ("refund", None)):
        assert await people.code("bob", "POST", f"/claims/{claim_id}/{what}", body) == "not_a_party"


async def test_the_operator_does_not_judge_the_work_of_an_agent_of_their_own_for_a_stranger(people: People) -> None:
    site = people.site
    mine = await site.register("mine")
    secret = mine["claim_url"].rpartition("/")[2]
    await people.ok("olga", "POST", "/operator/agents", {"secret": secret, "mail": ""})
    given = await site.ask("POST", "/agents/me/keys", key=mine["key"], json={"scope": "live"})
    people.keys["mine"] = {"id": mine["id"], "live": given.json()["key"]}
    codes = []
    for seller in ("mine", "bob"):
        job_id = (await people.ok("ann", "POST", "/jobs", job_body(acceptance="human")))["job_id"]
        claim_id = (await people.ok(seller, "POST", f"/jobs/{job_id}/claim"))["claim_id"]
        item = {"requirement_id": "answer", "kind": "json", "inline": {"sum": 42}}
        await people.ok(seller, "POST", f"/claims/{claim_id}/evidence", {"items": [item]})
        decided = await people.ask("olga", "POST", f"/jobs/{job_id}/review", {"approved": True, "reason": "good"})
        codes.append(decided.json().get("code", decided.json().get("state")))
    assert codes == ["related_party", "released"]


async def test_a_heartbeat_key_posts_no_job_and_opens_no_dispute(people: People) -> None:
    _, claim_id = await people.submitted()
    before = people.books()
    assert await people.code("bob.hb", "POST", "/jobs", job_body()) == "heartbeat_scope_forbidden"
    plea = {"reason": "she is silent"}
    assert await people.code("bob.hb", "POST", f"/claims/{claim_id}/disputes", plea) == "heartbeat_scope_forbidden"
    assert people.books() == before
