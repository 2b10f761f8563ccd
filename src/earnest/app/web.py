"""Agents' use of the web, and the search engine, as the operator set them up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from earnest.effects.ground.clock import Clock
from earnest.effects.hands.tools.api import Leave, Tool
from earnest.effects.hands.tools.fetch import Fetch
from earnest.effects.hands.tools.search import Search
from earnest.effects.outside.web.fetching import Web
from earnest.effects.outside.web.searching import SearchEngine, Searcher

KEY_VARIABLE: Final = "EARNEST_SEARCH_API_KEY"
TEXT_CHARACTERS_MAX: Final = 1_000

Fault = Callable[[str, str], None]
"""Notes a fault, and the key at whose line it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """The table `[web]`. `search` and `fetch`: the tool needs no further leave."""

    search: bool = False
    fetch: bool = False
    engine: SearchEngine = SearchEngine.DUCKDUCKGO
    api_key: str = field(default="", repr=False)
    cx: str = ""
    """Google's number of the search engine to be used."""


def read_web(given: object, environment: Mapping[str, str], fault: Fault) -> WebSettings:
    """The table, over whose `api_key` the environment wins."""
    if not isinstance(given, dict):
        fault("web must be a table, [web]", "web")
        return WebSettings()
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in {"search", "fetch"} and isinstance(value, bool):
            values[name] = value
        elif name == "engine" and value in list(SearchEngine):
            values[name] = SearchEngine(value)
        elif name in {"api_key", "cx"} and isinstance(value, str) and len(value) <= TEXT_CHARACTERS_MAX:
            values[name] = value.strip()
        else:
            fault("[web] " + _WANTED.get(name, f"{name} is not one of {', '.join(_WANTED)}"), name)
    if key := environment.get(KEY_VARIABLE, "").strip():
        values["api_key"] = key
    settings = WebSettings(**values)
    if settings.engine is not SearchEngine.DUCKDUCKGO and not (
        settings.api_key.isascii() and settings.api_key.isprintable()
    ):
        fault(f"[web] api_key ({KEY_VARIABLE}) must be printable ASCII", "engine")
    if settings.engine is not SearchEngine.DUCKDUCKGO and not settings.api_key:
        fault(f"[web] the engine {settings.engine} needs api_key ({KEY_VARIABLE})", "engine")
    if settings.engine is SearchEngine.GOOGLE and not settings.cx:
        fault("[web] the engine google needs cx", "engine")
    return settings


def web_tools(settings: WebSettings, clock: Clock) -> tuple[Tool, ...]:
    """The tools that reach the public web. What the settings leave to them needs no leave of a run or a person."""
    web = Web(clock)
    searcher = Searcher(engine=settings.engine, api_key=settings.api_key, cx=settings.cx)
    return (
        Search(web, searcher, leave=Leave.NONE if settings.search else Leave.NETWORK),
        Fetch(web, leave=Leave.NONE if settings.fetch else Leave.NETWORK),
    )


_WANTED: Final = {
    "search": "search must be true or false",
    "fetch": "fetch must be true or false",
    "engine": f"engine must be one of {', '.join(SearchEngine)}",
    "api_key": "api_key must be a text",
    "cx": "cx must be a text",
}
