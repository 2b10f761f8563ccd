"""Web search: one protocol, three engines; results come in the engine's order."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from earnest.effects.outside.web.fetching import FetchLimits, Page, Request, Web
from earnest.effects.outside.web.text import RESULTS_MAX, Found, results_of
from earnest.foundation.errors import Unavailable


class Engine(StrEnum):
    """Who is asked."""

    DUCKDUCKGO = "duckduckgo"
    GOOGLE = "google"
    SERPER = "serper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """An engine and how it knows us. `cx` is Google's number of the search engine to be used."""

    engine: Engine = Engine.DUCKDUCKGO
    api_key: str = field(default="", repr=False)
    cx: str = ""

    async def search(self, web: Web, query: str, limits: FetchLimits) -> list[Found]:
        """At most `RESULTS_MAX` results. Raises `Unavailable` for everything but an answer that can be read."""
        url, request = _ASKED[self.engine](self, query)
        page = await web.fetch(url, limits=limits, request=request)
        if page.status != 200:
            raise Unavailable(f"{self.engine} answered {page.status}")
        if self.engine is Engine.DUCKDUCKGO:
            return await results_of(page)
        return _of_json(self.engine, page)


def _duckduckgo(_searcher: Searcher, query: str) -> tuple[str, Request]:
    return "https://html.duckduckgo.com/html/", Request(content=urlencode({"q": query}).encode())


def _google(searcher: Searcher, query: str) -> tuple[str, Request]:
    asked = urlencode({"cx": searcher.cx, "num": RESULTS_MAX, "q": query})
    return f"https://www.googleapis.com/customsearch/v1?{asked}", Request(headers={"X-Goog-Api-Key": searcher.api_key})


def _serper(searcher: Searcher, query: str) -> tuple[str, Request]:
    content = json.dumps({"q": query}).encode()
    headers = {"X-API-KEY": searcher.api_key, "Content-Type": "application/json"}
    return "https://google.serper.dev/search", Request(content=content, headers=headers)


_ASKED: Final[dict[Engine, Callable[[Searcher, str], tuple[str, Request]]]] = {
    Engine.DUCKDUCKGO: _duckduckgo,
    Engine.GOOGLE: _google,
    Engine.SERPER: _serper,
}
_LISTS: Final = {Engine.GOOGLE: "items", Engine.SERPER: "organic"}


def _of_json(engine: Engine, page: Page) -> list[Found]:
    """An answer without the list says that there is none: both engines leave out what is empty."""
    try:
        answer = json.loads(page.body)
        entries = answer.get(_LISTS[engine], [])
        return [Found.of(each["title"], each["link"], each.get("snippet", "")) for each in entries[:RESULTS_MAX]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Unavailable(f"{engine} gave an answer that cannot be read") from None
