"""The budget of a run's model calls. What is under way counts with the most that it may take."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from earnest.engine.messages import Budget
from earnest.engine.ports import BudgetSpent
from earnest.engine.spending import (
    ANSWER_TOKENS_MAX,
    ANSWER_TOKENS_MIN,
    Amount,
    Price,
    amount_of,
    answer_tokens_left,
    shortage,
)


@dataclass(slots=True, kw_only=True)
class Reservation:
    """Leave for one call. `taken` is what it costs the budget: the most possible, until somebody knows better."""

    answer_tokens: int
    taken: Amount


class Purse:
    """The budget of one run. Calls side by side never pass it together."""

    def __init__(self, budget: Budget, taken: Amount) -> None:
        self._budget = budget
        self._taken = taken
        self._under_way = 0
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, model: str, price: Price | None, prompt_tokens: int) -> AsyncIterator[Reservation]:
        """Room for a call of at most `prompt_tokens`, held until the block ends.

        What does not fit beside calls that are under way waits until they have ended. Raises `BudgetSpent`.
        """
        answer_tokens = await self._room(model, price, prompt_tokens)
        most = amount_of(price, prompt_tokens, answer_tokens)
        reservation = Reservation(answer_tokens=answer_tokens, taken=most)
        self._taken += most
        self._under_way += 1
        try:
            yield reservation
        finally:
            self._taken += reservation.taken - most
            self._under_way -= 1
            self._settled.set()
            self._settled = asyncio.Event()

    async def _room(self, model: str, price: Price | None, prompt_tokens: int) -> int:
        """Alone, a call takes what is left; beside others it is not cut short."""
        while True:
            left = answer_tokens_left(self._budget, self._taken, price, prompt_tokens)
            if left >= (ANSWER_TOKENS_MAX if self._under_way else ANSWER_TOKENS_MIN):
                return left
            if not self._under_way:
                raise BudgetSpent(shortage(self._budget, self._taken, price, model))
            await self._settled.wait()
