"""The tools as the operator set them up: the built-in ones, the system's, the web's, and those of MCP servers."""

from pathlib import Path

from earnest.app.mcp import sources_of
from earnest.app.settings import Settings
from earnest.app.web import web_tools
from earnest.effects.ground.clock import Clock
from earnest.effects.hands.tools.macos import tools_of
from earnest.effects.hands.tools.program import ProgramTool
from earnest.effects.hands.tools.search_files import SearchFiles
from earnest.effects.hands.tools.toolbox import Toolbox, built_in


def toolbox_for(settings: Settings, clock: Clock) -> Toolbox:
    """Nothing is started before the toolbox is opened; whoever opens it closes it."""
    tools = (*tools_of(), SearchFiles(Path.home()), *built_in(), ProgramTool(), *web_tools(settings.web, clock))
    return Toolbox(clock, tools, sources=sources_of(settings.mcp_servers))
