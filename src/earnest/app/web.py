"""Agents' use of the web, and the search engine, as the operator set them up."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from earnest.app.tables import Fault, over, read_table
from earnest.effects.ground.clock import Clock
from earnest.effects.hands.tools.api import Leave, Tool
from earnest.effects.hands.tools.web import Fetch, Search
from earnest.effects.outside.web.fetching import Web
from earnest.effects.outside.web.searching import SearchEngine, Searcher
from earnest.foundation.bounds import Fitting

KEY_VARIABLE: Final = "EARNEST_SEARCH_API_KEY"
_TEXT: Final = Fitting(lambda text: len(text) <= 1_000, "a text")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """The table `[web]`. `search` and `fetch`: the tool needs no further leave."""

    search: bool = False
    fetch: bool = False
    engine: SearchEngine = SearchEngine.DUCKDUCKGO
    api_key: Annotated[str, _TEXT] = field(default="", repr=False)
    cx: Annotated[str, _TEXT] = ""
    """Google's number of the search engine to be used."""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not go together, each in words and with its key."""
        if self.engine is not SearchEngine.DUCKDUCKGO and not (self.api_key.isascii() and self.api_key.isprintable()):
            yield f"api_key ({KEY_VARIABLE}) must be printable ASCII", "engine"
        if self.engine is not SearchEngine.DUCKDUCKGO and not self.api_key:
            yield f"the engine {self.engine} needs api_key ({KEY_VARIABLE})", "engine"
        if self.engine is SearchEngine.GOOGLE and not self.cx:
            yield "the engine google needs cx", "engine"


def read_web(given: object, environment: Mapping[str, str], fault: Fault) -> WebSettings:
    """The table, over whose `api_key` the environment wins."""
    web = read_table(over(given, {"api_key": KEY_VARIABLE}, environment), WebSettings(), "web", fault)
    return replace(web, api_key=web.api_key.strip(), cx=web.cx.strip())


def web_tools(settings: WebSettings, clock: Clock) -> tuple[Tool, ...]:
    """The tools that reach the public web. What the settings leave to them needs no leave of a run or a person."""
    web = Web(clock)
    searcher = Searcher(engine=settings.engine, api_key=settings.api_key, cx=settings.cx)
    return (
        Search(web, searcher, leave=Leave.NONE if settings.search else Leave.NETWORK),
        Fetch(web, leave=Leave.NONE if settings.fetch else Leave.NETWORK),
    )
