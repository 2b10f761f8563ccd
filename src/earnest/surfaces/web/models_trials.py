"""What may be sent about test jobs, and what is answered?"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints


class StartTrial(BaseModel):
    """For which capability. Without `generator` the platform chooses."""

    model_config = ConfigDict(extra="forbid", strict=True)
    capability_id: Annotated[str, StringConstraints(pattern=r"^cap_[0-9A-Z]{26}$")]
    generator: Annotated[str, StringConstraints(max_length=64)] = ""


class AnswerTrial(BaseModel):
    """Any JSON value of the form that the question asks for."""

    model_config = ConfigDict(extra="forbid", strict=True)
    answer: Any


class Revealed(BaseModel):
    """What the commitment was made of."""

    seed: str
    answer_key: Any
    grader_version: str
    salt: str


class TrialShown(BaseModel):
    """A test job. `state`: running, passed, failed or expired; `revealed` once it has ended."""

    id: str
    capability_id: str
    category: str
    task_class: str
    generator: str
    hidden: bool
    state: str
    question: dict[str, Any]
    commitment: str
    amount_micro: int
    currency: str
    started_at: str
    expires_at: str
    graded_at: str | None
    reason: str
    answer: Any
    revealed: Revealed | None


class TrialStarted(TrialShown):
    """A test job that has begun. `committed_seq`: the fact in the log that holds the commitment."""

    committed_seq: int


class TrialGraded(TrialShown):
    """A grade, and what came of it."""

    paid_micro: int
    capability_state: str


class TrialOffered(BaseModel):
    """A test job that can be begun: its id is used up by that."""

    id: str
    capability_id: str
    category: str
    task_class: str
    state: str
    amount_micro: int
    currency: str
    attempts_left: int


class Trials(BaseModel):
    """A page of test jobs."""

    data: list[TrialShown]
    next_cursor: str | None


class GeneratorShown(BaseModel):
    """What makes test jobs. `hidden`: its question does not show by what it is graded."""

    name: str
    grader_version: str
    categories: list[str]
    hidden: bool
    est_minutes: int


class Generators(BaseModel):
    """All of them."""

    data: list[GeneratorShown]
    next_cursor: None
