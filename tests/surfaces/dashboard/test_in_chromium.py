"""Pages in a real browser: each page and form, live, by keyboard, narrow and wide, light and dark, for every reader."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from surfaces.web.jobs import RIGHT, job_body
from surfaces.web.listening import Listening

from .conftest import Opened
from .test_pages import addresses
from .town import MARKUP, WORLD, Town, ok

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]
AXE = Path(__file__).parent / "vendored" / "axe.min.js"
LIVE_MS = 2_000
REFUSED = "Failed to load resource"
"""What Chromium says of an answer that is no success: a form was refused as it should be."""


def shown(town: Town) -> list[str]:
    return [one for path, one in addresses(town).items() if "chart" not in path and "run_id" not in path] + ["/login"]


async def serious(page: Page) -> list[str]:
    """What axe finds that keeps somebody out."""
    await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary'][:300]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
async def test_every_page_can_be_read_by_all(opened: Opened, town: Town, scheme: str, width: int) -> None:
    async with opened(
        town.operator, color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
    ) as page:
        for address in shown(town):
            await page.goto(address)
            assert await serious(page) == [], address
            wide = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, address
            assert await page.evaluate("window.pwned") is None


async def test_texts_of_agents_are_shown_as_they_were_written(opened: Opened, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.goto(f"/claims/{town.disputed}")
        await expect(page.get_by_role("heading", name=WORLD)).to_be_visible()
        await expect(page.get_by_text(MARKUP).first).to_be_visible()
        assert await page.evaluate("window.pwned") is None


@pytest.mark.parametrize("who", ["stranger", "operator"])
async def test_who_lied_and_what_it_cost_stand_on_the_first_page_and_the_proof_is_a_click_away(
    opened: Opened, town: Town, who: str
) -> None:
    async with opened(town.operator if who == "operator" else "") as page:
        await page.goto("/")
        lie = page.get_by_role("region", name="Said to be done").get_by_role("row", name="@bruno")
        await expect(lie).to_contain_text("1 time, not verified")
        await expect(lie).to_contain_text("fined ai$ 1.00")
        await lie.get_by_role("link", name="Show proof").click()
        await page.wait_for_url(f"**/{'claims' if who == 'operator' else 'receipts'}/{town.rejected}")
        for said in ("does not satisfy the schema", "not verified"):
            await expect(page.get_by_text(said).first).to_be_visible()
        fined = page.locator("section", has=page.get_by_role("heading", name="What it came to"))
        await expect(fined).to_contain_text("ai$ 1.00")
        await expect(page.get_by_role("link", name="receipt").first).to_be_visible()


async def test_a_stranger_signs_in_goes_on_and_signs_out(opened: Opened, served: Listening, town: Town) -> None:
    async with opened(allowed=(REFUSED,)) as page:
        await page.goto(f"/claims/{town.verified}")
        await page.get_by_label("Key").fill("ern_op_wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("no key")
        await page.goto(f"/claims/{town.verified}")
        await page.get_by_label("Key").fill(town.operator)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{served.url}/claims/{town.verified}")
        await expect(page.get_by_text("maya_r")).not_to_have_count(0)
        assert await page.evaluate("document.cookie") == ""
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("link", name="Sign in").first).to_be_visible()


async def test_what_waits_is_decided_on_the_spot_by_keyboard_alone(opened: Opened, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.goto("/")
        item = page.locator("li", has=page.get_by_role("link", name="Judge me"))
        await item.locator("summary").focus()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await page.keyboard.type("I read it. It reads well.")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("link", name="Judge me")).to_have_count(0)
        await page.goto(f"/claims/{town.waiting}")
        await expect(page.locator("#state")).to_contain_text(re.compile("releas"))


async def test_a_job_is_linted_as_it_is_typed_and_posted(opened: Opened, town: Town) -> None:
    async with opened(town.agents["noor"]["live"], allowed=(REFUSED,)) as page:
        await page.goto("/jobs/new")
        await page.get_by_label("Title").fill(f"Add {WORLD}")
        await page.get_by_label("What is wanted").fill("answer.json with a sum")
        await page.get_by_label("Currency").select_option("USD")
        criteria = page.get_by_label("Criteria")
        good = await criteria.input_value()
        await page.get_by_label("Category").fill("data-extraction")
        said = page.locator("[data-lint-output]")
        await expect(said).to_contain_text("can be posted")
        await criteria.fill('[{"id": "C1", "text": "x", "check": {"kind": "no_such_kind"}}]')
        await expect(said).to_contain_text("no_such_kind")
        await criteria.fill("[")
        await expect(said).to_contain_text("not JSON")
        await criteria.fill(good)
        await expect(said).to_contain_text("can be posted")
        await page.get_by_role("button", name="Post").click()
        await page.wait_for_url("**/jobs/job_*")
        await expect(page.get_by_role("heading", name=WORLD)).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("heading", name="Post a job")).to_be_visible()


async def test_a_page_shows_what_others_do_within_two_seconds(opened: Opened, served: Listening, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.goto("/jobs")
        other = await page.context.new_page()
        await other.goto("/jobs")
        await page.wait_for_timeout(300)
        await ok(await served.ask("POST", "/jobs", key=town.agents["noor"]["live"], json=job_body(title="Live one")))
        for each in (page, other):
            await expect(each.get_by_role("link", name="Live one")).to_be_visible(timeout=LIVE_MS)
        await other.close()


async def test_an_agents_page_lives_on_its_own_changes(opened: Opened, served: Listening, town: Town) -> None:
    async with opened(town.agents["bruno"]["live"]) as page:
        await page.goto("/")
        await page.wait_for_timeout(300)
        posted = await ok(
            await served.ask("POST", "/jobs", key=town.agents["noor"]["live"], json=job_body(title="For Bruno"))
        )
        path = f"/jobs/{posted['job_id']}/claim"
        await ok(await served.ask("POST", path, key=town.agents["bruno"]["live"]))
        await expect(page.locator("#claims").get_by_role("link", name="For Bruno")).to_be_visible(timeout=LIVE_MS)
        claims = await ok(await served.ask("GET", "/claims", key=town.agents["bruno"]["live"]))
        claim_id = claims["data"][0]["claim_id"]
        await page.goto(f"/claims/{claim_id}")
        await page.get_by_role("button", name="Begin the work").click()
        await expect(page.locator("#state")).to_contain_text("in progress")
        path = f"/claims/{claim_id}/evidence"
        await ok(await served.ask("POST", path, key=town.agents["bruno"]["live"], json=RIGHT))
        await expect(page.locator("#state")).to_contain_text("submitted", timeout=LIVE_MS)


async def test_what_is_being_typed_is_not_taken_away_by_news(opened: Opened, served: Listening, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.goto("/agents/noor")
        await page.get_by_text("Suspend", exact=True).first.click()
        await page.get_by_label("Why").fill("half a sent")
        await ok(await served.ask("POST", "/jobs", key=town.agents["noor"]["live"], json=job_body(title="News")))
        await page.wait_for_timeout(LIVE_MS)
        assert await page.get_by_label("Why").input_value() == "half a sent"


async def test_a_lost_connection_is_said_and_what_was_missed_is_shown(
    opened: Opened, served: Listening, town: Town
) -> None:
    async with opened(town.operator, allowed=("ERR_INTERNET_DISCONNECTED", "sse", "EventSource")) as page:
        await page.goto("/jobs")
        await page.wait_for_timeout(300)
        await page.evaluate("document.getElementById('live')['htmx-internal-data'].sseEventSource.close()")
        await page.context.set_offline(True)
        await page.evaluate("htmx.trigger('#live', 'htmx:sseError')")
        await expect(page.locator("#offline")).to_be_visible()
        await ok(await served.ask("POST", "/jobs", key=town.agents["noor"]["live"], json=job_body(title="Missed")))
        await page.context.set_offline(False)
        await page.reload()
        await expect(page.get_by_role("link", name="Missed")).to_be_visible()
        await expect(page.locator("#offline")).to_be_hidden()


async def test_the_board_is_filtered_without_a_reload_and_the_back_button_works(opened: Opened, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.goto("/jobs")
        await page.get_by_label("State").select_option("done")
        await page.wait_for_url("**/jobs?state=done*")
        await expect(page.locator("#board")).to_contain_text("Sum")
        await page.reload()
        await expect(page.get_by_label("State")).to_have_value("done")
        await page.go_back()
        await expect(page.get_by_label("State")).to_have_value("all")


async def test_the_operator_accepts_a_contract_pauses_and_lets_go_on(opened: Opened, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.goto("/agents/maya_r")
        contract = page.locator("#contract")
        await expect(contract).to_contain_text("What it offers instead")
        await contract.get_by_role("button", name="Accept what it offers").click()
        await expect(contract).not_to_contain_text("What it offers instead")
        await contract.get_by_role("button", name="Pause").click()
        await expect(contract).to_contain_text("paused")
        await contract.get_by_role("button", name="Go on").click()
        await expect(contract).not_to_contain_text("paused")


async def test_a_side_of_a_dispute_speaks(opened: Opened, town: Town) -> None:
    async with opened(town.agents["noor"]["live"]) as page:
        await page.goto(f"/disputes/{town.dispute}")
        await page.get_by_label("Statement").fill(f"It is not. {MARKUP}")
        await page.get_by_role("button", name="Say it").click()
        await expect(page.locator("#said")).to_contain_text(MARKUP)


async def test_a_review_is_sent(opened: Opened, town: Town) -> None:
    async with opened(town.agents["noor"]["live"]) as page:
        await page.goto(f"/claims/{town.verified}")
        await page.get_by_text("Review", exact=True).click()
        await page.get_by_label("Rating").select_option("4")
        await page.get_by_label("In words").fill(f"good {WORLD}")
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_text("Review", exact=True)).to_have_count(0)


async def test_a_refusal_is_told_where_it_happened(opened: Opened, town: Town) -> None:
    async with opened(town.agents["zed"]["live"], allowed=(REFUSED,)) as page:
        await page.goto("/ledger")
        await page.get_by_text("Pay out").click()
        await page.get_by_label("Amount").fill("1000000")
        await page.get_by_role("button", name="Ask for it").click()
        await expect(page.locator("form output")).to_have_class("bad")
        await expect(page.locator("form output")).not_to_be_empty()


async def test_a_verdict_is_replayed_where_it_is_shown(opened: Opened, town: Town) -> None:
    for who in (town.operator, town.agents["maya_r"]["live"]):
        async with opened(who, bypass_csp=True) as page:
            await page.goto(f"/claims/{town.verified}")
            await page.get_by_role("button", name="Replay").click()
            said = page.locator("form.call output", has_text="Revision 1")
            await expect(said).to_contain_text("agrees — C1")
            await expect(said).to_have_class("good")
            assert await serious(page) == []


async def test_the_town_lives_for_an_agent_who_is_not_concerned(opened: Opened, served: Listening, town: Town) -> None:
    async def did(path: str, **what: str) -> None:
        await ok(await served.ask("POST", f"/world/{path}", key=town.agents["maya_r"]["live"], json=what))

    async with opened(town.agents["zed"]["live"], reduced_motion="reduce") as page:
        await page.goto("/world")
        await page.wait_for_timeout(300)
        await did("move", place="board")
        walks = page.locator("#residents li", has_text="maya_r")
        await expect(walks).to_contain_text("on the way to board", timeout=LIVE_MS)
        await expect(page.locator("svg.town .walks animateTransform")).not_to_have_count(0)
        await did("chat", text=f"Heard by all {MARKUP}", reach="far")
        await expect(page.locator("#chat")).to_contain_text(f"Heard by all {MARKUP}", timeout=LIVE_MS)
        await did("board", title=f"News {WORLD}", text="Read them.")
        await expect(page.locator("#threads").get_by_role("link", name=f"News {WORLD}")).to_be_visible(timeout=LIVE_MS)
        assert await page.evaluate("window.pwned") is None


async def test_an_owner_speaks_posts_and_sets_out_for_their_agent(opened: Opened, town: Town) -> None:
    async with opened(town.agents["noor"]["live"]) as page:
        await page.goto("/world")
        await page.get_by_label("Say", exact=True).fill("Good morning to you all.")
        await page.get_by_role("button", name="To all").click()
        await expect(page.locator("#chat")).to_contain_text("Good morning to you all.")
        await expect(page.get_by_label("Say", exact=True)).to_have_value("")
        await page.get_by_text("Go somewhere").click()
        await page.get_by_label("Where to").select_option("computer")
        await page.get_by_role("button", name="Set out").click()
        await expect(page.locator("#residents li", has_text="noor")).to_contain_text("to computer")
        await page.goto(f"/world/board/{town.thread}")
        await page.get_by_label("Answer").fill(f"Who else? {MARKUP}")
        await page.get_by_role("button", name="Post it").click()
        await expect(page.locator("#posts")).to_contain_text(f"Who else? {MARKUP}")
    async with opened(town.operator) as page:
        await page.goto("/world")
        await expect(page.locator("#chat")).to_contain_text("Good morning to you all.")
        await expect(page.locator("main form")).to_have_count(0)


async def test_metrics_are_read_by_period_and_the_operator_begins_another(opened: Opened, town: Town) -> None:
    async with opened(town.operator) as page:
        await page.goto("/periods")
        row = page.get_by_role("row", name="@maya_r")
        await expect(row).to_contain_text("50 %")
        await expect(page.locator("figure.chart")).to_have_count(5)
        await page.get_by_label("Name").fill("second")
        await page.get_by_role("button", name="Begin it").click()
        await expect(page.locator("#metrics")).to_contain_text("No agent has done anything")
        await page.reload()
        await page.get_by_role("navigation", name="Periods").get_by_role("link", name="first").click()
        await expect(row).to_contain_text("50 %")
        await page.go_back()
        await expect(page.locator("#metrics")).to_contain_text("No agent has done anything")
