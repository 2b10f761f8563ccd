"""The dreamer's wording of rules: the planner's model where an endpoint is set up, else a digest."""

from typing import Final

from earnest.app.models import ModelPool
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.outside.llm.api import CompletionLimits, Message
from earnest.effects.outside.llm.api import MessageRole as Speaker
from earnest.engine.messages import Role
from earnest.memory.distilling import ANSWER_CHARACTERS_MAX, DigestDistiller, Distiller, ModelDistiller

LIMITS: Final = CompletionLimits(silence_ms=60_000, deadline_ms=120_000, answer_tokens=1_024, attempts=1)


def distiller_for(pool: ModelPool, clock: Clock, chance: Chance) -> Distiller:
    """Only an endpoint that somebody named is asked between runs: an Ollama that happens to be there is not."""
    if not pool.is_named:
        return DigestDistiller()

    async def complete(prompt: str) -> str:
        planner = (await pool.of_roles())[Role.R2].model
        message = Message(role=Speaker.USER, text=prompt)
        call_id = f"dream_{chance.new_id(clock.now_ms())}"
        completion = await planner.complete([message], call_id=call_id, limits=LIMITS)
        return completion.text[:ANSWER_CHARACTERS_MAX]

    return ModelDistiller(complete)
