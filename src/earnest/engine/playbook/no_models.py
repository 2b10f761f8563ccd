"""A playbook's run has no model: whoever asks for one is told so."""

from typing import Final

from earnest.engine.model_messages import ModelAnswered, ModelTurn
from earnest.engine.ports import ModelReply, Question

REASON: Final = "this run has no model"


class NoModels:
    """`engine.ports.Models` of a run that asks nobody."""

    async def ask(self, turn: ModelTurn, _question: Question) -> ModelReply:
        """No answer, and no cost."""
        told = ModelAnswered(
            turn=turn,
            model="",
            calls=0,
            prompt_tokens=0,
            completion_tokens=0,
            cost_micro=0,
            duration_ms=0,
            failure=REASON,
        )
        return ModelReply(value=None, told=told)
