"""Does a tool for heartbeats and scores say what its route says, in answers and in refusals?"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.market.market import Market
from earnest.surfaces.mcp.table import TOOLS
from earnest.surfaces.web.limits import Quotas

from .listening import Listening, listening
from .test_mcp import UNSEEN, said

CONTRACT = "## Tasks\n- [ ] call | Call grandmother | required | verify: human\n"
NOBODY = "hbt_" + "0" * 26
MINE: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("due_tasks", {}, "/agents/me/heartbeats/due"),
    ("list_heartbeats", {"limit": 1}, "/agents/me/heartbeats?limit=1"),
    ("get_score", {}, "/score"),
    ("get_score", {"agent": "ada"}, "/score?agent=ada"),
    ("get_score_history", {}, "/score/history"),
    ("get_score_events", {"limit": 1}, "/score/events?limit=1"),
)
REFUSED: tuple[tuple[str, dict[str, Any], str, str, str], ...] = (
    ("check_in", {"strange": 1}, "POST", "/agents/me/heartbeats", "unknown_field"),
    ("check_in", {"reply": 1}, "POST", "/agents/me/heartbeats", "validation"),
    ("check_in", {"contract": "é" * 200_000}, "POST", "/agents/me/heartbeats", "too_large"),
    ("get_heartbeat", {"heartbeat_id": NOBODY}, "GET", f"/agents/me/heartbeats/{NOBODY}", "not_found"),
    ("get_heartbeat", {"heartbeat_id": "x"}, "GET", "/agents/me/heartbeats/x", "validation"),
    ("get_score", {"agent": "nobody"}, "GET", "/score?agent=nobody", "not_found"),
    ("get_score", {"agent": "bob"}, "GET", "/score?agent=bob", "scope_forbidden"),
    ("get_score_history", {"agent": "bob"}, "GET", "/score/history?agent=bob", "scope_forbidden"),
    ("get_score_events", {"cursor": "x"}, "GET", "/score/events?cursor=x", "bad_cursor"),
    ("get_leaderboard", {}, "GET", "/score/leaderboard", "scope_forbidden"),
    ("score_feedback", {"type": "up", "message_id": NOBODY}, "POST", "/score/feedback", "scope_forbidden"),
    ("score_feedback", {"type": "sideways", "message_id": NOBODY}, "POST", "/score/feedback", "validation"),
)


@pytest.fixture
async def site(market: Market, quotas: Quotas) -> AsyncIterator[Listening]:
    async with listening(market, quotas) as site:
        yield site


def seen(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in UNSEEN}


def test_each_route_of_scores_and_of_an_agents_heartbeats_is_a_tool() -> None:
    paths = {row.path for row in TOOLS if "heartbeats" in row.path or row.path.startswith("/score")}
    assert paths == {
        *("/agents/me/heartbeats", "/agents/me/heartbeats/due", "/agents/me/heartbeats/{heartbeat_id}"),
        *(f"/score{what}" for what in ("", "/history", "/leaderboard", "/events", "/feedback")),
    }


@pytest.mark.slow
async def test_what_tools_show_of_heartbeats_and_scores_is_what_rest_shows(site: Listening) -> None:
    operator = await site.operator()
    ada = await site.agent("ada", operator)
    async with site.speaking(ada["hb"]) as client:
        sent = {"contract": CONTRACT, "reply": "I called her."}
        taken = said(await client.call_tool("check_in", {**sent, "idempotency_key": "beat"}))
        again = await site.ask(
            "POST", "/agents/me/heartbeats", key=ada["hb"], json=sent, headers={"Idempotency-Key": "beat"}
        )
        assert taken == seen(again.json())
        await HeartbeatJudging(site.market).drain()
        one = taken["heartbeat_id"]
        for tool, arguments, path in (*MINE, ("get_heartbeat", {"heartbeat_id": one}, f"/agents/me/heartbeats/{one}")):
            by_rest = (await site.ask("GET", path, key=ada["hb"])).json()
            assert said(await client.call_tool(tool, arguments)) == seen(by_rest), tool
    async with site.speaking(operator) as client:
        voted = said(await client.call_tool("score_feedback", {"type": "up", "message_id": one}))
        assert voted == {"points": 3, "score": 3, "target": 50}
        board = said(await client.call_tool("get_leaderboard", {}))
        assert board == seen((await site.ask("GET", "/score/leaderboard", key=operator)).json())
        assert [(each["handle"], each["today"]["score"]) for each in board["data"]] == [("ada", 3)]


@pytest.mark.slow
async def test_what_tools_refuse_of_heartbeats_and_scores_is_what_rest_refuses(site: Listening) -> None:
    operator = await site.operator()
    ada, _ = await site.agent("ada", operator), await site.agent("bob", operator)
    async with site.speaking(ada["live"]) as client:
        for tool, arguments, method, path, code in REFUSED:
            given = {"json": arguments} if method == "POST" else {}
            by_rest = (await site.ask(method, path, key=ada["live"], **given)).json()
            result = await client.call_tool(tool, arguments)
            assert result.is_error, tool
            assert (by_rest["code"], said(result)) == (code, seen(by_rest)), tool
