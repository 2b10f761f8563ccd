"""Exact actions that somebody confirmed for a run beyond what was granted, each good once and for a while."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from earnest.effects.ground.clock import Clock
from earnest.engine.messages import ConfirmationAnswered, ConfirmationAsked
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Broken
from earnest.runtime.leave import answer_key
from earnest.runtime.run_book import RunBook

QUESTION_MS: Final = 600_000
"""How long a question waits for its answer, and how long a yes holds that was not used: ten minutes."""


class Person(Protocol):
    """Whoever sits before the screen."""

    async def allows(self, asked: ConfirmationAsked) -> bool:
        """Yes or no to exactly this. Cancelled when the time for an answer is over."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What was answered under a key. `spent` is which of the actions confirmed beforehand it used up, if any."""

    told: ConfirmationAnswered
    spent: str = ""

    def to_json(self) -> JsonObject:
        """The form kept in facts."""
        told = self.told
        return {
            "action": told.action,
            "approved": told.approved,
            "by": told.by,
            "expires_at_ms": told.expires_at_ms,
            "spent": self.spent,
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> "Approval":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        match value:
            case {
                "action": str(action),
                "approved": bool(approved),
                "by": str(by),
                "expires_at_ms": int(expires_at_ms),
                "spent": str(spent),
            }:
                told = ConfirmationAnswered(action=action, approved=approved, by=by, expires_at_ms=expires_at_ms)
                return cls(told=told, spent=spent)
        raise Broken("a kept answer cannot be read")


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
        self._answers = {key: Approval.from_json(body["answer"]) for key, body in kept.items() if "answer" in body}
        self._beforehand = list(beforehand)
        for answer in self._answers.values():
            if answer.spent in self._beforehand:
                self._beforehand.remove(answer.spent)

    async def confirm(self, key: str, asked: ConfirmationAsked) -> ConfirmationAnswered:
        """See `Confirming`."""
        place = answer_key(key)
        async with self._turn:
            if place not in self._answers:
                answer = await self._answer(key, asked)
                await self._book.conclude(place, {"answer": answer.to_json()})
                self._answers[place] = answer
        return self._answers[place].told

    def holds(self, key: str, action: str) -> bool:
        """True if exactly this action was confirmed for this call, and not too long ago."""
        answer = self._answers.get(answer_key(key))
        if answer is None or not answer.told.approved or answer.told.action != action:
            return False
        return self._clock.now_ms() < answer.told.expires_at_ms

    async def _answer(self, key: str, asked: ConfirmationAsked) -> Approval:
        spent = next((action for action in self._beforehand if _names(action, asked)), "")
        if spent:
            self._beforehand.remove(spent)
            approved, by = True, "confirmed beforehand"
        elif self._person is None:
            approved, by = False, "nobody"
        else:
            approved, by = await self._said(self._person, key, asked)
        told = ConfirmationAnswered(action=asked.action, approved=approved, by=by, expires_at_ms=asked.expires_at_ms)
        return Approval(told=told, spent=spent)

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
