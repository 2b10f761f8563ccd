"""Chromium, and a platform that listens with a town on it: one of each for all tests in this folder."""

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, Request, async_playwright

from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.web.fetching import Web
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from surfaces.web.conftest import GENEROUS, START_MS
from surfaces.web.listening import Listening, listening

from .town import Town, fill

CHROMIUM = Path(os.environ.get("EARNEST_TEST_CHROMIUM", "/usr/bin/chromium"))
IS_REQUIRED = "EARNEST_TEST_CHROMIUM" in os.environ
IS_THERE = CHROMIUM.is_file()
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
WAIT_MS = 15_000

Opened = Callable[..., AbstractAsyncContextManager[Page]]


@contextlib.contextmanager
def a_market(folder: Path) -> Any:
    """An empty market, with a clock of its own."""
    clock = VirtualClock(START_MS)
    with contextlib.closing(Database.open(folder / "books.sqlite", clock)) as database:
        registry = Registry()
        yield Market(
            desk=Desk(database, clock, SeededChance(7)),
            terms=Terms(),
            verifier=Verifier(registry=registry, sandbox=None, clock=clock),
            registry=registry,
            artifacts=ArtifactStore(folder / "artifacts"),
            web=Web(clock),
        )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if not IS_THERE and not IS_REQUIRED:
        pytest.skip(f"there is no Chromium at {CHROMIUM}")
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield found
        await found.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    with a_market(tmp_path_factory.mktemp("town")) as market:
        async with listening(market, GENEROUS) as site:
            yield site
            site.app.state.streams.end()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def town(served: Listening) -> Town:
    return await fill(served)


@pytest.fixture
def opened(browser: Browser, served: Listening) -> Opened:
    """A page of a visitor: `key` signs in, by default on the town's platform. Whatever it complains of, or asks of
    others, fails the test at its end.
    """

    @contextlib.asynccontextmanager
    async def open_page(
        key: str = "", *, url: str = served.url, allowed: tuple[str, ...] = (), **options: Any
    ) -> AsyncIterator[Page]:
        context = await browser.new_context(base_url=url, **options)
        context.set_default_timeout(WAIT_MS)
        wrong: list[str] = []
        _listen(context, url, wrong)
        page = await context.new_page()
        if key:
            await sign_in(page, key)
        try:
            yield page
        finally:
            await context.close()
        assert [one for one in wrong if not any(text in one for text in allowed)] == []

    return open_page


async def sign_in(page: Page, key: str) -> None:
    await page.goto("/login")
    await page.get_by_label("Key").fill(key)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/")


def _listen(context: BrowserContext, url: str, wrong: list[str]) -> None:
    def asked(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            wrong.append(f"asked {request.url}")

    context.on("request", asked)
    context.on(
        "console", lambda said: wrong.append(f"console: {said.text}") if said.type in {"error", "warning"} else None
    )
    context.on("weberror", lambda error: wrong.append(f"error: {error.error}"))
