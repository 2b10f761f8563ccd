"""What the five functions of a tick work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from earnest.agents.backlog import Backlog
from earnest.agents.book import JsonLinesBook
from earnest.agents.ports import JobHands, Mind, Scout, Teacher
from earnest.agents.state import AgentRole
from earnest.agents.world import World
from earnest.client.client import AsyncClient
from earnest.effects.ground.clock import Clock

VERDICT_MS: Final = 60_000


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
