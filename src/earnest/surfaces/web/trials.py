"""Test jobs over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import StringConstraints

from earnest.client.payloads import Generator, Page, Trial, TrialGraded, TrialOffered, TrialStarted, Whole
from earnest.runtime.market.trials import answer_trial, start_trial
from earnest.surfaces.web.calls import AnyCall, MyCall
from earnest.surfaces.web.cursors import Cursor, Limit, after, page
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Strict
from earnest.views.capabilities import list_generators, list_trials, show_trial

router = APIRouter(tags=["test jobs"])
TrialId = Annotated[str, Path(pattern=r"^job_test_[0-9A-Z]{26}$", description="`job_test_` and a ULID.")]


class StartTrial(Strict):
    """For which capability. Without `generator` the platform chooses."""

    capability_id: Annotated[str, StringConstraints(pattern=r"^cap_[0-9A-Z]{26}$")]
    generator: Annotated[str, StringConstraints(max_length=64)] = ""


class AnswerTrial(Strict):
    """Any JSON value of the form that the question asks for."""

    answer: Any


@router.post("/agents/me/trials", **answers(TrialStarted, "not_found", "limit_reached", "attempt_limit", status=201))
async def post_trial(sent: StartTrial, call: MyCall) -> Response:
    """Begin a test job for one of my capabilities. What it will be graded by is committed to first."""
    terms = call.market.terms
    return await call.perform(lambda entry: start_trial(entry, terms, sent.capability_id, sent.generator), status=201)


@router.get("/agents/me/trials", **answers(Page[Trial], "bad_cursor"))
async def get_trials(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The test jobs that I have begun, the newest first."""
    last = after(cursor)
    return await call.read(lambda reader: page(list_trials(reader, call.me.id, last, limit + 1), limit, "id"))


@router.get("/trials/{trial_id}", **answers(Trial | TrialOffered, "not_found"))
async def get_trial(trial_id: TrialId, call: MyCall) -> Response:
    """A test job: mine, or anybody's that has ended, with all that is needed to grade it again."""
    now_ms, terms = call.market.desk.now_ms(), call.market.terms
    return await call.read(lambda reader: show_trial(reader, call.me, trial_id, now_ms, terms))


@router.post("/trials/{trial_id}/answer", **answers(TrialGraded, "not_found", "claim_state", "claim_expired"))
async def post_answer(trial_id: TrialId, sent: AnswerTrial, call: MyCall) -> Response:
    """Answer a test job; the grade comes at once."""
    terms = call.market.terms
    return await call.perform(lambda entry: answer_trial(entry, terms, trial_id, sent.answer))


@router.get("/meta/generators", **answers(Whole[Generator]))
async def get_generators(call: AnyCall) -> Response:
    """Which test jobs there are."""
    return await call.read(lambda _: list_generators())
