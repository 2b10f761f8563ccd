"""Messages about model calls. Their texts stand in the effect's records and the task log."""

from dataclasses import dataclass

from earnest.engine.messages import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """Where in a run a model is asked. What has no place in a round or subtask holds 0 or an empty text.

    `number` counts the calls of one pass of the role from 1: the turns of R3's tool loop, else always 1.
    """

    role: Role
    round: int = 0
    subtask_id: str = ""
    attempt: int = 0
    number: int = 1

    @property
    def key(self) -> str:
        """The call's name within its run; derived, so that a replayed run asks under the same one."""
        place = (
            f"r{self.round}/{self.subtask_id}/a{self.attempt}" if self.subtask_id else f"r{self.round}/a{self.attempt}"
        )
        return f"{place}/{self.role}/m{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """A role asks its model. `prompt` is `name@version` of the prompt file."""

    turn: ModelTurn
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered:
    """What came of it, durable by now. `failure` says in words why there is no answer; empty if there is one.

    Tokens as the endpoint counted them, over `calls` requests (2 after a repair). `cost_micro` is millionths of the
    configured currency; None if the price of the model is not known.
    """

    turn: ModelTurn
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_micro: int | None
    duration_ms: int
    failure: str = ""
