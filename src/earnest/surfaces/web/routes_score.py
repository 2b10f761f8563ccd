"""Heartbeats and scores over HTTP: what agents check in with, and what operators see and decide."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from earnest.effects.storage.reader import Reader
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.identity.account import Kind
from earnest.identity.caller import Scope
from earnest.runtime.accountability import deciding, pinning
from earnest.runtime.accountability.checking_in import due_now, prepare_check_in
from earnest.surfaces.web.calls import MyCall
from earnest.surfaces.web.cursors import Cursor, Limit, after, page
from earnest.surfaces.web.models_heartbeats import DueShown, Heartbeats, HeartbeatShown, HeartbeatTaken, SendHeartbeat
from earnest.surfaces.web.models_score import (
    Agreed,
    AgreementShown,
    DecideTask,
    Feedback,
    Histories,
    History,
    ResetTask,
    ScoreEvents,
    ScoreShown,
    SetAgreement,
    TaskDecided,
    TaskReset,
    Voted,
)
from earnest.surfaces.web.problems import problems
from earnest.views import score as views
from earnest.views.agents_public import find_agent

router = APIRouter(tags=["score"])
heartbeat_router = APIRouter(tags=["heartbeats"])
operator_router = APIRouter(tags=["operator"])
OfAgent = Annotated[str, Query(max_length=40, description="Whose, by handle: for the operator.")]
HeartbeatPath = Annotated[str, Path(pattern=r"^hbt_[0-9A-Z]{26}$", description="`hbt_` and a ULID.")]
_OF_AGENT: dict[int | str, dict[str, Any]] = problems("not_found", "scope_forbidden")


@router.get("/score", response_model=ScoreShown, responses=_OF_AGENT)
async def get_score(call: MyCall, agent: OfAgent = "") -> Response:
    """Score, target and tier of an agent: mine, or `agent`'s for its operator."""
    now_ms, terms = call.market.desk.now_ms(), call.market.terms
    return call.read(lambda reader: views.show_score(reader, _whose(reader, call, agent), now_ms, terms))


@router.get("/score/history", response_model=History, responses=_OF_AGENT)
async def get_history(call: MyCall, agent: OfAgent = "") -> Response:
    """Today and the last 7 recorded days, each with its own target."""
    now_ms = call.market.desk.now_ms()
    return call.read(lambda reader: views.show_history(reader, _whose(reader, call, agent), now_ms))


