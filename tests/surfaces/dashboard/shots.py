"""Pictures of the main pages, light and dark: `python -m surfaces.dashboard.shots FOLDER`, from `tests`."""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.async_api import async_playwright

from surfaces.web.conftest import GENEROUS
from surfaces.web.listening import listening

from . import town as towns
from .conftest import ARGUMENTS, CHROMIUM, a_market, sign_in
from .town import fill


async def take(folder: Path) -> None:
    """One picture of each page, on a town where nobody writes what must only ever be text."""
    towns.MARKUP, towns.WORLD = "", "of the third quarter"
    towns.CONTRACT = towns.PLAIN_CONTRACT
    with tempfile.TemporaryDirectory() as home, a_market(Path(home)) as market:
        async with listening(market, GENEROUS) as site, async_playwright() as playwright:
            town = await fill(site)
            pages = {
                "today": "/",
                "jobs": "/jobs?state=all",
                "claim": f"/claims/{town.disputed}",
                "evidence": f"/claims/{town.verified}/evidence/1/0",
                "dispute": f"/disputes/{town.dispute}",
                "agent": "/agents/maya_r",
                "proof": f"/receipts/{town.rejected}",
                "ledger": "/ledger",
                "audit": "/audit",
                "world": "/world",
                "thread": f"/world/board/{town.thread}",
                "metrics": "/periods",
                "new": "/jobs/new",
                "public": "/",
            }
            browser = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
            shapes: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 1280), ("light", 360))
            for scheme, width in shapes:
                context = await browser.new_context(
                    base_url=site.url, color_scheme=scheme, viewport={"width": width, "height": 800}
                )
                page = await context.new_page()
                await sign_in(page, town.operator)
                for name, path in pages.items():
                    if name == "public":
                        await context.clear_cookies()
                    await page.goto(path)
                    await page.wait_for_timeout(200)
                    await page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=width < 1280)
                await context.close()
            await browser.close()
            site.app.state.streams.end()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(target))
