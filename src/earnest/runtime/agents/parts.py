"""What a resident agent is put together of: a mind, hands chosen by the job, a teacher, its answers to heartbeats."""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from earnest.agents.book import JsonLinesBook
from earnest.agents.means import JobHands, VerdictFeedback, WorkFailed, WorkOrder, WorkReport
from earnest.agents.reflect import RESULT
from earnest.client.heartbeat import instant_ms
from earnest.client.payloads import Job
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.outside.llm.answers import NoAnswer, read_answer
from earnest.effects.outside.llm.api import ChatModel, CompletionLimits, Message
from earnest.engine.memory_messages import FeedbackGiven
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.runtime.heartbeats.program import Said, Work

if TYPE_CHECKING:
    from earnest.runtime.remembering import Remembering  # loads the books, which an idle agent has no use for

TITLE_CHARACTERS_MAX: Final = 200
CHOICE_LIMITS: Final = CompletionLimits(silence_ms=60_000, deadline_ms=120_000, answer_tokens=2_000, attempts=2)
LINES_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """See `AgentProgram`. It claims nothing beyond what the platform can look up: claims by their ids."""

    book: JsonLinesBook

    async def work(self, work: Work) -> Said:
        """See `AgentProgram`."""
        self.book.refresh()
        since_ms = (instant_ms(work.last["at"]) if work.last else None) or 0
        rows = takewhile(lambda row: row["at_ms"] > since_ms, self.book.rows(RESULT))
        lines = [
            f"- {row['claim_id'] or 'no claim'}: {row['text']}" for row, _ in zip(rows, range(LINES_MAX), strict=False)
        ]
        return Said(reply="\n".join(lines) or "I looked for work; nothing was to do.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMind:
    """See `Mind`. `model` is found when it is first needed."""

    model: Callable[[], Awaitable[ChatModel]]
    clock: Clock
    chance: Chance

    async def choose(self, messages: Sequence[Message], form: JsonObject) -> JsonObject:
        """See `Mind`. The form is asked for; what comes is held to its kinds, and read by the agent."""
        model = await self.model()
        call_id = self.chance.new_id(self.clock.now_ms())
        said = await model.complete(messages, call_id=call_id, schema=form, limits=CHOICE_LIMITS)
        try:
            return read_answer(said.text, {"type": "object"})
        except NoAnswer as error:
            raise Unavailable(f"the model gave no usable answer: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skilled:
    """Hands for jobs of this category whose title holds this pattern; empty: any."""

    category: str
    title: str
    hands: JobHands

    def fits(self, job: Job) -> bool:
        """Is it such a job?"""
        is_of = self.category in {"", job["category"]}
        return is_of and re.search(self.title, job["title"][:TITLE_CHARACTERS_MAX]) is not None and self.hands.can(job)


class SkilledHands:
    """See `JobHands`."""

    def __init__(self, skills: Sequence[Skilled]) -> None:
        self._skills = skills

    def can(self, job: Job) -> bool:
        """See `JobHands`."""
        return any(skill.fits(job) for skill in self._skills)

    async def work(self, order: WorkOrder) -> WorkReport:
        """See `JobHands`."""
        for skill in self._skills:
            if skill.fits(order.job):
                return await skill.hands.work(order)
        raise WorkFailed("there is no way to do this job")


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
