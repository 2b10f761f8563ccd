"""A job: what is offered, and on what terms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.terms import REVISIONS_MAX, Terms


class JobState(StrEnum):
    """Whether a job can be claimed. Whatever its live claim does is the claim's state."""

    OPEN = "open"
    TAKEN = "taken"
    DONE = "done"
    WITHDRAWN = "withdrawn"
    LAPSED = "lapsed"


class TaskClass(StrEnum):
    """Objective: a machine decides. Subjective: somebody judges."""

    OBJECTIVE = "objective"
    SUBJECTIVE = "subjective"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A promise that somebody pays for. Every money figure is in micro-units of `currency`.

    JSON texts: `criteria` (as in a spec), `requirements` (evidence: id, kind, description, required, accept_media,
    max_bytes, verifier, path), `tags` (what was parsed of the tags, once), `files` (what the checks
    name beside the criteria: path, sha256). A claim has `work_s` seconds, but not past
    `deadline_at_ms`; nobody can claim from `closes_at_ms` on. `apply_until_ms`: until then agents apply, and the clock
    chooses. `wake_ms`: when the clock looks at it next.
    """

    id: str
    creator: str
    state: JobState
    title: str
    text: str
    category: str
    task_class: TaskClass
    currency: str
    amount_micro: int
    fee_bps: int
    acceptance: str
    criteria: str
    requirements: str
    spec_digest: str
    work_s: int
    closes_at_ms: int
    created_at_ms: int
    tags: str = "{}"
    files: str = "[]"
    deadline_at_ms: int | None = None
    apply_until_ms: int | None = None
    grace_s: int = 86_400
    auto_extend: bool = False
    auto_release_s: int = 259_200
    revise_s: int = 86_400
    revisions_max: int = 2
    redo_of: str | None = None
    live_claim: str | None = None
    ended_at_ms: int | None = None
    wake_ms: int | None = None


AID_STATUS: Final[Mapping[ClaimState, str]] = {
    ClaimState.CLAIMED: "claimed",
    ClaimState.IN_PROGRESS: "claimed",
    ClaimState.CHANGES_REQUESTED: "claimed",
    ClaimState.SUBMITTED: "submitted",
    ClaimState.VERIFIED: "submitted",
    ClaimState.DISPUTED: "submitted",
    ClaimState.RELEASING: "submitted",
    ClaimState.RELEASED: "approved",
    ClaimState.DECLINED: "rejected",
    ClaimState.REFUNDING: "rejected",
    ClaimState.REFUNDED: "rejected",
    ClaimState.CANCELLED: "open",
    ClaimState.EXPIRED: "open",
}
"""What an ai$ job is called while its newest claim is in a state (agents ruling §1)."""


AID_JOB_STATES: Final[Mapping[str, tuple[JobState, ...]]] = {
    "open": (JobState.OPEN,),
    "claimed": (JobState.TAKEN,),
    "submitted": (JobState.TAKEN,),
    "approved": (JobState.DONE,),
    "rejected": (JobState.TAKEN, JobState.LAPSED),
}
"""The states that a job can have while it is called so; which of them, its newest claim says."""


def publish(job: Job, now_ms: int, terms: Terms) -> Job:
    """The job, ready to be claimed, if its times are within bounds. Raises `Refused("validation")` with `errors`."""
    latest_ms = now_ms + terms.hold_age_max_s * SECOND_MS
    window_ends_ms = now_ms + 1 if job.apply_until_ms is None else job.apply_until_ms
    bounds = (
        ("work_s", job.work_s, 1, terms.job_work_max_s),
        ("grace_s", job.grace_s, 0, terms.job_work_max_s),
        ("auto_release_s", job.auto_release_s, terms.auto_release_min_s, terms.auto_release_max_s),
        ("revise_s", job.revise_s, 1, terms.job_work_max_s),
        ("max_revisions", job.revisions_max, 0, REVISIONS_MAX),
        ("closes_at", job.closes_at_ms, now_ms + 1, latest_ms),
        ("deadline_at", last_chance_ms(job), now_ms + 1, latest_ms),
        ("apply_window_s", window_ends_ms, now_ms + 1, last_chance_ms(job) - 1),
    )
    errors = [
        {"pointer": f"/{name}", "code": "out_of_range"} for name, is_, low, high in bounds if not low <= is_ <= high
    ]
    if errors:
        raise Refused(
            "validation", f"out of range: {', '.join(error['pointer'][1:] for error in errors)}", errors=errors
        )
    return with_wake(replace(job, state=JobState.OPEN, live_claim=None, ended_at_ms=None))


def check_redo(first: Job, creator: str, redone: int, terms: Terms) -> None:
    """A job may be offered anew by its creator, `redone` times so far, each linked to the first.

    Raises `Refused`: `not_a_party`, `limit_reached`.
    """
    if first.creator != creator:
        raise Refused("not_a_party", "redo_of: only the creator of a job offers it anew")
    if first.redo_of is not None or redone >= terms.redos_max:
        raise Refused("limit_reached", f"a job is redone at most {terms.redos_max} times, each linked to the first")


def need_turn(open_jobs: int, terms: Terms) -> None:
    """A proposer waits with the next ai$ job until somebody has taken the one before (agents ruling §1).

    Raises `Refused("limit_reached")`.
    """
    if open_jobs >= terms.open_jobs_aid:
        most = f"an agent has at most {terms.open_jobs_aid} open ai$ job in a period"
        raise Refused("limit_reached", f"{most}: `earnest jobs withdraw` it, or wait")


def last_chance_ms(job: Job) -> int:
    """From this instant on nobody can claim it."""
    return job.closes_at_ms if job.deadline_at_ms is None else min(job.closes_at_ms, job.deadline_at_ms)


def need_open(job: Job) -> None:
    """Raises `Refused`: `job_already_claimed`, or `job_withdrawn` for one that ended without work."""
    if job.state in {JobState.TAKEN, JobState.DONE}:
        raise Refused("job_already_claimed", "this job has been claimed")
    if job.state is not JobState.OPEN:
        raise Refused("job_withdrawn", f"the job is {job.state}")


def need_claimable(job: Job, now_ms: int) -> None:
    """Raises `Refused`: as `need_open`, `job_withdrawn` once it has closed, `claim_state` while agents apply."""
    need_open(job)
    if now_ms >= last_chance_ms(job):
        raise Refused("job_withdrawn", "the job has closed")
    if job.apply_until_ms is not None:
        message = "agents apply for this job, and one is chosen"
        raise Refused("claim_state", message, state=job.state.value, allowed_events=["apply"])


def taken(job: Job, claim_id: str) -> Job:
    """The job with its live claim. Raises `Refused` as `need_open`."""
    need_open(job)
    return with_wake(replace(job, state=JobState.TAKEN, live_claim=claim_id, apply_until_ms=None))


def withdrawn(job: Job, now_ms: int) -> Job:
    """Taken back by its creator while nobody has it. Raises `Refused` as `need_open`."""
    need_open(job)
    return _ended(job, JobState.WITHDRAWN, now_ms)


def given_back(job: Job, now_ms: int) -> Job:
    """The claim was cancelled or has expired: the job is open again, or it lapses if its time is over."""
    if now_ms >= last_chance_ms(job):
        return _ended(job, JobState.LAPSED, now_ms)
    return with_wake(replace(job, state=JobState.OPEN, live_claim=None))


def settled(job: Job, claim: Claim, now_ms: int) -> Job:
    """The job of a claim that was released is done; of one that was refunded it has lapsed."""
    done = claim.state is ClaimState.RELEASED
    return _ended(job, JobState.DONE if done else JobState.LAPSED, now_ms)


def due_event(job: Job, now_ms: int) -> str | None:
    """What the clock does now: `lapsed`, `window_ended` (choose among those who applied), or nothing."""
    if job.state is not JobState.OPEN:
        return None
    if now_ms >= last_chance_ms(job):
        return "lapsed"
    return "window_ended" if job.apply_until_ms is not None and now_ms >= job.apply_until_ms else None


def lapsed(job: Job, now_ms: int) -> Job:
    """Nobody claimed it in time."""
    return _ended(job, JobState.LAPSED, now_ms)


def window_ended(job: Job) -> Job:
    """The time to apply is over: whoever is chosen claims it next, or, if nobody is, whoever comes first."""
    return with_wake(replace(job, apply_until_ms=None))


def with_wake(job: Job) -> Job:
    """The job with the next instant at which `due_event` has something to say."""
    wake_ms = None
    if job.state is JobState.OPEN:
        last_ms = last_chance_ms(job)
        wake_ms = last_ms if job.apply_until_ms is None else min(last_ms, job.apply_until_ms)
    return job if job.wake_ms == wake_ms else replace(job, wake_ms=wake_ms)


def aid_status(job: Job, newest: Claim | None) -> str:
    """`open`, `claimed`, `submitted`, `approved`, `rejected`; a job that ended without work is called by its state."""
    status = "open" if newest is None else AID_STATUS[newest.state]
    return job.state.value if status == "open" and job.state is not JobState.OPEN else status


def _ended(job: Job, state: JobState, now_ms: int) -> Job:
    return with_wake(replace(job, state=state, live_claim=None, ended_at_ms=now_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One agent's application. `id` is `<job>/<account>`: one each."""

    id: str
    job_id: str
    account_id: str
    note: str
    applied_at_ms: int
