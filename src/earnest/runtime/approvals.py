"""What people say to a run, durable before anybody acts on it: leave for exact actions, answers, amended promises.

Leave goes beyond what was granted, and is good once and for a while. A resumed run does not ask again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, cast

from earnest.effects.ground.clock import Clock
from earnest.engine.messages import ConfirmationAnswered, ConfirmationAsked, PlanReady
from earnest.engine.ports import Clarifier
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.foundation.shapes import from_json, to_json
from earnest.foundation.text import head_tail
from earnest.runtime.leave import answer_key
from earnest.runtime.run_book import RunBook

QUESTION_MS: Final = 600_000
"""How long a question waits for its answer, and how long a yes holds that was not used: ten minutes."""
KEY: Final = "clarified"
"""R1 asks once a run."""


class Person(Protocol):
    """Whoever sits before the screen."""

    async def allows(self, asked: ConfirmationAsked) -> bool:
        """Yes or no to exactly this. Cancelled when the time for an answer is over."""


class Promisee(Protocol):
    """Whoever is promised something, at a screen."""

    async def amends(self, plan: PlanReady) -> str | None:
        """What is to be otherwise about this plan; empty: it may begin. None: whoever was there has gone."""


class Approvals:
    """`engine.ports.Confirming` over the run's book: what was answered is durable before anybody acts on it.

    An answer belongs to one key, that of a single call of one run, so it is good once; and to the digest of one action.
    `beforehand` are the actions confirmed when the run was ordered (`Grants.approved`), `kept` the outcomes of earlier
    processes. People are asked one question at a time: the `person` here, and whoever looks at the books elsewhere;
    the first answer counts.
    """

    def __init__(
        self,
        *,
        book: RunBook,
        clock: Clock,
        beforehand: Sequence[str] = (),
        person: Person | None = None,
        kept: Mapping[str, JsonObject],
    ) -> None:
        self._book = book
        self._clock = clock
        self._person = person
        self._turn = asyncio.Lock()
        answers = {key: cast("JsonObject", body["answer"]) for key, body in kept.items() if "answer" in body}
        self._answers = {key: from_json(ConfirmationAnswered, one, "a kept answer") for key, one in answers.items()}
        self._beforehand = list(beforehand)
        for answer in answers.values():
            if (spent := str(answer["spent"])) in self._beforehand:
                self._beforehand.remove(spent)

    async def confirm(self, key: str, asked: ConfirmationAsked) -> ConfirmationAnswered:
        """See `Confirming`."""
        place = answer_key(key)
        async with self._turn:
            if place not in self._answers:
                answer, spent = await self._answer(key, asked)
                await self._book.conclude(place, {"answer": {**to_json(answer), "spent": spent}})
                self._answers[place] = answer
        return self._answers[place]

    def holds(self, key: str, action: str) -> bool:
        """True if exactly this action was confirmed for this call, and not too long ago."""
        answer = self._answers.get(answer_key(key))
        if answer is None or not answer.approved or answer.action != action:
            return False
        return self._clock.now_ms() < answer.expires_at_ms

    async def _answer(self, key: str, asked: ConfirmationAsked) -> tuple[ConfirmationAnswered, str]:
        """What is answered, and which of the actions confirmed beforehand that used up, if any."""
        spent = next((action for action in self._beforehand if _names(action, asked)), "")
        if spent:
            self._beforehand.remove(spent)
            approved, by = True, "confirmed beforehand"
        elif self._person is None:
            approved, by = False, "nobody"
        else:
            approved, by = await self._said(self._person, key, asked)
        told = ConfirmationAnswered(action=asked.action, approved=approved, by=by, expires_at_ms=asked.expires_at_ms)
        return told, spent

    async def _said(self, person: Person, key: str, asked: ConfirmationAsked) -> tuple[bool, str]:
        """The first answer, and who gave it. Silence is a no."""
        tasks = [asyncio.ensure_future(answer) for answer in (_here(person, asked), self._book.leave(key, asked))]
        over = asyncio.ensure_future(self._clock.sleep_ms(max(0, asked.expires_at_ms - self._clock.now_ms())))
        try:
            await asyncio.wait((*tasks, over), return_when=asyncio.FIRST_COMPLETED)
            first = None if over.done() else next(task for task in tasks if task.done())
            return first.result() if first else (False, "person")
        finally:
            for task in (*tasks, over):
                task.cancel()
            await asyncio.gather(*tasks, over, return_exceptions=True)


async def _here(person: Person, asked: ConfirmationAsked) -> tuple[bool, str]:
    return await person.allows(asked) is True, "person"


def _names(action: str, asked: ConfirmationAsked) -> bool:
    """Does what was confirmed beforehand name exactly this action?

    A digest names all of it. A command line does not name the network, and of paths only those that stand in it as
    words: whoever typed `make clean` did not say where it may write.
    """
    if action == asked.action:
        return True
    command = asked.args.get("command")
    if asked.tool != "shell" or action != command or asked.network:
        return False
    return set(asked.paths) <= {word.rstrip("/") for word in action.split()}


class Clarifications:
    """`engine.ports.Clarifier` over the run's book: an answer is durable before any model hears of it."""

    def __init__(self, book: RunBook, person: Clarifier | None) -> None:
        self._book = book
        self._person = person

    @property
    def has_answers(self) -> bool:
        """True if questions will be answered, by somebody who is there or from the book."""
        return self._person is not None or self._book.outcome(KEY) is not None

    async def ask(self, questions: Sequence[str], /) -> Sequence[str]:
        """See `Clarifier`. Raises `Broken` if what was kept cannot be read."""
        kept = self._book.outcome(KEY)
        if kept is None:
            said = await self._person.ask(questions) if self._person else ()
            answers = [head_tail(answer) for answer in said[: len(questions)]]
            await self._book.conclude(KEY, {"questions": list(questions), "answers": answers})
            return answers
        return from_json(list[str], kept.get("answers"), "the answers to R1's questions")


class Agreements:
    """`engine.ports.Agreeing` over the run's book. Where nobody is there any more, what was not answered may begin."""

    def __init__(self, book: RunBook, person: Promisee | None) -> None:
        self._book = book
        self._person = person

    async def amendment(self, number: int, plan: PlanReady) -> str:
        """See `Agreeing`. Raises `Unavailable` if nobody answers, `Broken` if what was kept cannot be read."""
        key = f"promise/{number}"
        kept = self._book.outcome(key)
        if kept is None:
            if self._person is None:
                return ""
            said = await self._person.amends(plan)
            if said is None:
                raise Unavailable("nobody has said yet that it may begin")
            words = head_tail(said.strip())
            await self._book.conclude(key, {"amendment": words})
            return words
        return from_json(str, kept.get("amendment"), "what a user amended")
