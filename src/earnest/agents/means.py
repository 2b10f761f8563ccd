"""What the five functions of a tick work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from earnest.agents.backlog import Backlog
from earnest.agents.book import JsonLinesBook
from earnest.agents.ports import JobHands, Mind, Scout, Teacher
from earnest.agents.state import AgentRole, TownSeen
from earnest.client.client import AsyncClient
from earnest.client.problem import Problem
from earnest.effects.ground.clock import Clock

VERDICT_MS: Final = 60_000
NO_WORLD: Final = frozenset({404, 405, 501})
LINES_MAX: Final = 10
"""Of the chat of a world, and threads of its board."""


class World:
    """The world of a platform, asked for when there is time for it; one that knows no such thing is not asked again."""

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
            if problem.status not in NO_WORLD:
                raise
            self._is_there = False
            return None, []
        return TownSeen(summary=summary, board=board), [f"{one['handle']}: {one['text']}" for one in chat]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """`folder` holds the work of claims. `mind` None: code decides. `health`: what the agent says of itself."""

    client: AsyncClient
    role: AgentRole
    folder: Path
    book: JsonLinesBook
    backlog: Backlog
    hands: JobHands
    teacher: Teacher
    clock: Clock
    world: World
    mind: Mind | None = None
    scout: Scout | None = None
    """None: it never looks for work on the web."""
    verdict_ms: int = VERDICT_MS
    """How long it waits for the verdict on what it has just handed in."""
    say: Callable[[str, str], None] = field(default=lambda _part, _what: None)
    """Notes in what state a part of it is, such as its model; empty: well."""
