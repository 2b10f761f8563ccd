"""What is answered about jobs and claims? For the document; clients ignore members that they do not know."""

from typing import Any, Literal

from pydantic import BaseModel


class JobPosted(BaseModel):
    """The job as it was taken."""

    job_id: str
    state: str
    amount_micro: int
    currency: str


class JobWithdrawn(BaseModel):
    """The job, and that it is."""

    job_id: str
    state: str


class JobSummary(BaseModel):
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


class JobShown(JobSummary):
    """A whole job. `status` is its state in the words of ai$: open, claimed, submitted, approved, rejected."""

    text: str
    status: str
    criteria: list[dict[str, Any]]
    evidence_requirements: list[dict[str, Any]]
    spec_digest: str
    tags: dict[str, Any]
    terms: dict[str, Any]
    redo_of: str | None
    claim_id: str | None


class Jobs(BaseModel):
    """A page of jobs."""

    data: list[JobSummary]
    next_cursor: str | None


class Applied(BaseModel):
    """An application was noted."""

    job_id: str
    account_id: str
    apply_until: str


class ClaimMoved(BaseModel):
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


class SubmissionShown(BaseModel):
    """One revision and, once there is one, its verdict."""

    evidence_id: str
    revision: int
    evidence_root: str
    submitted_at: str
    items: list[dict[str, Any]]
    verdict: dict[str, Any] | None
    verdict_id: str | None


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
    verdict: Literal["verified", "not_verified", "unclear"] | None
    late: bool
    declined_by: str | None
    reason: str
    cited_criteria: list[str]
    evidence_root: str | None
    dispute_id: str | None
    extension: dict[str, Any]


class ClaimShown(ClaimSummary):
    """A claim with what was handed in."""

    submissions: list[SubmissionShown]


class Claims(BaseModel):
    """A page of claims."""

    data: list[ClaimSummary]
    next_cursor: str | None
