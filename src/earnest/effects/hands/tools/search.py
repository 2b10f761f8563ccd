"""The tool that searches the web."""

from typing import Final

from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import text, text_faults, texts_schema
from earnest.effects.hands.tools.failures import environmental
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.effects.outside.web.fetching import FetchLimits, Web
from earnest.effects.outside.web.searching import Searcher
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable

QUERY_BYTES_MAX: Final = 512
DEADLINE_MS_MAX: Final = 60_000


class Search(Tool):
    """`search {query}`: the first results, each with title, address and snippet; what they say is not checked."""

    name = "search"
    reads_only = True
    purpose = "Search the web: titles, addresses and snippets. Read what is behind them with fetch."
    args_schema = texts_schema(query="a few words")

    def __init__(self, web: Web, searcher: Searcher, *, leave: Leave = Leave.NETWORK) -> None:
        self.leave = leave
        self.version = f"1 {searcher.engine}"
        self._web = web
        self._searcher = searcher

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults(args, {"query": QUERY_BYTES_MAX})
        return faults or ([] if self.target(args) else ["query is empty"])

    def target(self, args: JsonObject) -> str:
        """The query with every stretch of white space as one space."""
        return " ".join(text(args, "query").split())

    async def run(self, call: ToolCall, _place: ToolPlace) -> RawResult:
        """See `Tool`."""
        limits = FetchLimits(deadline_ms=min(call.timeout_ms, DEADLINE_MS_MAX))
        try:
            found = await self._searcher.search(self._web, self.target(call.args), limits)
        except (Refused, Unavailable) as error:
            return RawResult(failure=environmental("network", str(error)))
        entries = [f"{number}. {one.title}\n{one.url}\n{one.snippet}" for number, one in enumerate(found, start=1)]
        return RawResult(stdout="\n".join(entries or ["no results"]).encode(errors="replace"))
