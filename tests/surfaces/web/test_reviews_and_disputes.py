"""Reviews, disputes and public pages over HTTP."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.foundation.canonical import JsonObject
from earnest.identity.service import ACCOUNTS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.judging import Judging

from . import conftest
from .conftest import GENEROUS, START_MS, Site

SCHEMA = {"type": "object", "required": ["sum"], "properties": {"sum": {"const": 42}}}
JOB = {
    "title": "Add up",
    "text": "Write answer.json with the sum.",
    "category": "arithmetic",
    "currency": "AID",
    "amount_micro": 10_000_000,
    "acceptance": "buyer",
    "criteria": [
        {"id": "C1", "text": "it is 42", "check": {"kind": "json_schema", "path": "answer.json", "schema": SCHEMA}}
    ],
    "evidence_requirements": [{"id": "answer", "kind": "json", "path": "answer.json"}],
}
DAY_MS = 86_400_000


async def ok(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


async def stranger(site: Site, handle: str, operator_key: str) -> dict[str, Any]:
    """An agent that somebody owns who owns no other."""
    agent = await site.agent(handle, operator_key)

    def own(entry: StoryContext) -> JsonObject:
        before = ACCOUNTS.find(entry.transaction, agent["id"])
        after = replace(before, operator_id=f"act_owner_of_{handle}")
        ACCOUNTS.change(entry.transaction, entry.now_ms, before, after, touching=(agent["id"],))
        return {}

    await site.market.desk.tick(own)
    return agent


async def worked(site: Site, *, accepted: bool = True) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Ann's job, done by Bob, who is a stranger to her; accepted, or declined. Ann has the `operator`'s key."""
    operator = await site.operator()
    ann = {**await stranger(site, "ann_a", operator), "operator": operator}
    bob = await stranger(site, "bob_b", operator)
    job = await ok(await site.ask("POST", "/jobs", key=ann["live"], json=JOB), 201)
    claimed = await site.ask("POST", f"/jobs/{job['job_id']}/claim", key=bob["live"], json={})
    claim_id = claimed.json()["claim_id"]
    items = [{"requirement_id": "answer", "kind": "json", "media_type": "application/json", "inline": {"sum": 41}}]
    await ok(await site.ask("POST", f"/claims/{claim_id}/evidence", key=bob["live"], json={"items": items}))
    if accepted:
        await ok(await site.ask("POST", f"/claims/{claim_id}/accept", key=ann["live"]))
    else:
        said = {"reason": "it is not 42", "criteria": ["C1"]}
        await ok(await site.ask("POST", f"/claims/{claim_id}/decline", key=ann["live"], json=said))
    return ann, bob, claim_id


async def test_a_review_over_http_from_its_sending_to_its_answer(site: Site) -> None:
    ann, bob, claim_id = await worked(site)
    sent = await ok(
        await site.ask(
            "POST", f"/claims/{claim_id}/reviews", key=bob["hb"], json={"rating": 5, "parts": {"quality": 4}}
        ),
        201,
    )
    assert sent["published"] is False
    waiting = await ok(await site.ask("GET", f"/claims/{claim_id}/reviews", key=ann["live"]))
    assert (waiting["submitted_by"], waiting["reviews"]) == (["seller"], [])
    assert (await ok(await site.ask("GET", "/agents/ann_a/reviews")))["data"] == []
    await ok(await site.ask("POST", f"/claims/{claim_id}/reviews", key=ann["live"], json={"rating": 2}), 201)
    about = (await ok(await site.ask("GET", "/agents/@ann_a/reviews")))["data"]
    assert [(one["rating"], one["parts"]) for one in about] == [(5, {"quality": 4})]
    answered = await site.ask(
        "POST", f"/reviews/{sent['review_id']}/reply", key=ann["live"], json={"text": "<b>hi</b>"}
    )
    await ok(answered, 201)
    page = await ok(await site.ask("GET", "/agents/bob_b"))
    assert page["ratings"]["as_seller"] == {"count": 1, "average_milli": 2_000}
    assert page["reputation"]["signals"]["released"] == 1
    assert page["responsiveness"]["reviews"] == {"on_time": 1, "late": 0, "missed": 0}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rating": 0},
        {"rating": 6},
        {"rating": 4.5},
        {"rating": "5"},
        {"rating": True},
        {"rating": 5, "parts": {"looks": 1}},
        {"rating": 5, "text": "x" * 4_001},
        {"rating": 5, "author": "act_x"},
    ],
)
async def test_a_review_that_is_none_is_refused(site: Site, body: dict[str, Any]) -> None:
    agent = await site.agent("ann_a", await site.operator())
    answer = await site.ask("POST", "/claims/clm_x/reviews", key=agent["live"], json=body)
    assert answer.status_code == 422, answer.text


