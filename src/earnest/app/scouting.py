"""What looks for work on the web for a proposer, as its operator's environment allows it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from earnest.agents.backlog import Backlog
from earnest.agents.book import JsonLinesBook
from earnest.agents.discovery import FIVERR, REWARD_MICRO, Discovery, WebScout, read_discovery
from earnest.agents.means import Mind
from earnest.app.agent_settings import Searching
from earnest.effects.ground.clock import SystemClock
from earnest.effects.outside.web.fetching import FetchedPage, Web

FOUND: Final = "found"
PAGES: Final = "pages"
"""Folders of the agent: specifications of what was found, and the pages that they were made of."""


def scout_of(
    wanted: Searching,
    environment: Mapping[str, str],
    mind: Mind,
    backlog: Backlog,
    *,
    folder: Path,
    book: JsonLinesBook,
) -> WebScout:
    """Raises `Refused("validation")` for an allowlist that holds what is no host."""

    async def keep(page: FetchedPage) -> None:
        (folder / PAGES).mkdir(mode=0o700, exist_ok=True)
        (folder / PAGES / page.digest.removeprefix("sha256:")).write_bytes(page.body)

    clock = SystemClock()
    discovery = Discovery(settings=read_discovery(environment), web=Web(clock), drafter=mind, keep=keep)
    return WebScout(
        discovery=discovery,
        backlog=backlog,
        book=book,
        folder=folder / FOUND,
        clock=clock,
        topics=FIVERR.topics if wanted.topics is None else wanted.topics,
        amount_micro=REWARD_MICRO if wanted.amount_micro is None else wanted.amount_micro,
    )
