"""Jobs over HTTP: post, find, withdraw, apply, claim."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field, StringConstraints

from earnest.client import payloads as shown
from earnest.contracts.criterion import CRITERIA_MAX
from earnest.contracts.spec import TEXT_CHARACTERS_MAX, TITLE_CHARACTERS_MAX, Acceptance
from earnest.effects.ground.storage.reader import BooksReader
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.capabilities.trial import TRIAL_IDS
from earnest.market.jobs.job import JobState, TaskClass
from earnest.market.jobs.offer import ITEM_BYTES_MAX, REQUIREMENTS_MAX, Offer, Requirement
from earnest.market.terms import DAY_S, OWN
from earnest.runtime.market.claiming import apply_for, claim_job
from earnest.runtime.market.deciding import decide_job
from earnest.runtime.market.posting import prepare_posting, withdraw_job
from earnest.runtime.market.trials import claim_test_job
from earnest.surfaces.web.calls import AnyCall, MyCall
from earnest.surfaces.web.claims import DECISION_CODES
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Id, Instant, Limit, Reason, Sha256, Slug, Strict, instant_ms, listed
from earnest.views.capabilities import show_trial
from earnest.views.jobs import JobsWanted, list_jobs, show_job

router = APIRouter(tags=["jobs"])
root_router = APIRouter(tags=["jobs"])
"""`POST /jobs/{id}/review` stands at the root too, where the seed's agents look for it."""

_STATES = {"open": (JobState.OPEN,), "taken": (JobState.TAKEN,), "done": (JobState.DONE,), "all": tuple(JobState)}
_STATE_CODES = ("not_found", "job_already_claimed", "job_withdrawn", "job_state", "claim_state")
_CLAIMANT_CODES = ("capacity_exceeded", "related_party", "limit_reached", "attempt_limit")
_CHECK_CODES = ("lint_failed", "unknown_check", "verifier_unavailable")
_POST_CODES = ("insufficient_funds", "limit_reached", "not_found", "not_a_party")


class EvidenceRequirement(Strict):
    """One thing to hand in. Without `path` it lies under its id."""

    id: Id
    kind: str
    description: Annotated[str, StringConstraints(max_length=2_000)] = ""
    path: Annotated[str, StringConstraints(max_length=512)] = ""
    required: bool = True
    accept_media: list[str] = Field(default=[], max_length=20)
    max_bytes: Annotated[int, Field(ge=1, le=ITEM_BYTES_MAX)] = ITEM_BYTES_MAX
    verifier: str = ""

    def value(self) -> Requirement:
        """The requirement."""
        given = {**self.model_dump(), "path": self.path or self.id, "accept_media": tuple(self.accept_media)}
        return Requirement(**given)


class JobFile(Strict):
    """A file that a check names: an artifact of the creator, never shown to the seller."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    sha256: Sha256


class PostJob(Strict):
    """A job. `criteria` are as in a spec (`earnest verify`): id, text, required, check."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=TITLE_CHARACTERS_MAX)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=TEXT_CHARACTERS_MAX)]
    category: Slug
    task_class: Annotated[TaskClass, Field(strict=False)] = TaskClass.OBJECTIVE
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = OWN
    amount_micro: Annotated[int, Field(ge=0, le=AMOUNT_MICRO_MAX)]
    acceptance: Annotated[Acceptance | None, Field(strict=False)] = None
    criteria: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=CRITERIA_MAX)]
    evidence_requirements: Annotated[list[EvidenceRequirement], Field(min_length=1, max_length=REQUIREMENTS_MAX)]
    files: list[JobFile] = Field(default=[], max_length=50)
    work_s: Annotated[int, Field(ge=60, le=90 * DAY_S)] = DAY_S
    closes_at: Instant | None = None
    deadline_at: Instant | None = None
    apply_window_s: Annotated[int, Field(ge=0, le=14 * DAY_S)] = 0
    grace_s: Annotated[int | None, Field(ge=0, le=7 * DAY_S)] = None
    auto_extend: bool = False
    auto_release_s: Annotated[int | None, Field(ge=DAY_S, le=14 * DAY_S)] = None
    revise_s: Annotated[int | None, Field(ge=60, le=14 * DAY_S)] = None
    max_revisions: Annotated[int | None, Field(ge=0, le=10)] = None
    redo_of: str | None = None

    def value(self) -> Offer:
        """The offer. Raises `Refused("validation")` for an instant that is none."""
        others = {"criteria", "evidence_requirements", "files", "closes_at", "deadline_at", "max_revisions"}
        return Offer(
            **self.model_dump(exclude=others),
            criteria=tuple(self.criteria),
            requirements=tuple(one.value() for one in self.evidence_requirements),
            files={one.path: one.sha256 for one in self.files},
            closes_at_ms=instant_ms(self.closes_at, "closes_at"),
            deadline_at_ms=instant_ms(self.deadline_at, "deadline_at"),
            revisions_max=self.max_revisions,
        )


class Apply(Strict):
    """Why it should be me."""

    note: Annotated[str, StringConstraints(max_length=2_000)] = ""


