"""The way of a verdict to the engine's solver: a message in the agent's own books, of which it makes a Megram."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from earnest.agents.ports import VerdictFeedback
from earnest.engine.memory_messages import FeedbackGiven

if TYPE_CHECKING:
    from earnest.runtime.remembering import Remembering  # loads the books, which an idle agent has no use for


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverTeacher:
    """See `Teacher`. The books are open only while something is told: the agent's engine needs them, too."""

    open_memory: "Callable[[], AbstractAsyncContextManager[Remembering]]"

    async def feedback(self, feedback: VerdictFeedback) -> None:
        """See `Teacher`."""
        async with self.open_memory() as remembering:
            await remembering.feedback(
                feedback.key,
                FeedbackGiven(
                    job=feedback.job,
                    task_class=feedback.task_class,
                    criteria=feedback.criteria,
                    is_good=feedback.is_good,
                    why=feedback.why,
                ),
            )
