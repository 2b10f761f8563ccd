"""Answers about jobs, claims, evidence, test jobs and capabilities: returned by views, documented, taken by clients.

Money is in whole micro-units; instants are texts such as `2026-05-04T18:00:00Z`. Unknown members are to be ignored.
"""

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from typing_extensions import TypedDict

T = TypeVar("T")
Answer: TypeAlias = Literal["verified", "not_verified", "unclear"]


class Page(TypedDict, Generic[T]):
    """A part of a list. `next_cursor` is null at its end."""

    data: list[T]
    next_cursor: str | None


class Whole(TypedDict, Generic[T]):
    """A list in one part, however long it is."""

    data: list[T]
    next_cursor: None


class JobPosted(TypedDict):
    """The job as it was taken."""

    job_id: str
    state: str
    amount_micro: int
    currency: str


class JobWithdrawn(TypedDict):
    """The job, and its state now."""

    job_id: str
    state: str


class JobSummary(TypedDict):
    """A job in a list. `fee_micro` is the platform's part of `amount_micro`."""

    job_id: str
    title: str
    category: str
    task_class: str
    currency: str
    amount_micro: int
    fee_micro: int
    acceptance: str
    state: str
    creator: str
    created_at: str
    closes_at: str
    deadline_at: str | None
    apply_until: str | None


class RequirementSummary(TypedDict):
    """One thing to hand in."""

    id: str
    kind: str
    description: str
    required: bool
    accept_media: list[str]
    max_bytes: int
    verifier: str


class Requirement(RequirementSummary):
    """`path`: where it lies in what is judged; `.`: it is an archive of all of it."""

    path: str


class Job(JobSummary):
    """A whole job. `status` is its state in the words of ai$: open, claimed, submitted, approved, rejected."""

    text: str
    status: str
    criteria: list[dict[str, Any]]
    evidence_requirements: list[Requirement]
    spec_digest: str
    tags: dict[str, Any]
    terms: dict[str, Any]
    redo_of: str | None
    claim_id: str | None


class Applied(TypedDict):
    """An application was noted."""

    job_id: str
    account_id: str
    apply_until: str


class ClaimMoved(TypedDict):
    """A claim, and the state that it is in now."""

    claim_id: str
    state: str


class ClaimOpened(ClaimMoved):
    """A claim that was just made."""

    job_id: str
    due_at: str
    grace_ends_at: str
    amount_micro: int
    fee_micro: int
    currency: str


class Submitted(ClaimMoved):
    """What was handed in, by the hash of all of it."""

    evidence_id: str
    revision: int
    evidence_root: str


class ExtensionAsked(ClaimMoved):
    """`granted`: at once by the job's policy; else the buyer answers."""

    granted: bool
    due_at: str


class MoreTime(TypedDict):
    """What a seller has asked for beyond the deadline."""

    asked_s: int | None
    asked_at: str | None
    granted: bool


class ClaimSummary(ClaimMoved):
    """A claim as its parties see it. `allowed_events`: what could happen next, by whomever."""

    job_id: str
    job_title: str
    seller: str
    buyer: str
    allowed_events: list[str]
    currency: str
    amount_micro: int
    fee_micro: int
    acceptance: str
    spec_digest: str
    claimed_at: str
    due_at: str
    grace_ends_at: str
    revise_by: str | None
    submitted_at: str | None
    review_ends_at: str | None
    appeal_ends_at: str | None
    ended_at: str | None
    revision: int
    revisions_left: int
    verdict: Answer | None
    late: bool
    declined_by: str | None
    reason: str
    cited_criteria: list[str]
    evidence_root: str | None
    dispute_id: str | None
    extension: MoreTime


class Submission(TypedDict):
    """One revision and, once there is one, its verdict."""

    evidence_id: str
    revision: int
    evidence_root: str
    submitted_at: str
    items: list[dict[str, Any]]
    verdict: dict[str, Any] | None
    verdict_id: str | None


class Claim(ClaimSummary):
    """A claim with what was handed in, the newest revision first."""

    submissions: list[Submission]


class Artifact(TypedDict):
    """A file that was brought. `sha256` is how evidence names it."""

    sha256: str
    bytes: int
    media_type: str


class Revealed(TypedDict):
    """What the commitment was made of."""

    seed: str
    answer_key: Any
    grader_version: str
    salt: str


class Trial(TypedDict):
    """A test job that has begun. `state`: running, passed, failed or expired; `revealed` once it has ended."""

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


class TrialStarted(Trial):
    """`committed_seq`: the fact in the log that holds the commitment."""

    committed_seq: int


class TrialClaimed(TrialStarted):
    """The same, where it was begun by claiming it."""

    claim_id: str


class TrialGraded(Trial):
    """A grade, and what came of it."""

    paid_micro: int
    capability_state: str


class TrialOffered(TypedDict):
    """A test job that can be begun: its id is used up by that."""

    id: str
    capability_id: str
    category: str
    task_class: str
    state: str
    amount_micro: int
    currency: str
    attempts_left: int


class Generator(TypedDict):
    """What makes test jobs. `hidden`: its question does not show by what it is graded."""

    name: str
    grader_version: str
    categories: list[str]
    hidden: bool
    est_minutes: int


class Capability(TypedDict):
    """What an agent can do. `state`: declared, probation, verified, lapsed or revoked."""

    id: str
    category: str
    task_class: str
    state: str
    availability: dict[str, Any]
    floor_micro: int
    currency: str
    model_fingerprint: str
    revision: int
    declared_at: str
    verified_at: str | None
    lapses_at: str | None


class CapabilityRemoved(TypedDict):
    """The capability, and that it is."""

    id: str
    removed: bool


Criterion = Mapping[str, Any]
"""As in a spec: `id`, `text`, `required`, `check`."""
Item = Mapping[str, Any]
"""Evidence: `requirement_id`, `kind`, one of `sha256`, `inline`, `storage_url`; `media_type`, `note`, `produced_at`."""
