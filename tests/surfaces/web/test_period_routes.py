"""Periods and metrics: are the figures those of a history made by hand, and is nothing lost between two periods?"""

import csv
import io
from typing import Any

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.runtime.market.clocks import TIMETABLE
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.periods import open_first_period
from earnest.runtime.recompute import recompute
from earnest.runtime.timers import Timers

from .conftest import Site
from .jobs import RIGHT, job_body

MICRO = 1_000_000
WRONG = {"items": [{"requirement_id": "answer", "kind": "json", "inline": {"sum": 41}}]}


class Town:
    """Ann proposes, Bob and Cat execute, Olga operates."""

    def __init__(self, site: Site, olga: str, agents: dict[str, dict[str, Any]]) -> None:
        self.site = site
        self.olga = olga
        self.agents = agents

    async def ask(self, who: str, method: str, path: str, body: Any = None) -> Any:
        key = self.olga if who == "olga" else self.agents[who]["live"]
        answer = await self.site.ask(method, path, key=key, **({} if body is None else {"json": body}))
        return answer.json() if answer.headers["content-type"].endswith("json") else answer.text

    async def code(self, who: str, method: str, path: str, body: Any = None) -> str:
        return str((await self.ask(who, method, path, body)).get("code", ""))

    async def job(self, **changes: Any) -> str:
        body = job_body(**{"currency": "AID", "amount_micro": 10 * MICRO, "acceptance": "machine", **changes})
        posted = await self.ask("ann", "POST", "/jobs", body)
        return str(posted["job_id"])

    async def claim(self, who: str, job_id: str) -> str:
        return str((await self.ask(who, "POST", f"/jobs/{job_id}/claim"))["claim_id"])

    async def work(self, who: str, items: Any, **changes: Any) -> str:
        claim_id = await self.claim(who, await self.job(**changes))
        await self.later(60)
        await self.ask(who, "POST", f"/claims/{claim_id}/start")
        await self.ask(who, "POST", f"/claims/{claim_id}/evidence", items)
        await self.later(30)
        await Judging(self.site.market).drain()
        return claim_id

    async def later(self, seconds: int) -> None:
        await self.site.clock.advance_ms(seconds * 1_000)
        failures: list[str] = []
        market = self.site.market
        await Timers(market.desk, market.terms, TIMETABLE, failures.append).look()
        assert failures == []

    async def metrics(self, who: str, period: str = "current") -> dict[str, Any]:
        found = await self.ask("olga", "GET", f"/periods/{period}/metrics")
        return next((one for one in found["agents"] if one["handle"] == who), {})


@pytest.fixture
async def town(site: Site) -> Town:
    olga = await site.operator()
    agents = {handle: await site.agent(handle, olga) for handle in ("ann", "bob", "cat")}
    await site.market.desk.tick(open_first_period)
    return Town(site, olga, agents)


async def test_a_history_made_by_hand_has_the_metrics_that_it_should(town: Town, clock: VirtualClock) -> None:
    await town.ask("olga", "POST", "/periods", {"name": "monday"})
    await town.work("bob", RIGHT)
    await town.work("bob", RIGHT)
    await town.work("bob", WRONG, max_revisions=0)
    given_up = await town.claim("cat", await town.job())
    await town.ask("cat", "POST", f"/claims/{given_up}/cancel")
    await town.later(3_600 - 270)

    bob, cat, ann = [await town.metrics(one) for one in ("bob", "cat", "ann")]
    assert bob["verified_per_hour"] == 2.0
    assert bob["failure_rate"] == pytest.approx(1 / 3, abs=1e-6)
    assert bob["approval_from_submission"] == {"median_s": 30, "p90_s": 30}
    assert bob["approval_from_creation"] == {"median_s": 90, "p90_s": 90}
    assert bob["thrash_index"] == 0.0
    assert bob["aid_delta_micro"] == 22 * MICRO  # twice the reward and the bonus; a rejection is fined when it is final
    assert cat["thrash_index"] == 1.0
    assert cat["failure_rate"] is None
    assert cat["aid_delta_micro"] == 0
    assert ann["aid_delta_micro"] == -18 * MICRO  # what lies in the escrow of an open job is still hers
    assert bob["counts"] | {"approved": 2, "machine_rejections": 1, "tasks_started": 3} == bob["counts"]


async def test_a_fine_stands_in_the_period_in_which_it_was_booked(town: Town) -> None:
    await town.ask("olga", "POST", "/periods", {"name": "one"})
    claim_id = await town.work("bob", WRONG, max_revisions=0)
    await town.ask("olga", "POST", "/periods", {"name": "two"})
    await town.ask("bob", "POST", f"/claims/{claim_id}/concede")
    assert (await town.metrics("bob", "one"))["aid_delta_micro"] == 0
    assert (await town.metrics("bob", "two"))["aid_delta_micro"] == -MICRO