async def everything_others_read(tmp_path: Path, rating: int) -> str:
    """All answers that the other side and the public get while a review is hidden; commitments and hashes masked."""
    folder = tmp_path / str(rating)
    folder.mkdir()
    clock = VirtualClock(START_MS)
    markets = conftest.market.__wrapped__(folder, clock)  # type: ignore[attr-defined]
    sites = conftest.site.__wrapped__(next(markets), clock, GENEROUS)  # type: ignore[attr-defined]
    site = await anext(sites)
    try:
        ann, bob, claim_id = await worked(site)
        review = {"rating": rating, "text": "x" * (100 * rating), "parts": {"quality": rating}}
        await ok(await site.ask("POST", f"/claims/{claim_id}/reviews", key=bob["live"], json=review), 201)
        await clock.advance_ms(DAY_MS)
        paths = [
            "/agents/me/home",
            f"/claims/{claim_id}",
            f"/claims/{claim_id}/reviews",
            "/claims",
            "/claims?role=buyer",
            "/jobs",
            "/wallet",
            "/wallet/entries",
            "/disputes",
            "/log/checkpoint",
            "/log/proof?seq=1",
            *(
                f"/agents/{handle}{rest}"
                for handle in ("ann_a", "bob_b")
                for rest in ("", "/signals", "/activity", "/transcript", "/transcript?format=jsonl", "/reviews")
            ),
        ]
        answers = [await site.ask("GET", path, key=key) for path in paths for key in (ann["live"], "")]
        answers += [
            await site.ask("POST", f"/claims/{claim_id}/reviews", key=bob["live"], json={"rating": 3}),
            await site.ask("POST", f"/claims/{claim_id}/accept", key=ann["live"]),
        ]
        told = "\n".join(
            f"{answer.request.url.path} {answer.status_code} {sorted(answer.headers.items())} {answer.text}"
            for answer in answers
        )
    finally:
        await sites.aclose()
        markets.close()
    told = re.sub(r"sha256:[0-9a-f]{64}|sha-256=:[^:]+:", "<hash>", told)
    return re.sub(r"'(request-id|ratelimit|x-ratelimit-\w+|date)', '[^']*'", r"<\1>", told)


@pytest.mark.slow
async def test_nothing_that_others_read_depends_on_a_hidden_review(tmp_path: Path) -> None:
    one, five = await everything_others_read(tmp_path, 1), await everything_others_read(tmp_path, 5)
    assert one.splitlines() == five.splitlines()
    assert '"submitted_by":["seller"]' in one
    assert "/agents/bob_b/transcript 200" in one


async def test_a_dispute_over_http_from_its_raising_to_its_ruling(site: Site) -> None:
    ann, bob, claim_id = await worked(site, accepted=False)
    judge = ann["operator"]
    plea = {"reason": "41 is close enough", "criteria": ["C1"]}
    hb = await site.ask("POST", f"/claims/{claim_id}/disputes", key=bob["hb"], json=plea)
    assert (hb.status_code, hb.json()["code"]) == (403, "heartbeat_scope_forbidden")
    raised = await ok(await site.ask("POST", f"/claims/{claim_id}/disputes", key=bob["live"], json=plea), 201)
    dispute_id = raised["dispute_id"]
    assert (raised["state"], raised["stake_micro"]) == ("open", 0)
    head = await site.ask("HEAD", f"/disputes/{dispute_id}", key=ann["live"])
    assert head.status_code in {200, 405}
    first = await ok(await site.ask("GET", f"/disputes/{dispute_id}", key=ann["live"]))
    assert (first["unread"], first["awaiting"], first["role"]) == (0, "respondent", "respondent")
    said = await ok(
        await site.ask("POST", f"/disputes/{dispute_id}/respond", key=ann["hb"], json={"text": "it is not 42"}), 201
    )
    assert (said["state"], said["statement"]) == ("evidence", 1)
    assert (await ok(await site.ask("GET", "/disputes", key=bob["live"])))["data"][0]["unread"] == 1
    early = await site.ask(
        "POST", f"/disputes/{dispute_id}/votes", key=judge, json={"for": "buyer", "criteria": ["C1"], "reason": "41"}
    )
    assert (early.status_code, early.json()["code"]) == (409, "dispute_state")
    assert early.json()["allowed_events"] == ["answer", "evidence_ended", "limit", "say", "withdraw"]
    for number, (key, path) in enumerate([(bob["live"], "statements"), (ann["live"], "statements")] * 3, 2):
        answer = await site.ask("POST", f"/disputes/{dispute_id}/{path}", key=key, json={"text": f"no. {number}"})
        if answer.status_code != 201:
            assert answer.json()["code"] == "dispute_state"
            break
    shown = await ok(await site.ask("GET", f"/disputes/{dispute_id}", key=bob["live"]))
    assert (shown["state"], len(shown["statements"])) == ("deliberation", 6)
    vote = {"for": "split", "seller_micro": 4_000_000, "buyer_micro": 6_000_000, "criteria": ["C1"], "reason": "41"}
    short = await site.ask("POST", f"/disputes/{dispute_id}/votes", key=judge, json={**vote, "buyer_micro": 1})
    assert short.status_code == 422
    await ok(await site.ask("POST", f"/disputes/{dispute_id}/votes", key=judge, json=vote))
    await ok(await site.ask("POST", f"/disputes/{dispute_id}/appeal", key=ann["live"]))
    final = await ok(await site.ask("POST", f"/disputes/{dispute_id}/votes", key=judge, json=vote))
    assert (final["state"], final["closed"]) == ("final", True)
    claim = await ok(await site.ask("GET", f"/claims/{claim_id}", key=bob["live"]))
    assert claim["state"] == "released"
    signals = (await ok(await site.ask("GET", "/agents/bob_b/signals")))["data"]
    assert [one["kind"] for one in signals] == ["split"]


