"""How people come in: an owner by a mailed link that works once, for one agent, as long as the address is theirs."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import httpx2
import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.identity.owner_link import OWNER_LINK_MS
from earnest.identity.service import ACCOUNTS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.market import Market
from earnest.runtime.market.money import open_treasury
from earnest.surfaces.web.app import create_app
from surfaces.web.conftest import GENEROUS, HASHING, URL, Site, clock, market

__all__ = ["clock", "market"]

SENT = "If this address answers for an agent"
OWN = {"Origin": URL}


@dataclass
class Postbox:
    """A mail server that keeps what it is given, and may be away."""

    mails: list[tuple[str, str]] = field(default_factory=list)
    is_away: bool = False

    async def send(self, to: str, subject: str, text: str) -> None:
        if self.is_away:
            raise Unavailable("nobody is there")
        self.mails.append((to, text))

    def links(self) -> list[str]:
        """Of the last mail, the paths."""
        return [one.removeprefix(URL) for one in re.findall(rf"{URL}/owner/\S+", self.mails[-1][1])]


@pytest.fixture
def postbox() -> Postbox:
    return Postbox()


@pytest.fixture
async def site(market: Market, clock: VirtualClock, postbox: Postbox) -> AsyncIterator[Site]:
    await market.desk.tick(lambda entry: open_treasury(entry, market.terms))
    app = create_app(market, HASHING, url=URL, quotas=GENEROUS, mailer=postbox)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=URL) as client:
        yield Site(app=app, market=market, clock=clock, client=client)


async def asked(site: Site, mail: str) -> None:
    answer = await site.client.post("/owner", data={"mail": mail})
    assert answer.status_code == 200
    assert SENT in answer.text


async def test_an_owner_comes_in_by_a_link_that_works_once_and_acts_for_one_agent(site: Site, postbox: Postbox) -> None:
    operator = await site.operator()
    await site.agent("maya_r", operator)
    await site.agent("zed", operator)
    await asked(site, "Maya_R@example.org")
    (link,) = postbox.links()
    assert postbox.mails[-1][0] == "Maya_R@example.org"
    for _ in range(2):  # looking changes nothing
        page = await site.client.get(link)
        assert "@maya_r" in page.text
        assert "set-cookie" not in page.headers
    begun = await site.client.post(link, headers=OWN)
    assert begun.status_code == 303
    assert all(word in begun.headers["set-cookie"] for word in ("HttpOnly", "SameSite=strict"))
    me = (await site.ask("GET", "/agents/me")).json()
    assert (me["handle"], me["key"]["scope"]) == ("maya_r", "live")
    assert (await site.ask("GET", "/operator/accounts")).status_code == 403
    assert "What to do next" in (await site.client.get("/")).text
    assert "Where the points come from" not in (await site.client.get("/agents/zed")).text
    keys = await site.ask("POST", "/agents/me/keys", json={"scope": "live"}, headers=OWN)
    assert keys.status_code == 403
    site.client.cookies.clear()
    assert (await site.client.post(link, headers=OWN)).status_code == 410


async def test_nobody_learns_which_addresses_there_are_and_nobody_is_flooded(site: Site, postbox: Postbox) -> None:
    await site.agent("maya_r", await site.operator())
    await site.register("nobodys")
    for mail in ("stranger@example.org", "", "x" * 1_000, "maya_r@example.org%", "_____@example.org"):
        await asked(site, mail)
    assert postbox.mails == []
    for _ in range(3):
        await asked(site, "maya_r@example.org")
    assert len(postbox.mails) == 1
    await site.clock.advance_ms(60_000)
    postbox.is_away = True
    await asked(site, "maya_r@example.org")
    postbox.is_away = False
    await asked(site, "maya_r@example.org")
    assert len(postbox.mails) == 2


async def test_a_link_is_none_when_it_is_late_altered_or_the_address_is_anothers(site: Site, postbox: Postbox) -> None:
    agent = await site.agent("maya_r", await site.operator())
    await asked(site, "maya_r@example.org")
    (link,) = postbox.links()
    for spoiled in (
        link[:-1] + ("0" if link[-1] != "0" else "1"),
        link.replace(agent["id"], "act_" + "0" * 26),
        "/owner/x",
    ):
        assert (await site.client.post(spoiled, headers=OWN)).status_code == 404

    def moved(entry: StoryContext) -> JsonObject:
        before = ACCOUNTS.find(entry.transaction, agent["id"])
        after = replace(before, mail="new@example.org")
        ACCOUNTS.change(entry.transaction, entry.now_ms, before, after, touching=(agent["id"],))
        return {}

    await site.market.desk.tick(moved)
    assert (await site.client.get(link)).status_code == 404
    await asked(site, "new@example.org")
    (link,) = postbox.links()
    await site.clock.advance_ms(OWNER_LINK_MS)
    assert (await site.client.post(link, headers=OWN)).status_code == 410
    assert not site.client.cookies


async def test_a_platform_without_mail_says_so(market: Market, clock: VirtualClock) -> None:
    app = create_app(market, HASHING, url=URL, quotas=GENEROUS)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=URL) as client:
        assert "sends no mail" in (await client.get("/owner")).text


async def test_any_key_logs_in_as_what_it_is_and_logs_out(site: Site) -> None:
    operator = await site.operator()
    agent = await site.agent("maya_r", operator)
    for key, scope in ((operator, "op"), (agent["live"], "live"), (agent["hb"], "hb"), (agent["reg"], "reg")):
        assert (await site.client.post("/login", data={"key": key})).status_code == 303
        assert (await site.ask("GET", "/agents/me")).json()["key"]["scope"] == scope
        assert (await site.client.post("/logout", headers=OWN)).status_code == 303
        assert (await site.ask("GET", "/agents/me")).status_code == 401