async def test_what_silence_releases_is_approved_and_not_verified(town: Town) -> None:
    criteria = [{"id": "C1", "text": "it is good"}]
    await town.work("bob", RIGHT, acceptance="proposer", criteria=criteria)
    await town.later(72 * 3_600)
    counts = (await town.metrics("bob"))["counts"]
    assert (counts["approved"], counts["verified"], counts["machine_passes"]) == (1, 0, 0)


async def test_a_new_period_archives_the_one_before_and_wipes_nothing(town: Town) -> None:
    await town.work("bob", RIGHT)
    before = await town.ask("olga", "GET", "/periods/first/metrics")
    wallet = await town.ask("bob", "GET", "/wallet")
    opened = await town.ask("olga", "POST", "/periods", {"name": "second"})
    periods = (await town.ask("bob", "GET", "/periods"))["data"]
    assert [one["name"] for one in periods] == ["second", "first"]
    assert periods[1]["first_fact"] == 1
    assert periods[1]["last_fact"] + 1 == opened["first_fact"]
    assert (await town.ask("olga", "GET", "/periods/first/metrics"))["agents"] == before["agents"]
    assert await town.metrics("bob") == {}
    assert await town.ask("bob", "GET", "/wallet") == wallet
    assert await town.metrics("bob", opened["period_id"]) == {}


async def test_turning_to_another_task_is_seen_across_the_border_of_periods(town: Town, site: Site) -> None:
    able = {"category": "data-extraction", "currency": "AID", "availability": {"max_concurrent": 3}}
    await town.ask("bob", "PUT", "/agents/me/capabilities/cap_01J8XK3QZ0ABCDEFGHJKMNPQRS", able)
    first = await town.claim("bob", await town.job())
    await town.ask("bob", "POST", f"/claims/{first}/start")
    await town.ask("olga", "POST", "/periods", {"name": "second"})
    second = await town.claim("bob", await town.job())
    await town.ask("bob", "POST", f"/claims/{second}/start")
    assert (await town.metrics("bob"))["counts"]["tasks_left"] == 1
    assert (await town.metrics("bob"))["thrash_index"] == 1.0


async def test_only_the_operator_begins_periods_and_an_agent_sees_its_own_metrics(town: Town) -> None:
    assert await town.code("bob", "POST", "/periods", {"name": "mine"}) == "scope_forbidden"
    assert await town.code("olga", "POST", "/periods", {"name": "first"}) == "period_exists"
    assert await town.code("olga", "POST", "/periods", {"name": "current"}) == "validation"
    assert await town.code("olga", "GET", "/periods/never/metrics") == "not_found"
    await town.work("bob", RIGHT)
    shown = await town.ask("bob", "GET", "/periods/current/metrics")
    assert [one["handle"] for one in shown["agents"]] == ["bob"]


async def test_the_same_figures_stand_in_csv(town: Town) -> None:
    await town.work("bob", RIGHT)
    rows = list(csv.DictReader(io.StringIO(await town.ask("olga", "GET", "/periods/current/metrics?format=csv"))))
    assert [row["handle"] for row in rows] == ["ann", "bob"]
    assert rows[1]["approval_from_submission_median_s"] == "30"
    assert rows[1]["failure_rate"] == "0.0"
    assert rows[0]["failure_rate"] == ""
    assert rows[1]["verified"] == "1"


async def test_an_agent_has_one_open_aid_job_in_a_period(town: Town, site: Site) -> None:
    job_id = await town.job()
    body = job_body(currency="AID", amount_micro=MICRO)
    assert await town.code("ann", "POST", "/jobs", body) == "limit_reached"
    assert await town.code("ann", "POST", "/jobs", job_body(amount_micro=0)) == ""  # not ai$: the market's own limits
    await town.claim("bob", job_id)
    assert await town.code("ann", "POST", "/jobs", body) == ""
    assert await town.code("ann", "POST", "/jobs", body) == "limit_reached"
    await site.clock.advance_ms(1_000)
    await town.ask("olga", "POST", "/periods", {"name": "next"})
    assert await town.code("ann", "POST", "/jobs", body) == ""
    assert await town.code("ann", "POST", "/jobs", body) == "limit_reached"


async def test_periods_are_a_function_of_the_facts(town: Town, site: Site) -> None:
    await town.ask("olga", "POST", "/periods", {"name": "second"})
    found = site.market.desk.database.read_sync(lambda reader: recompute(reader, site.clock))
    assert found.differences == ()
