"""Scores and contracts over HTTP: how agents stand, and what operators hold them to."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field, StringConstraints

from earnest.accountability.interval import INTERVAL_MAX_S, INTERVAL_MIN_S
from earnest.client.payloads import Page
from earnest.client.payloads_scores import Agreed, Agreement, History, Score, ScoreFact, TaskReset, Voted
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.identity.account import AccountKind
from earnest.identity.caller import Scope
from earnest.runtime.accountability import deciding
from earnest.surfaces.web.calls import MyCall
from earnest.surfaces.web.cursors import Cursor, Limit, after, page
from earnest.surfaces.web.heartbeats import Contract, TaskId
from earnest.surfaces.web.problems import problems
from earnest.surfaces.web.requests import Sha256, Strict
from earnest.views import score as views
from earnest.views.agents_public import find_agent

router = APIRouter(tags=["score"])
operator_router = APIRouter(tags=["operator"])
OfAgent = Annotated[str, Query(max_length=40, description="Whose, by handle: for the operator.")]
_OF_AGENT: dict[int | str, dict[str, Any]] = problems("not_found")
Clock = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$")]
HeartbeatId = Annotated[str, StringConstraints(pattern=r"^hbt_[0-9A-Z]{26}$")]


class Feedback(Strict):
    """A thumb for a message: the id of a heartbeat."""

    type: Literal["up", "down"]
    message_id: HeartbeatId


class SetAgreement(Strict):
    """What an agent is held to. `contract`: the text to accept, or `accept`: the digest of what the agent offers.

    What is left out stays. `interval_s` null: the ladder of tiers.
    """

    contract: Contract | None = None
    accept: Sha256 | None = None
    zone: Annotated[str, StringConstraints(max_length=100)] = ""
    interval_s: Annotated[int, Field(ge=INTERVAL_MIN_S, le=INTERVAL_MAX_S)] | None = None
    active_from: Clock = ""
    active_to: Clock = ""
    is_enabled: bool = True
    is_paused: bool = False

    def settings(self) -> dict[str, object]:
        """The members that were sent, but the contract."""
        return self.model_dump(exclude_unset=True, exclude={"contract", "accept"})


class ResetTask(Strict):
    """A task that is to begin anew."""

    task: TaskId


@router.get("/score", response_model=Score, responses=_OF_AGENT)
async def get_score(call: MyCall, agent: OfAgent = "") -> Response:
    """Score, target and tier of an agent: mine, or `agent`'s for its operator."""
    now_ms, terms = call.market.desk.now_ms(), call.market.terms
    return await call.read(lambda reader: views.show_score(reader, _whose(reader, call, agent), now_ms, terms))


@router.get("/score/history", response_model=History, responses=_OF_AGENT)
async def get_history(call: MyCall, agent: OfAgent = "") -> Response:
    """Today and the last 7 recorded days, each with its own target."""
    now_ms = call.market.desk.now_ms()
    return await call.read(lambda reader: views.show_history(reader, _whose(reader, call, agent), now_ms))


@router.get("/score/leaderboard", response_model=Page[History], responses=problems("bad_cursor"))
async def get_leaderboard(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The histories of all agents with a contract. A page is in order of today's share of the target."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    now_ms, last = call.market.desk.now_ms(), after(cursor)

    def shown(reader: BooksReader) -> Page[History]:
        found = page(views.list_histories(reader, now_ms, last, limit + 1), limit, "account_id")
        found["data"].sort(key=views.leading)
        return found

    return await call.read(shown)


@router.get("/score/events", response_model=Page[ScoreFact], responses=problems("bad_cursor", "not_found"))
async def get_events(call: MyCall, agent: OfAgent = "", cursor: Cursor = "", limit: Limit = 20) -> Response:
    """Where every number comes from: fact, rule and points, the newest first."""
    before = after(cursor)
    if before and not before.isdecimal():
        raise Refused("bad_cursor", "the cursor is not one that this list has given")
    return await call.read(
        lambda reader: page(views.list_events(reader, _whose(reader, call, agent), before, limit + 1), limit, "fact")
    )


@router.post("/score/feedback", response_model=Voted, responses=_OF_AGENT)
async def post_feedback(sent: Feedback, call: MyCall) -> Response:
    """A thumb up or down for a message, in the place of the one before."""
    return await call.perform(lambda entry: deciding.vote(entry, sent.type, sent.message_id), optional=True)


@operator_router.get("/operator/agents/{handle}/contract", response_model=Agreement, responses=_OF_AGENT)
async def get_agreement(handle: str, call: MyCall) -> Response:
    """What an agent is held to, and how its newest contract differs."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    return await call.read(lambda reader: views.show_agreement(reader, find_agent(reader, handle).id))


@operator_router.put(
    "/operator/agents/{handle}/contract", response_model=Agreed, responses=problems("not_found", "etag_mismatch")
)
async def put_agreement(handle: str, sent: SetAgreement, call: MyCall) -> Response:
    """Accept a contract, and say when and how often it holds."""
    call.me.need(Scope.OPERATOR)
    return await call.perform(
        lambda entry: deciding.agree(
            entry, find_agent(entry.transaction, handle).id, sent.contract, sent.accept, sent.settings()
        )
    )


@operator_router.post("/operator/agents/{handle}/contract/reset", response_model=TaskReset, responses=_OF_AGENT)
async def post_reset(handle: str, sent: ResetTask, call: MyCall) -> Response:
    """Give a task all its attempts back."""
    call.me.need(Scope.OPERATOR)
    return await call.perform(
        lambda entry: deciding.begin_anew(entry, find_agent(entry.transaction, handle).id, sent.task)
    )


def _whose(reader: BooksReader, call: MyCall, agent: str) -> str:
    """Oneself, unless an operator names an agent. Raises `Refused`: `not_found`, `scope_forbidden`."""
    if not agent:
        return call.me.id
    found = find_agent(reader, agent)
    if found.id != call.me.id:
        call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    if found.kind is not AccountKind.AGENT:
        raise Refused("not_found", f"no agent is called {agent!r}")
    return found.id
