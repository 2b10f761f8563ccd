"""What the five functions of a tick work with: hands that work, a mind that may be asked, a solver that is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from earnest.agents.backlog import Backlog
from earnest.agents.book import JsonLinesBook
from earnest.agents.state import AgentRole, TownSeen
from earnest.client.client import AsyncClient
from earnest.client.payloads import Job
from earnest.client.problem import Problem
from earnest.effects.ground.clock import Clock
from earnest.effects.outside.llm.api import Message
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import EarnestError

VERDICT_MS: Final = 60_000
NO_WORLD: Final = frozenset({404, 405, 501})
LINES_MAX: Final = 10
"""Of the chat of a world, and threads of its board."""


class WorkFailed(EarnestError):
    """The work could not be done; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """A job to be worked in the folder `workspace`, which holds what the revision before left.

    `feedback`: what was not met, a line each. `kept`: a file that may note what a restart needs to go on.
    """

    job: Job
    claim_id: str
    workspace: Path
    kept: Path
    feedback: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """What whoever worked says, its Evidence section included, and by which approach to which class of task."""

    said: str
    task_class: str
    approach: str


class JobHands(Protocol):
    """Whoever does the work of a job: a program, or the engine."""

    def can(self, job: Job) -> bool:
        """Is there a way to do such a job?"""

    async def work(self, order: WorkOrder) -> WorkReport:
        """Do it. Raises `WorkFailed`. Cancelled or killed, it may be asked again for the same."""


class Mind(Protocol):
    """A model that chooses."""

    async def choose(self, messages: Sequence[Message], form: JsonObject) -> JsonObject:
        """One call; an object of this form. Raises `Unavailable` where no model, or no such object, answers."""


class Scout(Protocol):
    """Whoever looks for work on the web."""

    def searches(self) -> list[str]:
        """What could be searched for now."""

    async def look(self, search: str) -> str:
        """Search, and make at most one entry of the backlog of it; what came of it, in words. Raises `Unavailable`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFeedback:
    """A verdict on work of mine. `key` is the same for the same verdict."""

    key: str
    job: str
    task_class: str
    criteria: tuple[str, ...]
    is_good: bool
    why: str


class Teacher(Protocol):
    """The way to the engine's solver, which alone writes its memory."""

    async def feedback(self, feedback: VerdictFeedback) -> None:
        """Tell it of a verdict; the same one again changes nothing."""


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
