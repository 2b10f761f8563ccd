"""Web search: one protocol, three engines; results come in the engine's order."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from earnest.effects.outside.web.fetching import FetchedPage, FetchLimits, FetchRequest, Web
from earnest.effects.outside.web.text import RESULTS_MAX, SearchResult, results_of
from earnest.foundation.errors import Unavailable


class SearchEngine(StrEnum):
    """Who is asked."""

    DUCKDUCKGO = "duckduckgo"
    GOOGLE = "google"
    SERPER = "serper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """An engine and how it knows us. `cx` is Google's number of the search engine to be used."""

    engine: SearchEngine = SearchEngine.DUCKDUCKGO
    api_key: str = field(default="", repr=False)
    cx: str = ""

    async def search(self, web: Web, query: str, limits: FetchLimits) -> list[SearchResult]:
        """At most `RESULTS_MAX` results. Raises `Unavailable` for everything but an answer that can be read."""
        url, request = self._asked(query)
        page = await web.fetch(url, limits=limits, request=request)
        if page.status != 200:
            raise Unavailable(f"{self.engine} answered {page.status}")
        if self.engine is SearchEngine.DUCKDUCKGO:
            return await results_of(page)
        return _of_json(self.engine, page)

    def _asked(self, query: str) -> tuple[str, FetchRequest]:
        match self.engine:
            case SearchEngine.DUCKDUCKGO:
                return "https://html.duckduckgo.com/html/", FetchRequest(content=urlencode({"q": query}).encode())
            case SearchEngine.GOOGLE:
                asked = urlencode({"cx": self.cx, "num": RESULTS_MAX, "q": query})
                request = FetchRequest(headers={"X-Goog-Api-Key": self.api_key})
                return f"https://www.googleapis.com/customsearch/v1?{asked}", request
            case SearchEngine.SERPER:
                headers = {"X-API-KEY": self.api_key, "Content-Type": "application/json"}
                content = json.dumps({"q": query}).encode()
                return "https://google.serper.dev/search", FetchRequest(content=content, headers=headers)


_LISTS: Final = {SearchEngine.GOOGLE: "items", SearchEngine.SERPER: "organic"}


def _of_json(engine: SearchEngine, page: FetchedPage) -> list[SearchResult]:
    """An answer without the list says that there is none: both engines leave out what is empty."""
    try:
        answer = json.loads(page.body)
        entries = answer.get(_LISTS[engine], [])
        return [SearchResult.of(each["title"], each["link"], each.get("snippet", "")) for each in entries[:RESULTS_MAX]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Unavailable(f"{engine} gave an answer that cannot be read") from None
