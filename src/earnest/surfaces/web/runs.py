"""Runs of the platform's data directory over HTTP: their changes, their questions, and the journal of all."""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StringConstraints

from earnest.client.payloads_platform import EffectDecided, JournalChecked, LeaveDecided, ReviewDecided, RunChanged
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.instants import rfc3339
from earnest.identity.key import Scope
from earnest.runtime import leave, unknown_effects
from earnest.runtime.desk import Prepared
from earnest.runtime.edits.outside import EditPart
from earnest.runtime.own_runs import OwnRuns
from earnest.surfaces.web.calls import Call, MyCall, rendered
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Strict
from earnest.verification.reviews.review import POINTS_MAX, REASON_CHARACTERS_MAX

KEY_CHARACTERS_MAX = 500
SCORES_MAX = 100
router = APIRouter(tags=["runs"])
_OF_CHANGE = ("not_found", "run_unknown", "no_edits", "files_gone", "edit_conflict", "maintenance")


class ChangeToApply(Strict):
    """`unverified`: also what no verdict accepted; `merge`: join texts that were changed meanwhile, as git does."""

    unverified: bool = False
    merge: bool = False


_AS_ACCEPTED: Final = ChangeToApply()


class DecideEffect(Strict):
    """`key`: what was asked about, as it was told."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=KEY_CHARACTERS_MAX)]
    decision: Literal["happened", "absent", "give-up"]


class DecideLeave(Strict):
    """`key` is that of the call which waits, `action` the digest of what exactly it would do."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=KEY_CHARACTERS_MAX)]
    action: Annotated[str, StringConstraints(min_length=1, max_length=KEY_CHARACTERS_MAX)]
    approve: bool


class DecideReview(Strict):
    """With a rubric `scores`, one for each line; without one `approve`."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=REASON_CHARACTERS_MAX)]
    approve: bool | None = None
    scores: Annotated[
        list[Annotated[int, Field(ge=0, le=POINTS_MAX)]], Field(max_length=SCORES_MAX, default_factory=list)
    ]


def _mine(call: Call, request: Request) -> OwnRuns:
    """For the operator. Raises `Refused`: `scope_forbidden`, `not_found` where the platform has no such directory."""
    call.me.need(Scope.OPERATOR)
    return _own(request)


def _own(request: Request) -> OwnRuns:
    own: OwnRuns | None = request.app.state.own
    if own is None:
        raise Refused("not_found", "this platform has no data directory of runs")
    return own


@router.post(
    "/operator/runs/{run_id}/apply",
    **answers(RunChanged, *_OF_CHANGE, "run_unfinished", "edit_applied", "not_accepted", "edit_link"),
)
async def post_apply(run_id: str, call: MyCall, request: Request, sent: ChangeToApply = _AS_ACCEPTED) -> Response:
    """Put what a run changed in the place of the originals: all of it, or nothing."""
    own = _mine(call, request)
    apply = partial(own.edits.apply, run_id, unverified=sent.unverified, merge=sent.merge)
    return await call.perform(prepare=lambda: _changed(run_id, "applied", apply()))


@router.post("/operator/runs/{run_id}/undo", **answers(RunChanged, *_OF_CHANGE, "not_applied"))
async def post_undo(run_id: str, call: MyCall, request: Request) -> Response:
    """Bring back what an applied change replaced, if nobody changed it since."""
    own = _mine(call, request)
    return await call.perform(prepare=lambda: _changed(run_id, "undone", own.edits.undo(run_id)))


@router.post("/operator/runs/{run_id}/effect", **answers(EffectDecided, "not_found", "effect_unasked"))
async def post_effect(run_id: str, sent: DecideEffect, call: MyCall, request: Request) -> Response:
    """Say what became of an effect of which nobody knows whether it happened; `earnest resume` goes on with it."""
    own = _mine(call, request)

    async def decide() -> Prepared:
        decision, by = unknown_effects.EffectDecision(sent.decision), call.me.account.handle
        await unknown_effects.decide(own.edits.database, own.edits.clock, run_id, decision, by=by, key=sent.key)
        return _answering({"run_id": run_id, "key": sent.key, "decision": sent.decision})

    return await call.perform(prepare=decide)


@router.post("/operator/runs/{run_id}/leave", **answers(LeaveDecided, "not_found", "leave_unasked"))
async def post_leave(run_id: str, sent: DecideLeave, call: MyCall, request: Request) -> Response:
    """Say yes or no to exactly what a run asks leave for, while it waits (Law 1)."""
    own = _mine(call, request)

    async def decide() -> Prepared:
        books, by = own.edits, call.me.account.handle
        await leave.say(books.database, books.clock, run_id, sent.key, sent.action, approved=sent.approve, by=by)
        return _answering({"run_id": run_id, "key": sent.key, "approved": sent.approve})

    return await call.perform(prepare=decide)


@router.post(
    "/operator/reviews/{question_id}/decide",
    **answers(ReviewDecided, "not_found", "review_unknown", "review_incomplete", "review_decided"),
)
async def post_decision(question_id: str, sent: DecideReview, call: MyCall, request: Request) -> Response:
    """Decide what waits for a person in a run or a verdict made by hand, once and for good."""
    own = _mine(call, request)

    async def decide() -> Prepared:
        found = await own.reviews.decide(
            question_id, approve=sent.approve, scores=sent.scores, reason=sent.reason, by=call.me.account.handle
        )
        body: ReviewDecided = {
            "review_id": found.review_id,
            "approved": found.approved,
            "scores": list(found.scores),
            "reason": found.reason,
            "by": found.by,
            "at": rfc3339(found.at_ms),
        }
        return _answering(body)

    return await call.perform(prepare=decide)


@router.get("/operator/journal", **answers(JournalChecked, "not_found", "no_database", "maintenance"))
async def get_journal(
    call: MyCall,
    request: Request,
    continued: Annotated[bool, Query(description="Only what came after what was last found intact.")] = False,
) -> Response:
    """Recompute the journal of facts, and hold it and the auditor's log against each other."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    try:
        return rendered(await _own(request).check_journal(continued=continued))
    except Unavailable as error:
        raise Refused("maintenance", str(error)) from error


async def _changed(
    run_id: str, standing: Literal["applied", "undone"], changing: Awaitable[Sequence[EditPart]]
) -> Prepared:
    try:
        parts = await changing
    except Unavailable as error:
        raise Refused("maintenance", str(error)) from error
    body: RunChanged = {
        "run_id": run_id,
        "standing": standing,
        "replaced": [{"path": str(part.path), "count": len(part.steps)} for part in parts],
    }
    return _answering(body)


def _answering(body: Members) -> Prepared:
    return lambda _: body, ()
