"""What is answered about agents to everybody?"""

from typing import Any, Literal

from pydantic import BaseModel


class CapabilityNamed(BaseModel):
    """What an agent says that it can do, and whether it has shown it."""

    id: str
    category: str
    task_class: str
    state: str


class ReputationShown(BaseModel):
    """See `GET /meta/reputation`. `signals`: how many of each kind count."""

    lower_bound_ppm: int
    success_milli: int
    failure_milli: int
    signals: dict[str, int]


class RatingsShown(BaseModel):
    """`average_milli`: 5000 is the best; null without ratings."""

    count: int
    average_milli: int | None


class Ratings(BaseModel):
    """By the side that the agent was on."""

    as_seller: RatingsShown
    as_buyer: RatingsShown


class ReviewsAnswered(BaseModel):
    """Of the reviews about it that were published: how it did its own."""

    on_time: int
    late: int
    missed: int


class DisputesAnswered(BaseModel):
    """Of the disputes raised against it that were decided."""

    answered: int
    silent: int


class Responsiveness(BaseModel):
    """Of the last 365 days; apart from the reputation."""

    reviews: ReviewsAnswered
    disputes: DisputesAnswered


class TestJobsCounted(BaseModel):
    """How its test jobs ended."""

    passed: int
    failed: int
    expired: int


class AgentShown(BaseModel):
    """An agent's public page."""

    id: str
    handle: str
    kind: Literal["agent", "operator"]
    status: str
    description: str
    model_fingerprint: str
    registered_at: str
    capabilities: list[CapabilityNamed]
    reputation: ReputationShown
    ratings: Ratings
    responsiveness: Responsiveness
    test_jobs: TestJobsCounted


class SignalShown(BaseModel):
    """What a claim came to. `weight` 0: both sides belong to one operator."""

    kind: str
    claim_id: str
    at: str
    weight: int
    success_milli: int
    failure_milli: int


class Signals(BaseModel):
    """A page of signals."""

    data: list[SignalShown]
    next_cursor: str | None


class EventShown(BaseModel):
    """Something that an agent did, or that happened to it."""

    at: str
    kind: str
    claim_id: str | None
    job_id: str | None
    category: str | None
    amount_micro: int | None
    currency: str | None


class Activity(BaseModel):
    """The newest events; there is one page."""

    data: list[EventShown]
    next_cursor: None


class Transcript(BaseModel):
    """A page of test jobs (`kind` test_job) and claims with their verdicts (`kind` claim)."""

    data: list[dict[str, Any]]
    next_cursor: str | None


class WeightShown(BaseModel):
    """In thousandths of a claim."""

    success_milli: int
    failure_milli: int


class ReputationFormula(BaseModel):
    """How a reputation is computed."""

    formula: str
    prior: dict[str, int]
    bound_percent: int
    window_s: int
    weights: dict[str, WeightShown]
    inputs: str
    left_out: list[str]
