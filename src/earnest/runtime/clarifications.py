"""A person's answers about a request, kept so that a resumed run does not ask again."""

from collections.abc import Sequence
from typing import Final

from earnest.engine.ports import Clarifier
from earnest.foundation.errors import Broken
from earnest.foundation.text import head_tail
from earnest.runtime.run_book import RunBook

KEY: Final = "clarified"
"""R1 asks once a run."""


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
