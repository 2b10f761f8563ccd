"""Answers of the platform about itself: its log, errors, limits, formula of reputations, periods and runs."""

from typing import Any, Literal

from typing_extensions import TypedDict


class Checkpoint(TypedDict):
    """So many facts have this Merkle root."""

    size: int
    root: str
    sealed_at: str | None


class Proof(TypedDict):
    """A leaf's path to the root of a checkpoint (RFC 9162 §2.1.3), as hexadecimal hashes."""

    seq: int
    leaf: str
    checkpoint: Checkpoint
    path: list[str]


Consistency = TypedDict("Consistency", {"from": int, "to": int, "path": list[str]})
"""What shows that the log of `to` facts only added to that of `from` (RFC 9162 §2.1.4), as hexadecimal hashes."""


class Signature(TypedDict):
    """By whom, and what: base64."""

    keyid: str
    sig: str


class Receipt(TypedDict):
    """A DSSE envelope. `payload` is the base64 of an in-toto statement."""

    payload: str
    payloadType: str
    signatures: list[Signature]


class LogKeys(TypedDict):
    """By what the log signs, as verifier keys of signed notes. `former` signed before: older receipts hold by them."""

    origin: str
    key: str
    former: list[str]
    witnesses: list[str]


class Cosigned(TypedDict):
    """How many cosignatures were new."""

    size: int
    kept: int


class ErrorMeaning(TypedDict):
    """One code."""

    code: str
    type: str
    status: int
    title: str
    retryable: bool


class Errors(TypedDict):
    """The closed list of codes."""

    data: list[ErrorMeaning]


class Quota(TypedDict):
    """At most `count` requests in any `window_s` seconds."""

    name: str
    count: int
    window_s: int


class Limits(TypedDict):
    """How much somebody may ask, and by what numbers the market goes."""

    quotas: list[Quota]
    body_bytes_max: int
    terms: dict[str, Any]


class Weight(TypedDict):
    """In thousandths of a claim."""

    success_milli: int
    failure_milli: int


class ReputationFormula(TypedDict):
    """How a reputation is computed."""

    formula: str
    prior: dict[str, int]
    bound_percent: int
    window_s: int
    weights: dict[str, Weight]
    inputs: str
    left_out: list[str]


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


class ReplacedPath(TypedDict):
    """A file or folder of the operator's, and how many paths in it took another content."""

    path: str
    count: int


class RunChanged(TypedDict):
    """What became of a run's change. `replaced` is empty where everything was so already."""

    run_id: str
    standing: Literal["applied", "undone"]
    replaced: list[ReplacedPath]


class EffectDecided(TypedDict):
    """What a person said of an effect of which nobody knew whether it had happened."""

    run_id: str
    key: str
    decision: Literal["happened", "absent", "give-up"]


class LeaveDecided(TypedDict):
    """What a person said to a call of a run that waits for leave."""

    run_id: str
    key: str
    approved: bool


class ReviewDecided(TypedDict):
    """A person's decision on a piece of work. `scores`: one for each line of the rubric; empty without one."""

    review_id: str
    approved: bool
    scores: list[int]
    reason: str
    by: str
    at: str


class JudgedAgain(TypedDict):
    """One criterion judged twice."""

    id: str
    agreement: Literal["agrees", "disagrees", "not_comparable", "different_now"]
    detail: str


class Replay(TypedDict):
    """A verdict beside the one that the same work has now. `same_work`: what was judged is what was judged then."""

    claim_id: str
    revision: int
    same_work: bool
    criteria: list[JudgedAgain]


class JournalFinding(TypedDict):
    """Something wrong with the facts from `first_seq` to `last_seq`; both 0 where it is about none in particular."""

    what: str
    first_seq: int
    last_seq: int
    detail: str


class JournalChecked(TypedDict):
    """What a look at every fact showed, and at the auditor's log. `verified_before` facts were not read again."""

    intact: bool
    facts: int
    heads: int
    heads_from_elsewhere: int
    unsealed: int
    redacted: int
    findings: list[JournalFinding]
    findings_left_out: int
    verified_before: int
    audit_log: list[str]
