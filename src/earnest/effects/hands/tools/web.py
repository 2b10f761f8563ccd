"""Tools of the public web: one reads a page, one searches."""

from typing import Final

from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.arguments import TEXT, object_schema, text, text_faults, texts_schema
from earnest.effects.hands.tools.failures import environmental, logical
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.effects.outside.web.addresses import URL_CHARACTERS_MAX, web_address
from earnest.effects.outside.web.fetching import FetchedPage, FetchLimits, Web
from earnest.effects.outside.web.searching import Searcher
from earnest.effects.outside.web.text import text_of
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable

DEADLINE_MS_MAX: Final = 60_000
PART_CHARACTERS: Final = 3_400
"""So that a part and the line above it fit into the excerpt of a record: what was read is what is shown."""
PARTS_MAX: Final = 200
URL_SHOWN: Final = 300
QUERY_BYTES_MAX: Final = 512


class Fetch(Tool):
    """`fetch {url, part?}`: a page as text, in parts of `PART_CHARACTERS`; the first line says what it is."""

    name = "fetch"
    reads_only = True
    purpose = "Read a page of the public web as text, in numbered parts; the first one without `part`."
    args_schema = object_schema(
        {
            "url": {**TEXT, "description": "https://…"},
            "part": {"type": "integer", "minimum": 1, "maximum": PARTS_MAX},
        },
        ("url",),
    )

    def __init__(self, web: Web, *, leave: Leave = Leave.NETWORK) -> None:
        self.leave = leave
        self._web = web

    def args_faults(self, args: JsonObject) -> list[str]:
        """See `Tool`."""
        faults = text_faults({name: args[name] for name in args if name != "part"}, {"url": URL_CHARACTERS_MAX})
        part = args.get("part", 1)
        if type(part) is not int or not 1 <= part <= PARTS_MAX:
            faults.append(f"part must be 1 to {PARTS_MAX}")
        if not faults:
            try:
                web_address(text(args, "url"))
            except Refused as refused:
                faults.append(str(refused))
        return faults

    def target(self, args: JsonObject) -> str:
        """The address in its one form, without fragment."""
        return str(web_address(text(args, "url")))

    async def run(self, call: ToolCall, _place: ToolPlace) -> RawResult:
        """See `Tool`."""
        part = call.args.get("part", 1)
        assert isinstance(part, int)
        try:
            limits = FetchLimits(deadline_ms=min(call.timeout_ms, DEADLINE_MS_MAX))
            page = await self._web.fetch(text(call.args, "url"), limits=limits)
            said = await text_of(page)
        except Refused as refused:
            return RawResult(failure=logical(refused.code, str(refused)))
        except Unavailable as error:
            return RawResult(failure=environmental("network", str(error)))
        return _result(page, said, part)


def _result(page: FetchedPage, said: str, part: int) -> RawResult:
    parts = min(PARTS_MAX, max(1, -(-len(said) // PART_CHARACTERS)))
    about = f"{page.url[:URL_SHOWN]} ({page.status}, {page.content_type[:60] or 'no type'}, {page.digest})"
    if page.status >= 400:
        failure = environmental("http_status", f"{page.url} answered {page.status}")
        return RawResult(stdout=said[:PART_CHARACTERS].encode(errors="replace"), failure=failure)
    if part > parts:
        return RawResult(failure=logical("no_part", f"{page.url} has {parts} parts"))
    shown = said[(part - 1) * PART_CHARACTERS : part * PART_CHARACTERS]
    return RawResult(stdout=f"{about}, part {part} of {parts}\n{shown}".encode(errors="replace"))


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
