"""What memory tells those who work a subtask: R2 reads it for them, since executors never ask it (seed, R5)."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from earnest.engine.messages import PlannedSubTask, PlanReady
from earnest.engine.recollection import Recollection
from earnest.foundation.text import printable
from earnest.memory.megram import approach_tag
from earnest.memory.potential import Advice

HEAD: Final = "What memory has of such work:"
LINES_MAX: Final = 10
LINE_CHARACTERS_MAX: Final = 200
_WORDS: Final = {Advice.EXPLOIT: "went well", Advice.AVOID: "went badly", Advice.CAUTION: "went now well, now badly"}


def with_memory(plan: PlanReady, task_class: str, recollections: Collection[Recollection]) -> PlanReady:
    """The plan whose subtasks hold what memory has to say about them, after what their planner wrote.

    Of an approach's experience only that of the chosen one is told. Whose outcome stands is told nothing.
    """
    return replace(
        plan,
        subtasks=tuple(
            one if one.id in plan.carried else replace(one, context=_told(one, task_class, recollections))
            for one in plan.subtasks
        ),
    )


def _told(subtask: PlannedSubTask, task_class: str, recollections: Collection[Recollection]) -> str:
    own = subtask.context.partition(HEAD)[0].rstrip()
    chosen = approach_tag(task_class, subtask.id, subtask.approach.id) if subtask.approach else None
    about = (one for one in recollections if not one.tag.space.startswith("approach:") or one.tag == chosen)
    lines = [printable(line)[:LINE_CHARACTERS_MAX] for line in islice(_lines(about), LINES_MAX)]
    return "\n".join([*([own] if own else []), *([HEAD, *lines] if lines else [])])


def _lines(about: Iterator[Recollection]) -> Iterator[str]:
    """Rules first, then how things went with the newest of what happened."""
    known = list(about)
    for one in known:
        yield from (f"- {'MUST NOT' if rule.avoid else 'SHOULD PREFER'}: {rule.text}" for rule in one.rules)
    for one in known:
        if one.action in _WORDS and not one.rules:
            newest = f": {one.contents[0]}" if one.contents else ""
            yield f"- {one.tag.space} {one.tag.entity} {_WORDS[one.action]}{newest}"
