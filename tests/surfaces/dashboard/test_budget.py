"""What a page may weigh and take: bytes over the wire, requests, time until it can be used; also with 10,000 rows.

This is a budget of our own in the manner of Lighthouse: Chromium says what it loaded, from where, and when it was done.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from earnest.market.service import JOBS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.periods import open_first_period
from surfaces.web.conftest import GENEROUS
from surfaces.web.jobs import fund, job_body
from surfaces.web.listening import Listening, listening

from .conftest import Opened, a_market
from .test_in_chromium import shown
from .town import Town, ok, worked

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]
BYTES_MAX = 150_000
REQUESTS_MAX = 8
INTERACTIVE_MS_MAX = 1_000
TRIES = 5
"""Of so many loads the quickest counts: what others do on the machine is not the page's."""
ROWS = 10_000
RARE = "translation"


@contextlib.asynccontextmanager
async def weighed(page: Page) -> AsyncIterator[dict[str, Any]]:
    """Bytes and addresses of all that Chromium loads until the block ends, as for somebody who comes first."""
    session = await page.context.new_cdp_session(page)
    found: dict[str, Any] = {"bytes": 0, "urls": {}}
    session.on(
        "Network.requestWillBeSent", lambda sent: found["urls"].update({sent["requestId"]: sent["request"]["url"]})
    )
    session.on(
        "Network.loadingFinished", lambda done: found.update(bytes=found["bytes"] + int(done["encodedDataLength"]))
    )
    await session.send("Network.enable")
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    yield found
    await session.detach()


WATCH_LONG_TASKS = """
globalThis.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((one) => one.startTime + one.duration)))
  .observe({ type: 'longtask', buffered: true });
"""
INTERACTIVE = """() => new Promise((done) => {
  const said = () => setTimeout(() => {
    const page = performance.getEntriesByType('navigation')[0];
    done(Math.max(page.domContentLoadedEventEnd, page.loadEventEnd, ...longTasks));
  }, 50);
  document.readyState === 'complete' ? said() : addEventListener('load', said);
})"""


async def interactive_ms(page: Page) -> float:
    """From the click until the page is loaded, its scripts have run, and no task of 50 ms or more is under way."""
    found: float = await page.evaluate(INTERACTIVE)
    return found


async def test_every_page_keeps_to_its_budget(opened: Opened, served: Listening, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.add_init_script(WATCH_LONG_TASKS)
        slowest = ("", 0.0)
        for address in shown(town):
            async with weighed(page) as found:
                await page.goto(address, wait_until="load")
            urls = [url for url in found["urls"].values() if not url.endswith(("/live", "/live?town=1"))]
            urls = urls[urls.index(served.url + address) :]  # what the page before left is not its
            assert all(url.startswith((served.url, "data:")) for url in urls), (address, urls)
            assert len(urls) <= REQUESTS_MAX, (address, urls)
            assert 0 < found["bytes"] <= BYTES_MAX, (address, found["bytes"])
            took: list[float] = []
            while len(took) < TRIES and not any(each <= INTERACTIVE_MS_MAX for each in took):
                await page.goto(address)
                took.append(await interactive_ms(page))
            assert min(took) <= INTERACTIVE_MS_MAX, (address, took)
            slowest = max(slowest, (address, min(took)), key=lambda one: one[1])
        print(f"slowest to be interactive: {slowest[0]}, {slowest[1]:.0f} ms")


@pytest_asyncio.fixture(loop_scope="session")
async def crowded(tmp_path: Path) -> AsyncIterator[tuple[Listening, str]]:
    """A platform with 10,000 open jobs, one of them of a rare category, the oldest; and its operator's key."""
    with a_market(tmp_path) as market:
        async with listening(market, GENEROUS) as site:
            await market.desk.tick(open_first_period)
            operator = await site.operator()
            agents = {handle: await site.agent(handle, operator) for handle in ("noor", "maya_r")}
            noor = agents["noor"]
            await fund(site, operator, noor["live"])
            posted = await ok(await site.ask("POST", "/jobs", key=noor["live"], json=job_body(category=RARE)))

            def open_all(entry: StoryContext) -> dict[str, str]:
                one = JOBS.find(entry.transaction, posted["job_id"])
                for number in range(ROWS - 1):
                    row = replace(one, id=entry.new_id("job"), title=f"Sum {number}", category="data-extraction")
                    JOBS.open(entry.transaction, entry.now_ms, row)
                return {}

            await market.desk.tick(open_all)
            await worked(site, agents, 42)
            yield site, operator
            site.app.state.streams.end()


async def test_ten_thousand_jobs_are_turned_over_page_by_page(opened: Opened, crowded: tuple[Listening, str]) -> None:
    site, operator = crowded
    async with opened(operator, url=site.url) as page:
        await page.add_init_script(WATCH_LONG_TASKS)
        rows = page.locator("#board tbody tr")
        await page.goto("/jobs")
        seen: list[str] = []
        for _ in range(3):
            await expect(rows).to_have_count(50)
            seen += await rows.locator("a[href^='/jobs/']").evaluate_all("links => links.map((link) => link.href)")
            await page.get_by_role("link", name="Older jobs").click()
            await page.wait_for_url("**cursor=*")
            assert await interactive_ms(page) <= 10 * INTERACTIVE_MS_MAX
        assert len(set(seen)) == len(seen) == 150
        await page.go_back()
        await expect(rows).to_have_count(50)
        assert await rows.first.locator("a").first.evaluate("link => link.href") == seen[100]
        await page.get_by_label("Category").fill(RARE)
        await page.get_by_label("Category").press("Tab")
        await expect(rows).to_have_count(1)
        await expect(page.get_by_role("link", name="Older jobs")).to_have_count(0)
        async with weighed(page) as found:
            await page.goto("/jobs")
        assert found["bytes"] <= BYTES_MAX
        await page.goto("/periods")
        await expect(page.locator("#metrics")).to_contain_text("facts are counted; the rest follows")
        await expect(page.locator("[data-again]")).to_have_count(0, timeout=30_000)
        await expect(page.get_by_role("row", name="@maya_r")).to_contain_text("1 of 1")
