"""The world of a platform, where it has one."""

from typing import Final

from earnest.agents.state import TownSeen
from earnest.client.client import AsyncClient
from earnest.client.problem import Problem

UNKNOWN: Final = frozenset({404, 405, 501})
LINES_MAX: Final = 10
"""Of the chat, and threads of the board."""


class World:
    """Asked for when there is time for it; a platform that knows no such thing is not asked again."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._is_there = True

    async def look(self) -> tuple[TownSeen | None, list[str]]:
        """The world and what was said in it, a line each; None where there is no world."""
        if not self._is_there:
            return None, []
        try:
            summary = await self._client.world_summary()
            chat = (await self._client.list_chat(limit=LINES_MAX))["data"]
            board = (await self._client.list_threads(limit=LINES_MAX))["data"]
        except Problem as problem:
            if problem.status not in UNKNOWN:
                raise
            self._is_there = False
            return None, []
        return TownSeen(summary=summary, board=board), [f"{one['handle']}: {one['text']}" for one in chat]
