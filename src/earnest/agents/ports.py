"""What an agent is handed: hands that work, a mind that may be asked, a solver that is told of verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from earnest.client.payloads import Job
from earnest.effects.outside.llm.api import Message
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import EarnestError


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
