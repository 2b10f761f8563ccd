"""What memory has to say, and what is said about it: by R2 and R5, by the user or an agent between runs, and by R7."""

from dataclasses import dataclass

from earnest.engine.gradient.lessons import Lesson
from earnest.memory.megram import Tag
from earnest.memory.potential import Advice, Potentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Common sense (C level): what must not be done (`avoid`) or should be preferred. The id comes back in plans."""

    id: str
    text: str
    avoid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """What memory has to say about one tag: the potentials, the newest contents, the rules, and untried ideas.

    `content_ids` are the entries of `contents`, in order. `hypotheses` may be shown to a planner under break_symmetry
    only.
    """

    tag: Tag
    potentials: Potentials
    contents: tuple[str, ...] = ()
    content_ids: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    hypotheses: tuple[str, ...] = ()

    @property
    def action(self) -> Advice:
        """What the newest rule says; where there is none, what the potentials say."""
        if self.rules:
            return Advice.AVOID if self.rules[0].avoid else Advice.EXPLOIT
        return self.potentials.action


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAsked:
    """R2 asks R5 before it plans."""

    tags: tuple[Tag, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAnswered:
    """R5's answer, in the order of the question."""

    recollections: tuple[Recollection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MegramEmitted:
    """R7, the only writer of memory, leaves something behind."""

    megram_id: str
    lesson: Lesson


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
