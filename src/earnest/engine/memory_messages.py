"""What is said about memory: by the user or an agent between runs, by R7 in answer, and by R5 about itself."""

from dataclasses import dataclass

from earnest.memory.megram import Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberRequested:
    """The user wants a rule remembered; `avoid` makes it a MUST NOT."""

    text: str
    tag: Tag
    avoid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequested:
    """The user wants an entry forgotten."""

    megram_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackGiven:
    """An agent tells of a verdict that others gave on its work of such a task: `is_good`, or not, and why."""

    job: str
    task_class: str
    criteria: tuple[str, ...]
    is_good: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MegramWithdrawn:
    """R7, the only writer of memory, takes an entry back."""

    megram_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecalled:
    """R5 gave rules, or a plan used contents: their age counts from now."""

    megram_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamEvent:
    """What memory did by itself, or to the persona: `what` as in the facts, and the entries that are gone or new."""

    what: str
    gone: tuple[str, ...]
    new: tuple[str, ...]
