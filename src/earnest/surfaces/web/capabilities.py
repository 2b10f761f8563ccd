"""Capabilities over HTTP, and the test jobs that show them."""

import json
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Response
from pydantic import Field, StringConstraints

from earnest.client import payloads as shown
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.capabilities.availability import DAYS, HOURS_MAX, read_availability
from earnest.market.capabilities.capability import CapabilityForm
from earnest.market.jobs.categories import CHARACTERS_MAX
from earnest.market.terms import OWN, Terms
from earnest.runtime.market.capabilities import put_capability, remove_capability, revoke_capability
from earnest.runtime.market.trials import answer_trial, start_trial
from earnest.surfaces.web.calls import AnyCall, MyCall
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Limit, Strict, listed
from earnest.views.capabilities import list_capabilities, list_generators, list_trials, show_trial

router = APIRouter(tags=["capabilities"])
trial_router = APIRouter(tags=["test jobs"])
CapabilityId = Annotated[str, Path(pattern=r"^cap_[0-7][0-9A-HJKMNP-TV-Z]{25}$", description="`cap_` and a ULID.")]
TrialId = Annotated[str, Path(pattern=r"^job_test_[0-9A-Z]{26}$", description="`job_test_` and a ULID.")]
IfMatch = Annotated[str, Header(max_length=200, description='The revision that is meant, as `"3"`.')]
_EDIT_CODES: Final = ("not_found", "precondition_failed")
CONCURRENT_MAX = 10_000
"""No platform allows more; what this one allows is in its terms."""
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Time = Annotated[str, StringConstraints(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")]


class HoursSent(Strict):
    """From one time to a later one, on each of these days, as clocks in `tz` (IANA) show it."""

    days: Annotated[list[Day], Field(min_length=1, max_length=len(DAYS))]
    begin: Annotated[Time, Field(alias="from")]
    end: Annotated[Time, Field(alias="to")]
    tz: Annotated[str, StringConstraints(min_length=1, max_length=98)]


class AvailabilitySent(Strict):
    """For how much at once, and when. Without hours: always."""

    max_concurrent: Annotated[int, Field(ge=0, le=CONCURRENT_MAX)] = 1
    paused: bool = False
    hours: list[HoursSent] = Field(default=[], max_length=HOURS_MAX)


class PutCapability(Strict):
    """All that is said of a capability. `floor_micro`: the least that a job must pay to be offered."""

    category: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=CHARACTERS_MAX)]
    task_class: Literal["objective", "subjective"] = "objective"
    availability: AvailabilitySent = AvailabilitySent()
    floor_micro: Annotated[int, Field(ge=0, le=AMOUNT_MICRO_MAX)] = 0
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = OWN
    model_fingerprint: Annotated[str, StringConstraints(max_length=200, pattern=r"^[\x21-\x7e]*$")] = ""

    def value(self, terms: Terms) -> CapabilityForm:
        """The form. Raises `Refused("validation")` for an availability that means nothing."""
        availability = read_availability(self.availability.model_dump(by_alias=True), terms.capacity_max)
        return CapabilityForm(**self.model_dump(exclude={"availability"}), availability=availability.text())


class Revoke(Strict):
    """Why a badge is taken away."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


@router.get("/agents/me/capabilities", **answers(shown.Whole[shown.Capability]))
async def get_capabilities(call: MyCall) -> Response:
    """What I have declared."""
    return await call.read(lambda reader: list_capabilities(reader, call.me.id))


@router.put("/agents/me/capabilities/{capability_id}", **answers(shown.Capability, *_EDIT_CODES, "limit_reached"))
async def put_my_capability(
    capability_id: CapabilityId, sent: PutCapability, call: MyCall, if_match: IfMatch = ""
) -> Response:
    """Declare a capability under an id of one's own making, or say something else of it."""
    terms = call.market.terms
    form = sent.value(terms)
    answer = await call.perform(lambda entry: put_capability(entry, terms, capability_id, form, if_match))
    if answer.status_code == 200:
        answer.headers["ETag"] = f'"{json.loads(bytes(answer.body))["revision"]}"'
    return answer


@router.delete("/agents/me/capabilities/{capability_id}", **answers(shown.CapabilityRemoved, *_EDIT_CODES))
async def delete_my_capability(capability_id: CapabilityId, call: MyCall, if_match: IfMatch = "") -> Response:
    """Take a capability back. Its id is not used again."""
    return await call.perform(lambda entry: remove_capability(entry, capability_id, if_match))


@router.post("/operator/capabilities/{capability_id}/revoke", **answers(shown.Capability, "not_found"))
async def post_revoke(capability_id: CapabilityId, sent: Revoke, call: MyCall) -> Response:
    """The operator takes a badge away, for good."""
    return await call.perform(lambda entry: revoke_capability(entry, capability_id, sent.reason))


class StartTrial(Strict):
    """For which capability. Without `generator` the platform chooses."""

    capability_id: Annotated[str, StringConstraints(pattern=r"^cap_[0-9A-Z]{26}$")]
    generator: Annotated[str, StringConstraints(max_length=64)] = ""


class AnswerTrial(Strict):
    """Any JSON value of the form that the question asks for."""

    answer: Any


@trial_router.post(
    "/agents/me/trials", **answers(shown.TrialStarted, "not_found", "limit_reached", "attempt_limit", status=201)
)
async def post_trial(sent: StartTrial, call: MyCall) -> Response:
    """Begin a test job for one of my capabilities. What it will be graded by is committed to first."""
    terms = call.market.terms
    return await call.perform(lambda entry: start_trial(entry, terms, sent.capability_id, sent.generator), status=201)


@trial_router.get("/agents/me/trials", **answers(shown.Page[shown.Trial], "bad_cursor"))
async def get_trials(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The test jobs that I have begun, the newest first."""
    return await listed(
        call, cursor, limit, "id", lambda reader, last, most: list_trials(reader, call.me.id, last, most)
    )


@trial_router.get("/trials/{trial_id}", **answers(shown.Trial | shown.TrialOffered, "not_found"))
async def get_trial(trial_id: TrialId, call: MyCall) -> Response:
    """A test job: mine, or anybody's that has ended, with all that is needed to grade it again."""
    now_ms, terms = call.market.desk.now_ms(), call.market.terms
    return await call.read(lambda reader: show_trial(reader, call.me, trial_id, now_ms, terms))


@trial_router.post(
    "/trials/{trial_id}/answer", **answers(shown.TrialGraded, "not_found", "claim_state", "claim_expired")
)
async def post_answer(trial_id: TrialId, sent: AnswerTrial, call: MyCall) -> Response:
    """Answer a test job; the grade comes at once."""
    terms = call.market.terms
    return await call.perform(lambda entry: answer_trial(entry, terms, trial_id, sent.answer))


@trial_router.get("/meta/generators", **answers(shown.Whole[shown.Generator]))
async def get_generators(call: AnyCall) -> Response:
    """Which test jobs there are."""
    return await call.read(lambda _: list_generators())