class DecideJob(Strict):
    """A decision on submitted work. `penalty` is taken and not looked at: the platform computes it."""

    approved: bool
    reason: Reason
    penalty: int | float | None = None
    criteria: list[Id] = Field(default=[], max_length=CRITERIA_MAX)


@router.post("/jobs", **answers(shown.JobPosted, *_CHECK_CODES, *_POST_CODES, status=201))
async def post_job(job: PostJob, call: MyCall) -> Response:
    """Post a job. Its checks are tried on worthless work first, and its reward is laid aside."""
    caller, offer = call.me, job.value()
    return await call.perform(prepare=lambda: prepare_posting(call.market, caller, offer), status=201)


@router.get("/jobs", **answers(shown.Page[shown.JobSummary], "bad_cursor"))
async def get_jobs(
    *,
    call: AnyCall,
    state: Annotated[Literal["open", "taken", "done", "all"], Query()] = "open",
    category: Annotated[Slug | None, Query()] = None,
    task_class: Annotated[TaskClass | None, Query()] = None,
    currency: Annotated[str, Query(max_length=3)] = "",
    min_amount_micro: Annotated[int, Query(ge=0, le=9 * 10**15)] = 0,
    match_for: Annotated[Literal["me"] | None, Query(description="Only what my capabilities fit.")] = None,
    mine: Annotated[bool, Query(description="Only what I have posted.")] = False,
    created_by: Annotated[str, Query(max_length=64, description="Only what this account, by id or handle, has.")] = "",
    status: Annotated[
        Literal["open", "claimed", "submitted", "approved", "rejected"] | None,
        Query(description="By its state in the words of ai$, in the place of `state`."),
    ] = None,
    cursor: Cursor = "",
    limit: Limit = 20,
) -> Response:
    """Jobs, the newest first."""
    wanted = JobsWanted(
        states=_STATES[state],
        category=category or "",
        task_class=task_class or "",
        currency=currency,
        amount_micro_min=min_amount_micro,
        creator=call.me.id if mine else created_by,
        status=status or "",
        match_for=call.me.id if match_for else "",
    )

    def find(reader: BooksReader, last: str, most: int) -> list[shown.JobSummary]:
        return list_jobs(reader, replace(wanted, after=last, limit=most))

    return await listed(call, cursor, limit, "job_id", find)


@router.get("/jobs/{job_id}", **answers(shown.Job | shown.Trial | shown.TrialOffered, "not_found"))
async def get_job(job_id: str, call: AnyCall) -> Response:
    """One job, or a test job. Of checks whose setting holds the answers, only the kind is shown to others."""
    if job_id.startswith(TRIAL_IDS):
        now_ms, terms = call.market.desk.now_ms(), call.market.terms
        return await call.read(lambda reader: show_trial(reader, call.me, job_id, now_ms, terms))
    viewer = call.caller.id if call.caller else ""
    return await call.read(lambda reader: show_job(reader, job_id, viewer))


@router.post(
    "/jobs/{job_id}/claim",
    **answers(shown.ClaimOpened | shown.TrialClaimed, *_STATE_CODES, *_CLAIMANT_CODES, status=201),
)
async def post_claim(job_id: str, call: MyCall) -> Response:
    """Claim a job: one of all who try has it. A test job begins with it, and its id is the claim's."""
    terms = call.market.terms
    if job_id.startswith(TRIAL_IDS):
        return await call.perform(lambda entry: claim_test_job(entry, terms, job_id), status=201)
    return await call.perform(partial(claim_job, terms=terms, job_id=job_id), status=201)


@router.post(
    "/jobs/{job_id}/applications", **answers(shown.Applied, "not_found", "job_state", "related_party", status=201)
)
async def post_application(job_id: str, application: Apply, call: MyCall) -> Response:
    """Apply for a job whose creator lets agents apply first; the clock chooses when the window ends."""
    return await call.perform(lambda entry: apply_for(entry, job_id, application.note), status=201)


@router.post(
    "/jobs/{job_id}/withdraw",
    **answers(shown.JobWithdrawn, "not_found", "not_a_party", "job_already_claimed", "job_withdrawn"),
)
async def post_withdraw(job_id: str, call: MyCall) -> Response:
    """Take back a job that nobody has claimed; its reward returns."""
    return await call.perform(lambda entry: withdraw_job(entry, job_id))


@router.post("/jobs/{job_id}/review", **answers(shown.ClaimMoved, *DECISION_CODES, "related_party"))
@root_router.post("/jobs/{job_id}/review", **answers(shown.ClaimMoved, *DECISION_CODES, "related_party"))
async def post_decision(job_id: str, decision: DecideJob, call: MyCall) -> Response:
    """Approve or reject the work of a job: whoever its acceptance names. Any penalty is computed by the platform."""
    return await call.perform(
        lambda entry: decide_job(
            entry, call.market.terms, job_id, decision.reason, tuple(decision.criteria), approved=decision.approved
        ),
        optional=True,
    )
