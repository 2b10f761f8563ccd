"""The tools as the operator set them up: the built-in ones, the system's, the web's, and those of MCP servers."""

from pathlib import Path

from earnest.app.mcp import sources_of
from earnest.app.settings import Settings, WebSettings
from earnest.effects.ground.clock import Clock
from earnest.effects.hands.tools.api import Leave, Tool
from earnest.effects.hands.tools.macos import tools_of
from earnest.effects.hands.tools.program import ProgramTool
from earnest.effects.hands.tools.search_files import SearchFiles
from earnest.effects.hands.tools.toolbox import Toolbox, built_in
from earnest.effects.hands.tools.web import Fetch, Search
from earnest.effects.outside.web.fetching import Web
from earnest.effects.outside.web.searching import Searcher


def toolbox_for(settings: Settings, clock: Clock) -> Toolbox:
    """Nothing is started before the toolbox is opened; whoever opens it closes it."""
    tools = (*tools_of(), SearchFiles(Path.home()), *built_in(), ProgramTool(), *web_tools(settings.web, clock))
    return Toolbox(clock, tools, sources=sources_of(settings.mcp_servers))


def web_tools(settings: WebSettings, clock: Clock) -> tuple[Tool, ...]:
    """The tools that reach the public web. What the settings leave to them needs no leave of a run or a person."""
    web = Web(clock)
    searcher = Searcher(engine=settings.engine, api_key=settings.api_key, cx=settings.cx)
    return (
        Search(web, searcher, leave=Leave.NONE if settings.search else Leave.NETWORK),
        Fetch(web, leave=Leave.NONE if settings.fetch else Leave.NETWORK),
    )
