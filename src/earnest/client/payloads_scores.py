"""Answers about heartbeats, contracts and scores."""

from typing import Any, Literal

from typing_extensions import TypedDict


class TaskAsked(TypedDict):
    """A task that is due. `forced`: optional, but required under this tier. `weakened`: how it was made easier."""

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


class Due(TypedDict):
    """`skip`: which gate is closed: disabled, paused, outside_active_hours, busy or nothing_to_do.

    Without a contract `interval_s` and `next_wake_at` are null.
    """

    skip: str | None
    tasks: list[TaskAsked]
    penalty: str
    reward: str
    message: str
    interval_s: int | None
    feedback: list[str]
    next_wake_at: str | None


class Diagnostic(TypedDict):
    """A line of the contract that is not what it seems; 0: the whole."""

    line: int
    message: str


class CheckedIn(TypedDict):
    """`state` is `verifying`, or `skipped` for the reason `skip`. `weakened`: accepted tasks that are easier now."""

    heartbeat_id: str | None
    state: Literal["verifying", "skipped"]
    skip: str | None
    date: str | None
    acknowledged: bool
    tasks: list[TaskAsked]
    weakened: dict[str, str]
    diagnostics: list[Diagnostic]
    next_check_in_after: str


class RuleApplied(TypedDict):
    """One rule and what it comes to."""

    rule: str
    points: int


class TaskJudged(TypedDict):
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
    rules: list[RuleApplied]
    points: int


class Outcome(TypedDict):
    """Where a heartbeat left the agent. `feedback`: one line for each task that was not verified."""

    score: int
    target: int
    penalty: str
    reward: str
    message: str
    interval_s: int
    feedback: list[str]


class Heartbeat(TypedDict):
    """`state` is `verifying`, then `judged`; `outcome` is null until then."""

    heartbeat_id: str
    account_id: str
    state: str
    at: str
    date: str
    judged_at: str | None
    points: int
    tasks: list[TaskJudged]
    outcome: Outcome | None


class HeartbeatWhole(Heartbeat):
    """With what was handed in, for the operator."""

    reply: str
    records: list[dict[str, Any]]
    artifacts: list[dict[str, str]]
    claims: list[dict[str, Any]]


class Day(TypedDict):
    """One day in `zone`. `possible`: the most that the contract could earn on it."""

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


class Tier(TypedDict):
    """`ends_when`: in words; null where nothing applies."""

    penalty: str
    reward: str
    since: str | None
    ends_when: str | None


class Lifetime(TypedDict):
    """`best`, `worst`, `streak`, `longest`, `days` are of closed days."""

    verified: int
    failed: int
    points: int
    best: int | None
    worst: int | None
    streak: int
    longest: int
    days: int


class Score(TypedDict):
    """How an agent stands."""

    today: Day
    tier: Tier
    interval_s: int
    lifetime: Lifetime


class History(TypedDict):
    """Today and the last 7 recorded days, the newest first."""

    account_id: str
    handle: str
    today: Day
    days: list[Day]


class ScorePart(TypedDict):
    """A part of what was booked."""

    rule: str
    task: str
    points: int
    reason: str


class ScoreFact(TypedDict):
    """A fact that moved the score; `source`: the heartbeat or message that it comes from."""

    fact: int
    at: str
    date: str
    source: str
    points: int
    events: list[ScorePart]


class Voted(TypedDict):
    """`points`: what this vote changed."""

    points: int
    score: int
    target: int


class Agreement(TypedDict):
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


class Agreed(TypedDict):
    """The contract that holds from now on."""

    account_id: str
    digest: str
    possible: int


class TaskReset(TypedDict):
    """It begins anew."""

    account_id: str
    task: str


class TaskDecided(TypedDict):
    """`points`: what the task came to; `score`: of the heartbeat's day."""

    heartbeat_id: str
    task: str
    points: int
    score: int
