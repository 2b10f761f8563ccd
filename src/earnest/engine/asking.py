"""A role's request to its model, told on the bus before and after, under a derived number."""

from dataclasses import replace
from itertools import count

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.messages import Role
from earnest.engine.model_messages import ModelAnswered, ModelAsked, ModelTurn
from earnest.engine.ports import Question, Unanswered
from earnest.engine.run import EngineRun
from earnest.foundation.canonical import JsonObject


class Asking:
    """The model of one pass of a role (`engine.ports.RoleModel`)."""

    def __init__(
        self,
        run: EngineRun,
        role: Role,
        cause: Envelope,
        *,
        round_number: int = 0,
        subtask_id: str = "",
        attempt: int = 0,
    ) -> None:
        self._run = run
        self._cause = cause
        self._place = ModelTurn(role=role, round=round_number, subtask_id=subtask_id, attempt=attempt)
        self._numbers = count(1)
        self.answers: list[ModelAnswered] = []
        """What was told of each call so far."""

    async def ask(self, question: Question) -> JsonObject:
        """See `RoleModel`."""
        turn = replace(self._place, number=next(self._numbers))
        run = self._run
        asked = run.post.send(
            turn.role, f"{turn.key}/asked", ModelAsked(turn=turn, prompt=question.prompt), self._cause
        )
        with run.effect():
            reply = await run.models.ask(turn, question)
        run.post.send(turn.role, f"{turn.key}/answered", reply.told, asked)
        self.answers.append(reply.told)
        if reply.value is None:
            raise Unanswered(reply.told.failure)
        return reply.value
