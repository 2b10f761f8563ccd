"""Does the owner of an agent hear, by a real mail server, when it enters lockdown and when it leaves it?"""

import asyncio
import contextlib
import email
import email.policy
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP

from earnest.effects.outside.mail.api import Security, SmtpServer
from earnest.effects.outside.mail.smtp import SmtpMailer
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.market.letters import Letters

from .conftest import Site

CONTRACT = "## Tasks\n" + "".join(f"- [ ] {name} | Call {name} | required | verify: human\n" for name in ("ann", "bob"))


class Post:
    """A mail server that keeps what it is given."""

    def __init__(self) -> None:
        self.kept: list[tuple[list[str], str, str]] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.kept.append((envelope.rcpt_tos, str(message["subject"]), str(message.get_content())))
        return "250 kept"


@contextlib.asynccontextmanager
async def post_office(site: Site) -> AsyncIterator[tuple[Post, Letters]]:
    """The server, and what sends to it."""
    post = Post()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: SMTP(post, hostname="post.test", loop=loop), "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        server = SmtpServer(host="127.0.0.1", port=port, sender="platform@example.org", security=Security.NONE)
        yield post, Letters(site.market.desk, SmtpMailer(server, site.clock, timeout_ms=5_000))


@pytest.mark.parametrize("is_mailed", [True, False])
async def test_the_owner_hears_once_of_a_lockdown_and_once_of_its_end(site: Site, is_mailed: bool) -> None:
    operator = await site.operator()
    ada = await site.agent("ada", operator)
    taken = await site.ask("POST", "/agents/me/heartbeats", key=ada["hb"], json={"contract": CONTRACT})
    await HeartbeatJudging(site.market).drain()
    decision = f"/operator/heartbeats/{taken.json()['heartbeat_id']}/decide"

    async def decide(task: str, verdict: str) -> set[str]:
        said = {"task": task, "verdict": verdict, "reason": "I asked."}
        assert (await site.ask("POST", decision, key=operator, json=said)).status_code == 200
        home = (await site.ask("GET", "/agents/me/home", key=ada["live"])).json()
        return {one["code"] for one in home["human_attention"]}

    async with post_office(site) as (post, letters):
        assert "lockdown" in await decide("ann", "not_verified")
        if is_mailed:
            assert await letters.send_due() == 1
        assert "lockdown" not in await decide("bob", "verified")
        assert await letters.send_due() == (1 if is_mailed else 2)
        assert await letters.send_due() == 0
    assert [subject for _, subject, _ in post.kept] == ["@ada is in lockdown", "@ada has left lockdown"]
    assert {tuple(to) for to, _, _ in post.kept} == {("ada@example.org",)}
    entered, left = (text for _, _, text in post.kept)
    assert "-15 points of 50 today. Every task is required now." in entered
    assert "-5 points of 50 today." in left
