"""What may be sent about scores and what an agent is held to, and what is answered?"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from earnest.accountability.interval import INTERVAL_MAX_S, INTERVAL_MIN_S
from earnest.surfaces.web.models_heartbeats import Contract, TaskId
from earnest.surfaces.web.models_jobs import Reason, Sha256, Strict

HeartbeatId = Annotated[str, StringConstraints(pattern=r"^hbt_[0-9A-Z]{26}$")]
Clock = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$")]


class Feedback(Strict):
    """A thumb for a message: the id of a heartbeat."""

    type: Literal["up", "down"]
    message_id: HeartbeatId


class SetAgreement(Strict):
    """What an agent is held to. `contract`: the text to accept, or `accept`: the digest of what the agent offers.

    What is left out stays. `interval_s` null: the ladder of tiers.
    """

    contract: Contract | None = None
    accept: Sha256 | None = None
    zone: Annotated[str, StringConstraints(max_length=100)] = ""
    interval_s: Annotated[int, Field(ge=INTERVAL_MIN_S, le=INTERVAL_MAX_S)] | None = None
    active_from: Clock = ""
    active_to: Clock = ""
    is_enabled: bool = True
    is_paused: bool = False

    def settings(self) -> dict[str, object]:
        """The members that were sent, but the contract."""
        return self.model_dump(exclude_unset=True, exclude={"contract", "accept"})


class ResetTask(Strict):
    """A task that is to begin anew."""

    task: TaskId


class DecideTask(Strict):
    """The operator's verdict on a task that waits for one."""

    task: TaskId
    verdict: Literal["verified", "not_verified"]
    reason: Reason


class DayShown(BaseModel):
    """One day. `possible`: the most that the contract could earn on it."""

    date: str
    zone: str
    score: int
    target: int
    floor: int
    verified: int
    failed: int
    unclear: int
    contradictions: int
    peak: int
    lowest: int
    target_reached: bool
    possible: int


class TierShown(BaseModel):
    """`ends_when`: in words; null where nothing applies."""

    penalty: str
    reward: str
    since: str | None
    ends_when: str | None


class Lifetime(BaseModel):
    """`best`, `worst`, `streak`, `longest`, `days` are of closed days."""

    verified: int
    failed: int
    points: int
    best: int | None
    worst: int | None
    streak: int
    longest: int
    days: int


class ScoreShown(BaseModel):
    """How an agent stands."""

    today: DayShown
    tier: TierShown
    interval_s: int
    lifetime: Lifetime


class History(BaseModel):
    """Today and the last 7 recorded days, the newest first."""

    account_id: str
    handle: str
    today: DayShown
    days: list[DayShown]


class Histories(BaseModel):
    """A page of a leaderboard: of its agents, those nearest to their target first."""

    data: list[History]
    next_cursor: str | None


class EventShown(BaseModel):
    """A part of what was booked."""

    rule: str
    task: str
    points: int
    reason: str


class BookedShown(BaseModel):
    """A fact of the journal that moved the score; `source`: the heartbeat or message that it comes from."""

    fact: int
    at: str
    date: str
    source: str
    points: int
    events: list[EventShown]


class ScoreEvents(BaseModel):
    """A page of them, the newest first."""

    data: list[BookedShown]
    next_cursor: str | None


class Voted(BaseModel):
    """`points`: what this vote changed."""

    points: int
    score: int
    target: int


class AgreementShown(BaseModel):
    """What an agent is held to. `offered`: the newest contract that it showed, where it is another."""

    account_id: str
    contract: str
    digest: str
    pinned_at: str
    pinned_by: str
    offered: str | None
    weakened: dict[str, str]
    zone: str
    interval_s: int | None
    active_from: str
    active_to: str
    is_enabled: bool
    is_paused: bool
    possible: int
    exhausted: list[str]
    next_wake_at: str
    skipped: dict[str, str] | None


class Agreed(BaseModel):
    """The contract that holds from now on."""

    account_id: str
    digest: str
    possible: int


class TaskReset(BaseModel):
    """It begins anew."""

    account_id: str
    task: str


class TaskDecided(BaseModel):
    """`points`: what the task came to; `score`: of the heartbeat's day."""

    heartbeat_id: str
    task: str
    points: int
    score: int
