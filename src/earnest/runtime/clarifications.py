"""A person's answers about a request and its promise, kept so that a resumed run does not ask again."""

from collections.abc import Sequence
from typing import Final, Protocol

from earnest.engine.messages import PlanReady
from earnest.engine.ports import Clarifier
from earnest.foundation.errors import Broken, Unavailable
from earnest.foundation.text import head_tail
from earnest.runtime.run_book import RunBook

KEY: Final = "clarified"
"""R1 asks once a run."""


class Promisee(Protocol):
    """Whoever is promised something, at a screen."""

    async def amends(self, plan: PlanReady) -> str | None:
        """What is to be otherwise about this plan; empty: it may begin. None: whoever was there has gone."""
        ...


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
        match kept:
            case {"answers": [*told]}:
                return [str(answer) for answer in told]
        raise Broken("the answers to R1's questions cannot be read")


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
        match kept:
            case {"amendment": str(words)}:
                return words
        raise Broken("what a user amended cannot be read")
