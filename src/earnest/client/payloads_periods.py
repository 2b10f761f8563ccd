"""What a platform answers about periods and the metrics of agents in them."""

from typing_extensions import TypedDict


class Period(TypedDict):
    """A named span. `last_fact` and `ended_at` are null while it goes on."""

    period_id: str
    name: str
    opened_at: str
    ended_at: str | None
    first_fact: int
    last_fact: int | None


class ApprovalTime(TypedDict):
    """Whole seconds until approval; null where nothing was approved. `p90_s`: nearest rank."""

    median_s: int | None
    p90_s: int | None


class MetricCounts(TypedDict):
    """What the metrics come from. `unclear` verdicts are no decisions."""

    approved: int
    verified: int
    machine_passes: int
    machine_rejections: int
    machine_unclear: int
    destinations_chosen: int
    destinations_changed: int
    tasks_started: int
    tasks_left: int


class AgentMetrics(TypedDict):
    """The five metrics of one agent; a rate is null where there was nothing to divide by."""

    account_id: str
    handle: str
    verified_per_hour: float | None
    failure_rate: float | None
    aid_delta_micro: int
    approval_from_submission: ApprovalTime
    approval_from_creation: ApprovalTime
    thrash_index: float
    counts: MetricCounts


class PeriodMetrics(TypedDict):
    """A period, how long it has lasted, and who did something in it, by handle."""

    period: Period
    span_s: int
    agents: list[AgentMetrics]
