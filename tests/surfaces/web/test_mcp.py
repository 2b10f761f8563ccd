"""Does a tool say what its route says, to the official client over real HTTP?"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import jsonschema_rs
import pytest
from mcp import MCPError
from mcp_types import CallToolResult

from earnest.runtime.market.market import Market
from earnest.surfaces.mcp.table import TOOLS
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.limits import Quota, Quotas

from .conftest import GENEROUS, HASHING, URL
from .jobs import RIGHT, fund, job_body
from .listening import Listening, listening

NAMED = {  # by market ruling, without those whose routes come later
    "home", "list_jobs", "get_job", "claim_job", "start_claim", "submit_evidence", "extend_claim", "cancel_claim",
    "accept_claim", "request_changes", "decline_claim", "submit_review", "respond_to_dispute", "get_wallet",
}  # fmt: skip
UNSEEN = ("request_id", "next_check_in_after")


@pytest.fixture
async def site(market: Market, quotas: Quotas) -> AsyncIterator[Listening]:
    async with listening(market, quotas) as site:
        yield site


def said(result: CallToolResult) -> dict[str, Any]:
    """What a tool says, which stands in its text and in its structure alike."""
    found: dict[str, Any] = result.structured_content
    assert json.loads(result.content[0].text) == found  # type: ignore[union-attr]
    return {name: value for name, value in found.items() if name not in UNSEEN}


@pytest.mark.slow
async def test_every_tool_is_listed_with_a_schema_of_its_own(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["live"]) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {row.name for row in TOOLS}
    assert set(tools) >= NAMED
    for row in TOOLS:
        tool = tools[row.name]
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert tool.description
        jsonschema_rs.validator_for(schema)
        assert ("idempotency_key" in schema["properties"]) is (row.method != "GET"), row.name
        assert "idempotency_key" not in schema.get("required", [])
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (row.method == "GET")


@pytest.mark.slow
async def test_looking_by_a_tool_and_by_rest_shows_the_same(site: Listening) -> None:
    operator_key = await site.operator()
    agent = await site.agent("maya", operator_key)
    await fund(site, operator_key, agent["live"])
    posted = await site.ask("POST", "/jobs", key=agent["live"], json=job_body())
    job_id = posted.json()["job_id"]
    async with site.speaking(agent["live"]) as client:
        for tool, arguments, path in (
            ("home", {}, "/agents/me/home"),
            ("home", {"include": "jobs", "explain": "1"}, "/agents/me/home?include=jobs&explain=1"),
            ("list_jobs", {"mine": True, "limit": 5}, "/jobs?mine=true&limit=5"),
            ("get_job", {"job_id": job_id}, f"/jobs/{job_id}"),
            ("get_wallet", {}, "/wallet"),
            ("get_fees", {}, "/meta/fees"),
            ("get_agent", {"handle": "maya"}, "/agents/maya"),
        ):
            by_rest = (await site.ask("GET", path, key=agent["live"])).json()
            result = await client.call_tool(tool, arguments)
            assert not result.is_error
            assert said(result) == {name: value for name, value in by_rest.items() if name not in UNSEEN}


PAYOUT = {"currency": "USD", "amount_micro": 1_000_000}
REFUSED: list[tuple[str, dict[str, Any], str, str, Any, str]] = [
    ("get_job", {"job_id": "job_x"}, "GET", "/jobs/job_x", None, "not_found"),
    ("get_job", {"job_id": "job_x", "strange": 1}, "GET", "/jobs/job_x?strange=1", None, "unknown_field"),
    ("list_jobs", {"limit": 1_000}, "GET", "/jobs?limit=1000", None, "validation"),
    ("list_jobs", {"cursor": "no"}, "GET", "/jobs?cursor=no", None, "bad_cursor"),
    ("claim_job", {"job_id": "job_x"}, "POST", "/jobs/job_x/claim", None, "not_found"),
    ("claim_job", {"job_id": "job_x", "strange": 1}, "POST", "/jobs/job_x/claim", {"strange": 1}, "unknown_field"),
    ("post_job", {"title": "x"}, "POST", "/jobs", {"title": "x"}, "validation"),
    ("submit_review", {"claim_id": "c", "rating": 9}, "POST", "/claims/c/reviews", {"rating": 9}, "validation"),
    ("request_payout", PAYOUT, "POST", "/payouts", PAYOUT, "onboarding_required"),
]  # fmt: skip


@pytest.mark.slow
async def test_a_refusal_is_the_same_problem(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["live"]) as client:
        for tool, arguments, method, path, body, code in REFUSED:
            given = {"json": body} if body is not None else {}
            by_rest = (await site.ask(method, path, key=agent["live"], **given)).json()
            result = await client.call_tool(tool, arguments)
            assert result.is_error, tool
            assert by_rest["code"] == code, by_rest
            assert said(result) == {name: value for name, value in by_rest.items() if name not in UNSEEN}


@pytest.mark.slow
async def test_a_heartbeat_key_may_no_more_over_mcp_than_over_rest(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["hb"]) as client:
        for tool, arguments in (("post_job", job_body()), ("request_payout", {"currency": "USD", "amount_micro": 1})):
            result = await client.call_tool(tool, arguments)
            assert said(result)["code"] == "heartbeat_scope_forbidden", tool
        assert not (await client.call_tool("home", {})).is_error


@pytest.mark.slow
async def test_a_call_under_the_same_key_has_one_effect_over_mcp_and_rest(site: Listening) -> None:
    operator_key = await site.operator()
    agent = await site.agent("maya", operator_key)
    await fund(site, operator_key, agent["live"])
    async with site.speaking(agent["live"]) as client:
        first = said(await client.call_tool("post_job", {**job_body(), "idempotency_key": "once"}))
        again = said(await client.call_tool("post_job", {**job_body(), "idempotency_key": "once"}))
        by_rest = await site.ask(
            "POST", "/jobs", key=agent["live"], json=job_body(), headers={"Idempotency-Key": "once"}
        )
        assert first == again == by_rest.json()
        other = await client.call_tool("post_job", {**job_body(title="Another"), "idempotency_key": "once"})
        assert said(other)["code"] == "idempotency_key_conflict"
        without = [said(await client.call_tool("post_job", job_body()))["job_id"] for _ in range(2)]
        assert len({first["job_id"], *without}) == 3


@pytest.mark.slow
async def test_a_claim_is_worked_over_mcp(site: Listening) -> None:
    operator_key = await site.operator()
    buyer, seller = await site.agent("buyer", operator_key), await site.agent("seller", operator_key)
    await fund(site, operator_key, buyer["live"])
    job_id = (await site.ask("POST", "/jobs", key=buyer["live"], json=job_body())).json()["job_id"]
    async with site.speaking(seller["hb"]) as client:
        claim_id = said(await client.call_tool("claim_job", {"job_id": job_id}))["claim_id"]
        assert said(await client.call_tool("start_claim", {"claim_id": claim_id}))["state"] == "in_progress"
        handed_in = await client.call_tool("submit_evidence", {"claim_id": claim_id, **RIGHT})
        assert said(handed_in)["state"] == "submitted"
        assert said(await client.call_tool("get_claim", {"claim_id": claim_id}))["revision"] == 1


@pytest.mark.parametrize(("authorization", "code"), [
    ({}, "missing_key"),
    ({"Authorization": "Bearer ern_live_nobody"}, "unknown_key"),
    ({"Authorization": "Basic eDp5"}, "unknown_key"),
])  # fmt: skip
async def test_nobody_speaks_without_a_key(site: Listening, authorization: dict[str, str], code: str) -> None:
    for method in ("POST", "GET", "DELETE"):
        answer = await site.client.request(method, "/mcp", headers=authorization)
        assert answer.status_code == 401
        assert answer.json()["code"] == code
        assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_a_message_is_answered_with_the_headers_of_every_answer(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    sent = {"Authorization": f"Bearer {agent['live']}", "Accept": "application/json, text/event-stream"}
    answer = await site.client.post("/mcp", json=message, headers=sent)
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert answer.headers["Request-Id"].startswith("req_")
    assert answer.headers["RateLimit-Policy"].startswith('"read"')
    assert len(answer.headers.get_list("Date")) == 1


async def test_of_two_keys_neither_speaks(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    keys = [("Authorization", f"Bearer {agent['live']}"), ("Authorization", f"Bearer {agent['hb']}")]
    answer = await site.client.post("/mcp", json=message, headers=[*keys, ("Accept", "application/json")])
    assert (answer.status_code, answer.json()["code"]) == (401, "unknown_key")


@pytest.mark.slow
async def test_nobody_holds_a_stream_open_on_which_nothing_would_be_said(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    sent = {"Authorization": f"Bearer {agent['live']}", "Accept": "text/event-stream"}
    answer = await site.client.get("/mcp", headers=sent)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST"
    assert answer.json()["request_id"] == answer.headers["Request-Id"]


async def test_a_stranger_uses_up_nobodys_messages_but_their_own(market: Market) -> None:
    quotas = replace(GENEROUS, read=Quota(name="read", count=2, window_s=60))
    app = create_app(market, HASHING, url=URL, quotas=quotas)

    async def message_from(address: str) -> str:
        transport = httpx2.ASGITransport(app=app, client=(address, 1))
        async with httpx2.AsyncClient(transport=transport, base_url=URL) as client:
            return str((await client.post("/mcp", json={})).json()["code"])

    assert [await message_from("192.0.2.1") for _ in range(3)] == ["missing_key"] * 2 + ["quota_exceeded"]
    assert await message_from("192.0.2.2") == "missing_key"


async def test_a_login_cookie_does_not_speak(site: Listening) -> None:
    page = await site.client.post(f"/setup/{site.operator_link()}", data={"handle": "olga"})
    assert page.status_code == 200
    assert site.client.cookies
    assert (await site.client.post("/mcp", json={})).json()["code"] == "missing_key"


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
async def test_a_page_elsewhere_cannot_reach_it(site: Listening, headers: dict[str, str]) -> None:
    agent = await site.agent("maya", await site.operator())
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    sent = {"Authorization": f"Bearer {agent['live']}", "Accept": "application/json, text/event-stream", **headers}
    answer = await site.client.post("/mcp", json=message, headers=sent)
    assert answer.status_code in {403, 421}


@pytest.mark.slow
async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["live"]) as client:
        with pytest.raises(MCPError, match="there is no tool"):
            await client.call_tool("chat_shout", {})


@pytest.mark.parametrize(
    "arguments",
    [{}, {"job_id": ""}, {"job_id": 7}, {"job_id": "a\nb"}, {"job_id": "x", "idempotency_key": "a\r\nb: c"}],
)
async def test_arguments_that_make_no_request_are_refused(site: Listening, arguments: dict[str, Any]) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["live"]) as client:
        result = await client.call_tool("claim_job", arguments)
        assert result.is_error
        assert said(result)["code"] == "validation"


@pytest.mark.slow
async def test_arguments_too_long_for_an_address_are_refused_as_all_others_are(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["live"]) as client:
        for tool, arguments in (("get_job", {"job_id": "x" * 100_000}), ("list_jobs", {"cursor": "x" * 100_000})):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert said(result)["code"] == "validation"


@pytest.mark.slow
async def test_an_id_stays_one_segment_of_the_path(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["live"]) as client:
        for hostile in ("../agents/me", "x/claim", "x?mine=true", "..%2Fagents%2Fme", ".", ".."):
            assert said(await client.call_tool("get_job", {"job_id": hostile}))["code"] == "not_found"


@pytest.mark.slow
async def test_a_body_that_is_too_large_is_refused(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    async with site.speaking(agent["live"]) as client:
        result = await client.call_tool("post_job", job_body(text="x" * 1_100_000))
        assert said(result)["code"] == "too_large"


async def test_a_message_of_countless_members_is_refused_unread_and_one_of_a_long_text_is_not(site: Listening) -> None:
    agent = await site.agent("maya", await site.operator())
    headers = {
        "Authorization": f"Bearer {agent['live']}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    for filling, status, code in (
        ("1," * 60_001 + "1", 400, "malformed_json"),
        ("1" * 2 * 1024 * 1024, 413, "too_large"),
        ('"' + ",[" * 60_001 + '"', 200, None),
    ):
        message = '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"x": [' + filling + "]}}}"
        answer = await site.client.post("/mcp", content=message, headers=headers)
        assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text[:300]


@pytest.mark.slow
async def test_limits_are_those_of_the_account_whichever_way_it_comes(market: Market) -> None:
    quotas = Quotas(
        home=GENEROUS.home,
        read=GENEROUS.read,
        write=Quota(name="write", count=10, window_s=60),  # two of them make its keys
        register=GENEROUS.register,
    )
    async with listening(market, quotas) as site:
        agent = await site.agent("maya", await site.operator())
        async with site.speaking(agent["live"]) as client:
            codes = [said(await client.call_tool("claim_job", {"job_id": "job_x"}))["code"] for _ in range(10)]
        assert codes == ["not_found"] * 8 + ["quota_exceeded"] * 2
        by_rest = await site.ask("POST", "/jobs/job_x/claim", key=agent["live"])
        assert by_rest.status_code == 429
