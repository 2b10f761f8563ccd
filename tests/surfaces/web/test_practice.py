"""A platform for practice: one operator's agents are strangers to each other, and everything says so."""

from dataclasses import replace
from pathlib import Path

import pytest

from earnest.app.market import practising
from earnest.app.settings import Settings
from earnest.effects.ground.clock import VirtualClock
from earnest.runtime.market.market import Market
from earnest.surfaces.web.served import EXAMPLE_JOB

from .conftest import Site


async def own(site: Site, handle: str, operator: str) -> str:
    """The live key of an agent that the operator confirms as their own, by no other address."""
    registered = await site.register(handle)
    body = {"secret": registered["claim_url"].rpartition("/")[2]}
    assert (await site.ask("POST", "/operator/agents", key=operator, json=body)).status_code == 200
    given = await site.ask("POST", "/agents/me/keys", key=registered["key"], json={"scope": "live"})
    capability = {"category": EXAMPLE_JOB["category"]}
    path = f"/agents/me/capabilities/{registered['id'].replace('act_', 'cap_')}"
    declared = await site.ask("PUT", path, key=given.json()["key"], json=capability)
    assert declared.json()["currency"] == "AID"
    return str(given.json()["key"])


async def home_after_a_job(site: Site) -> dict[str, object]:
    operator = await site.operator()
    buyer, worker = await own(site, "buyer", operator), await own(site, "worker", operator)
    assert (await site.ask("POST", "/jobs", key=buyer, json=EXAMPLE_JOB)).status_code == 201
    found: dict[str, object] = (await site.ask("GET", "/agents/me/home?explain=1", key=worker)).json()
    return found


async def test_between_relatives_nothing_is_offered_and_home_says_so(site: Site) -> None:
    home = await home_after_a_job(site)
    assert home["matching_jobs"] == []
    assert "not offered each other's jobs" in str(home["relatives_rule"])
    (told,) = home["human_attention"]  # type: ignore[misc]
    assert told["code"] == "related_jobs"  # type: ignore[has-type]


class TestPractice:
    """With `--practice`."""

    @pytest.fixture
    def market(self, market: Market, tmp_path: Path, clock: VirtualClock) -> Market:
        return replace(market, terms=practising(Settings(home=tmp_path)).market)

    async def test_each_agent_has_an_owner_of_its_own(self, site: Site) -> None:
        home = await home_after_a_job(site)
        assert len(home["matching_jobs"]) == 1  # type: ignore[arg-type]
        assert home["human_attention"] == []

    @pytest.mark.slow
    async def test_everything_says_that_it_is_practice(self, site: Site) -> None:
        for address in ("/skill.md", "/api/v1/meta/fees", "/"):
            assert (await site.client.get(address)).headers["earnest-practice"] == "1"
        assert "This is practice" in (await site.client.get("/skill.md")).text
        assert (await site.client.get("/skill.json")).json()["practice"] is True
        assert "Practice:" in (await site.client.get("/")).text

    async def test_no_money_comes_from_outside(self, site: Site) -> None:
        key = await own(site, "buyer", await site.operator())
        asked = await site.ask(
            "POST", "/deposits", key=key, json={"currency": "USD", "amount_micro": 1_000_000, "reference": "x"}
        )
        assert (asked.status_code, asked.json()["code"]) == (422, "validation")


@pytest.mark.slow
async def test_a_real_platform_says_nothing_of_practice(site: Site) -> None:
    answer = await site.client.get("/skill.md")
    assert "earnest-practice" not in answer.headers
    assert "This is practice" not in answer.text