@pytest.mark.slow
async def test_strangers_learn_of_no_dispute_and_auditors_change_none(site: Site) -> None:
    ann, bob, claim_id = await worked(site, accepted=False)
    raised = await site.ask("POST", f"/claims/{claim_id}/disputes", key=bob["live"], json={"reason": "x"})
    dispute_id = raised.json()["dispute_id"]
    eve = await stranger(site, "eve_e", ann["operator"])
    for path in (dispute_id, "dsp_x"):
        answer = await site.ask("GET", f"/disputes/{path}", key=eve["live"])
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await ok(await site.ask("GET", "/disputes", key=eve["live"])))["data"] == []
    said = await site.ask("POST", f"/disputes/{dispute_id}/statements", key=eve["live"], json={"text": "me too"})
    assert said.json()["code"] == "not_found"
    ruled = await site.ask(
        "POST", f"/disputes/{dispute_id}/votes", key=eve["live"], json={"for": "buyer", "criteria": [], "reason": "x"}
    )
    assert ruled.json()["code"] == "scope_forbidden"


async def test_public_pages_of_nobody_are_not_found(site: Site) -> None:
    for rest in ("", "/signals", "/activity", "/transcript", "/reviews"):
        answer = await site.ask("GET", f"/agents/nobody_here{rest}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.slow
async def test_lists_go_on_where_they_stopped(site: Site) -> None:
    operator = await site.operator()
    ann, bob = await stranger(site, "ann_a", operator), await stranger(site, "bob_b", operator)
    items = [{"requirement_id": "answer", "kind": "json", "media_type": "application/json", "inline": {"sum": 42}}]
    for _ in range(3):
        job = await ok(await site.ask("POST", "/jobs", key=ann["live"], json={**JOB, "amount_micro": 1}), 201)
        claimed = await ok(await site.ask("POST", f"/jobs/{job['job_id']}/claim", key=bob["live"], json={}), 201)
        claim_id = claimed["claim_id"]
        await ok(await site.ask("POST", f"/claims/{claim_id}/evidence", key=bob["live"], json={"items": items}))
        await Judging(site.market).drain()
        await ok(await site.ask("POST", f"/claims/{claim_id}/accept", key=ann["live"]))
        for key in (ann["live"], bob["live"]):
            await ok(await site.ask("POST", f"/claims/{claim_id}/reviews", key=key, json={"rating": 5}), 201)
    for path, name in (("signals", "claim_id"), ("reviews", "review_id"), ("transcript", "claim_id")):
        seen, cursor = [], ""
        while True:
            query = f"?limit=1&cursor={cursor}" if cursor else "?limit=1"
            page = await ok(await site.ask("GET", f"/agents/bob_b/{path}{query}"))
            seen += [one[name] for one in page["data"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert len(seen) == len(set(seen)) == 3, path
        assert seen == sorted(seen, reverse=True) or path != "transcript"
    lines = await site.ask("GET", "/agents/bob_b/transcript?format=jsonl&limit=2")
    assert lines.headers["content-type"].startswith("application/jsonl")
    assert [json.loads(line)["verdicts"][0]["verdict"] for line in lines.text.splitlines()] == ["verified"] * 2
    assert lines.headers["Next-Cursor"]


@pytest.mark.parametrize("path", ["signals", "reviews", "transcript"])
@pytest.mark.parametrize("cursor", ["x", "YzE6", "YzE6OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTkgeA==", "YzE6eCB4IHg="])
async def test_a_made_up_cursor_is_refused_or_finds_nothing(site: Site, path: str, cursor: str) -> None:
    await site.agent("bob_b", await site.operator())
    answer = await site.ask("GET", f"/agents/bob_b/{path}", params={"cursor": cursor})
    assert answer.status_code == 400 or answer.json()["data"] == []


async def test_the_formula_of_reputations_is_public(site: Site) -> None:
    formula = await ok(await site.ask("GET", "/meta/reputation"))
    assert formula["weights"]["released"] == {"success_milli": 1_000, "failure_milli": 0}
    assert (formula["bound_percent"], formula["window_s"]) == (5, 365 * 86_400)
