"""Jobs, listed and whole."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from earnest.client import payloads as shown
from earnest.effects.ground.storage.driver import SqlValue
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.jobs.job import AID_JOB_STATES, AID_STATUS, Job, JobState, aid_status
from earnest.market.rows import CLAIMS, JOBS

PUBLIC_CHECKS: Final = frozenset({"checklist", "files", "human", "json_list", "json_schema", "llm_judge", "md_table"})
"""Kinds of check whose config tells a seller what is wanted; that of others may hold the answers."""
_NEWEST: Final = (
    "job_id = ? AND id >= (SELECT substr(max(id), 1, length('clm_') + 10) FROM claims WHERE job_id = ?)"
    " ORDER BY state IN ('cancelled', 'expired'), id DESC LIMIT 1"
)
"""Ids begin with their second and tell nothing within it; of all claims of a job one at most was not given back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsWanted:
    """Which jobs. `creator`: whose, an id or handle. `match_for`: an account whose abilities they must fit.

    `status`: in the words of ai$; it says which `states` come into question.
    """

    states: tuple[JobState, ...] = (JobState.OPEN,)
    category: str = ""
    task_class: str = ""
    currency: str = ""
    amount_micro_min: int = 0
    creator: str = ""
    status: str = ""
    match_for: str = ""
    after: str = ""
    limit: int = 20


def list_jobs(reader: BooksReader, wanted: JobsWanted) -> list[shown.JobSummary]:
    """Newest first. Each state is asked for by its index, so that the number of other jobs costs nothing."""
    found: list[Job] = []
    for state in AID_JOB_STATES.get(wanted.status, wanted.states):
        found += _of_state(reader, wanted, state)
    found.sort(key=lambda job: job.id, reverse=True)
    return [_summary(job) for job in found[: wanted.limit]]


def show_job(reader: BooksReader, job_id: str, viewer: str) -> shown.Job:
    """A job as `viewer` (an account) may see it. Raises `Refused("not_found")`."""
    job = JOBS.get(reader, job_id)
    if job is None:
        raise Refused("not_found", f"there is no job {job_id[:80]!r}, or you may not know of it")
    newest = next(iter(CLAIMS.where(reader, _NEWEST, (job.id, job.id))), None)
    is_party = viewer == job.creator or (newest is not None and viewer == newest.seller)
    return {
        **_summary(job),
        "text": job.text,
        "status": aid_status(job, newest),
        "criteria": [dict(one) if viewer == job.creator else public_criterion(one) for one in json.loads(job.criteria)],
        "evidence_requirements": json.loads(job.requirements),
        "spec_digest": job.spec_digest,
        "tags": json.loads(job.tags),
        "terms": {
            "work_s": job.work_s,
            "grace_s": job.grace_s,
            "auto_extend": job.auto_extend,
            "auto_release_s": job.auto_release_s,
            "revise_s": job.revise_s,
            "max_revisions": job.revisions_max,
        },
        "redo_of": job.redo_of,
        "claim_id": newest.id if newest is not None and is_party else None,
    }


def _of_state(reader: BooksReader, wanted: JobsWanted, state: JobState) -> list[Job]:
    asked: list[tuple[str, list[SqlValue]]] = [("state = ?", [state.value])]
    if wanted.creator:
        whose = "creator = coalesce((SELECT id FROM accounts WHERE handle = ?), ?)"
        asked.append((whose, [wanted.creator.removeprefix("@"), wanted.creator]))
    if wanted.status and state is not JobState.OPEN:
        claims: list[SqlValue] = [one.value for one, status in AID_STATUS.items() if status == wanted.status]
        asked.append((_CALLED.format(", ".join("?" * len(claims)) or "NULL"), claims))
    filters: tuple[tuple[str, SqlValue], ...] = (
        ("category = ?", wanted.category),
        ("task_class = ?", wanted.task_class),
        ("currency = ?", wanted.currency),
        ("amount_micro >= ?", wanted.amount_micro_min),
        (_MATCHES, wanted.match_for),
        ("id < ?", wanted.after),
    )
    asked += [(condition, [value] * condition.count("?")) for condition, value in filters if value]
    conditions = " AND ".join(condition for condition, _ in asked)
    parameters = (*(value for _, values in asked for value in values), wanted.limit)
    return list(JOBS.where(reader, f"{conditions} ORDER BY id DESC LIMIT ?", parameters))


_CALLED: Final = "EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.id AND claims.state IN ({}))"
"""Of all claims of a job one at most was not given back, and it is the newest."""
_MATCHES: Final = (
    "creator <> ? AND EXISTS (SELECT 1 FROM capabilities AS able WHERE able.account_id = ? AND able.removed = 0"
    " AND able.category = jobs.category AND able.task_class = jobs.task_class AND able.currency = jobs.currency"
    " AND able.floor_micro <= jobs.amount_micro)"
)


def _summary(job: Job) -> shown.JobSummary:
    return {
        "job_id": job.id,
        "title": job.title,
        "category": job.category,
        "task_class": job.task_class.value,
        "currency": job.currency,
        "amount_micro": job.amount_micro,
        "fee_micro": job.amount_micro * job.fee_bps // 10_000,
        "acceptance": job.acceptance,
        "state": job.state.value,
        "creator": job.creator,
        "created_at": rfc3339_s(job.created_at_ms),
        "closes_at": rfc3339_s(job.closes_at_ms),
        "deadline_at": rfc3339_s(job.deadline_at_ms),
        "apply_until": rfc3339_s(job.apply_until_ms),
    }


def public_criterion(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """A criterion as anybody may see it: of a check whose answer could be read off it, the kind alone."""
    check = criterion.get("check")
    if check is None or check["kind"] in PUBLIC_CHECKS:
        return dict(criterion)
    return {**criterion, "check": {"kind": check["kind"]}}