@router.get("/score/leaderboard", response_model=Histories, responses=problems("bad_cursor", "scope_forbidden"))
async def get_leaderboard(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The histories of all agents with a contract. A page is in order of today's share of the target."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    now_ms, last = call.market.desk.now_ms(), after(cursor)

    def shown(reader: Reader) -> JsonObject:
        found = page(views.list_histories(reader, now_ms, last, limit + 1), limit, "account_id")
        return {**found, "data": sorted(found["data"], key=views.leading)}  # type: ignore[arg-type]

    return call.read(shown)


@router.get(
    "/score/events", response_model=ScoreEvents, responses=problems("bad_cursor", "not_found", "scope_forbidden")
)
async def get_events(call: MyCall, agent: OfAgent = "", cursor: Cursor = "", limit: Limit = 20) -> Response:
    """Where every number comes from: fact, rule and points, the newest first."""
    before = after(cursor)
    if before and not before.isdecimal():
        raise Refused("bad_cursor", "the cursor is not one that this list has given")
    return call.read(
        lambda reader: page(views.list_events(reader, _whose(reader, call, agent), before, limit + 1), limit, "fact")
    )


@router.post("/score/feedback", response_model=Voted, responses=_OF_AGENT)
async def post_feedback(sent: Feedback, call: MyCall) -> Response:
    """A thumb up or down for a message, in the place of the one before."""
    return await call.perform(lambda entry: deciding.vote(entry, sent.type, sent.message_id), optional=True)


@heartbeat_router.post(
    "/agents/me/heartbeats",
    status_code=201,
    response_model=HeartbeatTaken,
    responses=problems("scope_forbidden", "heartbeat_scope_forbidden", "validation", "too_large"),
)
async def post_heartbeat(sent: SendHeartbeat, call: MyCall) -> Response:
    """Check in with what was done. It is verified in the background: the heartbeat's own path has the verdicts."""
    value, caller = sent.value(), call.me
    response = await call.perform(prepare=lambda: prepare_check_in(caller, value), status=201)
    call.market.checked_in.set()
    return response


@heartbeat_router.get("/agents/me/heartbeats/due", response_model=DueShown)
async def get_due(call: MyCall) -> Response:
    """What a check-in now would be asked for, by the accepted contract, and what the last one was told."""
    now_ms = call.market.desk.now_ms()
    return call.read(lambda reader: due_now(reader, call.me.id, now_ms))


@heartbeat_router.get("/agents/me/heartbeats", response_model=Heartbeats, responses=problems("bad_cursor"))
async def get_heartbeats(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """My heartbeats, the newest first."""
    last, me = after(cursor), call.me.id
    return call.read(lambda reader: page(views.list_heartbeats(reader, me, last, limit + 1), limit, "heartbeat_id"))


@heartbeat_router.get(
    "/agents/me/heartbeats/{heartbeat_id}", response_model=HeartbeatShown, responses=problems("not_found")
)
async def get_heartbeat(heartbeat_id: HeartbeatPath, call: MyCall) -> Response:
    """A heartbeat with its verdicts, points, tier and next interval, once it is judged."""
    sees_all = call.me.scope in {Scope.OPERATOR, Scope.AUDITOR}
    sees_measured = call.me.scope is Scope.OPERATOR
    return call.read(
        lambda reader: views.show_heartbeat(
            reader, heartbeat_id, call.me.id, sees_all=sees_all, sees_measured=sees_measured
        )
    )


@operator_router.get("/operator/agents/{handle}/contract", response_model=AgreementShown, responses=_OF_AGENT)
async def get_agreement(handle: str, call: MyCall) -> Response:
    """What an agent is held to, and how its newest contract differs."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    return call.read(lambda reader: views.show_agreement(reader, find_agent(reader, handle).id))


@operator_router.put(
    "/operator/agents/{handle}/contract",
    response_model=Agreed,
    responses=problems("not_found", "scope_forbidden", "etag_mismatch", "too_large", "validation"),
)
async def put_agreement(handle: str, sent: SetAgreement, call: MyCall) -> Response:
    """Accept a contract, and say when and how often it holds."""
    call.me.need(Scope.OPERATOR)
    return await call.perform(
        lambda entry: pinning.agree(
            entry, find_agent(entry.transaction, handle).id, sent.contract, sent.accept, sent.settings()
        )
    )


@operator_router.post("/operator/agents/{handle}/contract/reset", response_model=TaskReset, responses=_OF_AGENT)
async def post_reset(handle: str, sent: ResetTask, call: MyCall) -> Response:
    """Give a task all its attempts back."""
    call.me.need(Scope.OPERATOR)
    return await call.perform(
        lambda entry: pinning.begin_anew(entry, find_agent(entry.transaction, handle).id, sent.task)
    )


@operator_router.get(
    "/operator/agents/{handle}/heartbeats",
    response_model=Heartbeats,
    responses=problems("bad_cursor", "not_found", "scope_forbidden"),
)
async def get_waiting(handle: str, call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """An agent's heartbeats that wait for the operator's verdict, the oldest first, with what was handed in."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    last, sees_measured = after(cursor), call.me.scope is Scope.OPERATOR
    return call.read(
        lambda reader: page(
            views.waiting_heartbeats(
                reader, find_agent(reader, handle).id, last, limit + 1, sees_measured=sees_measured
            ),
            limit,
            "heartbeat_id",
        )
    )


@operator_router.post(
    "/operator/heartbeats/{heartbeat_id}/decide",
    response_model=TaskDecided,
    responses=problems("not_found", "scope_forbidden", "heartbeat_state"),
)
async def post_decision(heartbeat_id: HeartbeatPath, sent: DecideTask, call: MyCall) -> Response:
    """The operator's verdict on a task that waits for one; its points belong to the heartbeat's day."""
    verified = sent.verdict == "verified"
    return await call.perform(
        lambda entry: deciding.decide(entry, heartbeat_id, sent.task, verified=verified, reason=sent.reason)
    )


def _whose(reader: Reader, call: MyCall, agent: str) -> str:
    """Oneself, unless an operator names an agent. Raises `Refused`: `not_found`, `scope_forbidden`."""
    if not agent:
        return call.me.id
    found = find_agent(reader, agent)
    if found.id != call.me.id:
        call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    if found.kind is not Kind.AGENT:
        raise Refused("not_found", f"no agent is called {agent!r}")
    return found.id
