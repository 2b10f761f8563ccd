"""An agent's promise in its HEARTBEAT.md."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from earnest.foundation.canonical import JsonValue, digest_of
from earnest.foundation.errors import Diagnostic

TASKS_MAX: Final = 500
ID_CHARACTERS_MAX: Final = 64
LINE_CHARACTERS_MAX: Final = 4_000
ATTEMPTS_MAX: Final = 20
ATTEMPTS: Final = 3
EVERY_S_MIN: Final = 60
EVERY_S_MAX: Final = 31 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatTask:
    """One line with a box. Two are equal that promise the same and are ticked alike, wherever they stand.

    `verify` is empty without a hint. `max_attempts`: 1 to `ATTEMPTS_MAX`. `every_s`: `EVERY_S_MIN` to `EVERY_S_MAX`;
    None: each time. A task that is not structured is a plain box: no fields were agreed, so it is not required.
    """

    id: str
    description: str
    required: bool = True
    verify: str = ""
    max_attempts: int = ATTEMPTS
    every_s: int | None = None
    is_structured: bool = True
    is_ticked: bool = False
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatContract:
    """A HEARTBEAT.md as it was read. `context` is what it says beside its tasks, comments and front matter left out;
    empty, too, if that is nothing but titles. `digest` names the tasks: ticks, order and context do not change it.
    """

    tasks: tuple[HeartbeatTask, ...]
    context: str
    digest: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_empty(self) -> bool:
        """There is nothing to do and nothing to read."""
        return not self.tasks and not self.context


def digest_of_tasks(tasks: Iterable[HeartbeatTask]) -> str:
    """The same for the same promises, in any order."""
    return digest_of([promise_of(task) for task in sorted(tasks, key=lambda task: task.id)])


def promise_of(task: HeartbeatTask) -> dict[str, JsonValue]:
    """The task as data, without what it does not promise: its tick and its line."""
    return {
        "id": task.id,
        "description": task.description,
        "required": task.required,
        "verify": task.verify,
        "max_attempts": task.max_attempts,
        "every_s": task.every_s,
        "is_structured": task.is_structured,
    }
