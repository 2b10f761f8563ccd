"""A mind that is a model at an endpoint."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.outside.llm.answers import NoAnswer, read_answer
from earnest.effects.outside.llm.api import ChatModel, CompletionLimits, Message
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable

LIMITS: Final = CompletionLimits(silence_ms=60_000, deadline_ms=120_000, answer_tokens=2_000, attempts=2)


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
        said = await model.complete(messages, call_id=call_id, schema=form, limits=LIMITS)
        try:
            return read_answer(said.text, {"type": "object"})
        except NoAnswer as error:
            raise Unavailable(f"the model gave no usable answer: {error}") from None
