"""What may be sent about heartbeats and scores, and what is answered?"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from earnest.accountability.agreement import CONTRACT_BYTES_MAX
from earnest.accountability.interval import INTERVAL_MAX_S, INTERVAL_MIN_S
from earnest.foundation.errors import Refused
from earnest.runtime.accountability.checking_in import Assertion, CheckIn
from earnest.surfaces.web.models_jobs import Reason, Sha256, Strict
from earnest.verification.paths import path_fault

REPLY_CHARACTERS_MAX = 100_000
RECORDS_MAX = 200
OUTPUT_CHARACTERS_MAX = 4_000
ARTIFACTS_MAX = 20
CLAIMS_MAX = 500
VALUES_MAX = 20

TaskId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
HeartbeatId = Annotated[str, StringConstraints(pattern=r"^hbt_[0-9A-Z]{26}$")]
Word = Annotated[str, StringConstraints(max_length=1_000)]
Contract = Annotated[str, StringConstraints(max_length=CONTRACT_BYTES_MAX)]
Clock = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$")]


class Recorded(Strict):
    """What one tool did, by the agent's own account: it is shown to the judge, and proves nothing alone."""

    tool: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    target: Word = ""
    ok: bool
    exit_code: int | None = None
    output: Annotated[str, StringConstraints(max_length=OUTPUT_CHARACTERS_MAX)] = ""


class ArtifactNamed(Strict):
    """A file that was uploaded before. `path`: where the judge finds it, below `artifacts/`."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    sha256: Sha256


class Claimed(Strict):
    """What the agent asserts of a task; a ticked box says `done` too. `values`: what it measured, by name.

    A value that was measured to be otherwise is a contradiction.
    """

    task: TaskId
    done: bool = True
    values: dict[Annotated[str, StringConstraints(max_length=64)], bool | int | float | Word] = Field(
        default_factory=dict, max_length=VALUES_MAX
    )


class SendHeartbeat(Strict):
    """A check-in. Without `contract` it is the one that was accepted."""

    contract: Contract | None = None
    reply: Annotated[str, StringConstraints(max_length=REPLY_CHARACTERS_MAX)] = ""
    records: list[Recorded] = Field(default_factory=list, max_length=RECORDS_MAX)
    artifacts: list[ArtifactNamed] = Field(default_factory=list, max_length=ARTIFACTS_MAX)
    claims: list[Claimed] = Field(default_factory=list, max_length=CLAIMS_MAX)

    def value(self) -> CheckIn:
        """What was sent. Raises `Refused("validation")` for paths that are none, or given twice."""
        artifacts = {one.path: one.sha256 for one in self.artifacts}
        for path in artifacts:
            if fault := path_fault(path):
                raise Refused("validation", f"artifacts: {fault}")
        if len({path.casefold() for path in artifacts}) < len(self.artifacts):
            raise Refused("validation", "artifacts: a path stands twice")
        return CheckIn(
            contract=self.contract,
            reply=self.reply,
            records=tuple(one.model_dump() for one in self.records),
            artifacts=artifacts,
            assertions=tuple(Assertion(one.task, one.done, one.values) for one in self.claims),
        )


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


class TaskAsked(BaseModel):
    """A task that is due. `forced`: optional, but required under this tier."""

    id: str
    description: str
    verify: str
    required: bool
    forced: bool
    accepted: bool
    structured: bool
    weakened: str | None
    attempt: int
    max_attempts: int


class DiagnosticShown(BaseModel):
    """A line of the contract that is not what it seems; 0: the whole."""

    line: int
    message: str


class HeartbeatTaken(BaseModel):
    """`state` is `verifying`, or `skipped` for the reason `skip`. `weakened`: accepted tasks that are easier now."""

    heartbeat_id: str | None
    state: Literal["verifying", "skipped"]
    skip: str | None
    date: str | None
    acknowledged: bool
    tasks: list[TaskAsked]
    weakened: dict[str, str]
    diagnostics: list[DiagnosticShown]
    next_check_in_after: str


class DueShown(BaseModel):
    """What a check-in now would be asked for, and what the last one was told. `skip`: which gate is closed."""

    skip: str | None
    tasks: list[TaskAsked]
    penalty: str
    reward: str
    message: str
    interval_s: int | None
    feedback: list[str]
    next_wake_at: str | None


class RuleShown(BaseModel):
    """One rule and what it comes to."""

    rule: str
    points: int


class TaskJudged(BaseModel):
    """A task and the verdict on it; null as long as there is none. `waits`: for the operator's verdict."""

    id: str
    description: str
    required: bool
    forced: bool
    accepted: bool
    attempt: int
    max_attempts: int
    verdict: str | None
    cause: str | None
    reason: str | None
    contradiction: bool
    waits: bool
    rules: list[RuleShown]
    points: int


class Outcome(BaseModel):
    """Where a heartbeat left the agent."""

    score: int
    target: int
    penalty: str
    reward: str
    message: str
    interval_s: int
    feedback: list[str]


class HeartbeatShown(BaseModel):
    """One heartbeat; `outcome` null until it is judged. What was handed in is shown to the operator."""

    heartbeat_id: str
    account_id: str
    state: str
    at: str
    date: str
    judged_at: str | None
    points: int
    tasks: list[TaskJudged]
    outcome: Outcome | None
    reply: str | None = None
    records: list[dict[str, Any]] | None = None
    artifacts: list[dict[str, Any]] | None = None
    claims: list[dict[str, Any]] | None = None


class Heartbeats(BaseModel):
    """A page of heartbeats."""

    data: list[HeartbeatShown]
    next_cursor: str | None


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
