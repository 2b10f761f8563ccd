"""Disputes over HTTP: what their two sides and the arbiters may do."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field, StringConstraints

from earnest.client.payloads import Page
from earnest.client.payloads_disputes import Dispute, DisputeMoved, DisputeSaid, DisputeSummary
from earnest.contracts.criterion import CRITERIA_MAX
from earnest.effects.ground.storage.reader import BooksReader
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.disputes.dispute import EVIDENCE_MAX, STATEMENT_CHARACTERS_MAX
from earnest.market.disputes.ruling import REASON_CHARACTERS_MAX, For, Vote
from earnest.runtime.market import disputing
from earnest.runtime.market.disputing import Plea
from earnest.surfaces.web.calls import MyCall
from earnest.surfaces.web.claims import STATE_CODES
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Id, Limit, Sha256, Strict, listed
from earnest.views.disputes import list_disputes, show_dispute, unread_by

router = APIRouter(tags=["disputes"])
_RAISING_CODES = ("below_dispute_floor", "dispute_exists", "criterion_required", "stake_mismatch")
_moved = partial(answers, DisputeMoved, "not_found", "dispute_state")
_SAYS = answers(DisputeSaid, "not_found", "dispute_state", "limit_reached", "evidence_incomplete", status=201)
Amount = Annotated[int, Field(ge=0, le=AMOUNT_MICRO_MAX)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=STATEMENT_CHARACTERS_MAX)]


class RaiseDispute(Strict):
    """What is wrong, and about which criteria. `stake_micro`: what you expect to lay down; it is computed here."""

    reason: Text
    criteria: list[Id] = Field(default_factory=list, max_length=CRITERIA_MAX)
    stake_micro: Amount | None = None


class Say(Strict):
    """A statement. `evidence`: digests of artifacts of yours, or of what was handed in for the claim."""

    text: Text
    evidence: list[Sha256] = Field(default_factory=list, max_length=EVIDENCE_MAX)


class CastVote(Strict):
    """A ruling. A split names both amounts, which add up to what is held; otherwise they go without saying."""

    in_favour: Annotated[For, Field(strict=False, alias="for")]
    seller_micro: Amount | None = None
    buyer_micro: Amount | None = None
    criteria: Annotated[list[Id], Field(max_length=CRITERIA_MAX)]
    reason: Annotated[str, StringConstraints(min_length=1, max_length=REASON_CHARACTERS_MAX)]


@router.post("/claims/{claim_id}/disputes", **answers(DisputeMoved, *STATE_CODES, *_RAISING_CODES, status=201))
async def post_dispute(claim_id: str, plea: RaiseDispute, call: MyCall) -> Response:
    """Dispute a claim. The stake is taken at once; without the money the case waits 30 minutes for it."""
    value = Plea(reason=plea.reason, criteria=tuple(plea.criteria), stake_micro=plea.stake_micro)
    return await call.perform(
        lambda entry: disputing.raise_dispute(entry, call.market.terms, claim_id, value), status=201
    )


@router.get("/disputes", **answers(Page[DisputeSummary], "bad_cursor"))
async def get_disputes(
    call: MyCall,
    waiting: Annotated[bool, Query(description="Only those that an arbiter is to rule.")] = False,
    cursor: Cursor = "",
    limit: Limit = 20,
) -> Response:
    """My disputes, or for the operator all, the newest first."""

    def find(reader: BooksReader, last: str, most: int) -> list[DisputeSummary]:
        return list_disputes(reader, call.me.id, last, most, sees_all=call.me.sees_all, waiting=waiting)

    return await listed(call, cursor, limit, "dispute_id", find)


@router.get("/disputes/{dispute_id}", **answers(Dispute, "not_found"))
async def get_dispute(dispute_id: str, call: MyCall) -> Response:
    """A case with all that was said. Whoever is a side of it has read it now."""
    me = call.me.id
    database = call.market.desk.database
    if call.method == "GET" and await database.ask(lambda reader: unread_by(reader, dispute_id, me)) > 0:
        await call.market.desk.perform(call.me, lambda entry: disputing.mark_read(entry, dispute_id))
    return await call.read(lambda reader: show_dispute(reader, dispute_id, me, sees_all=call.me.sees_all))


@router.post("/disputes/{dispute_id}/statements", **_SAYS)
async def post_statement(dispute_id: str, said: Say, call: MyCall) -> Response:
    """Say something in a case: three times at most."""
    return await call.perform(lambda entry: disputing.speak(entry, dispute_id, said.text, said.evidence), status=201)


@router.post("/disputes/{dispute_id}/respond", **_SAYS)
async def post_respond(dispute_id: str, said: Say, call: MyCall) -> Response:
    """The same as a statement, by the name that `home` gives it."""
    return await post_statement(dispute_id, said, call)


@router.post("/disputes/{dispute_id}/withdraw", **_moved("not_a_party"))
async def post_withdraw(dispute_id: str, call: MyCall) -> Response:
    """Take my case back before it is deliberated; the stake returns."""
    return await call.perform(lambda entry: disputing.withdraw_dispute(entry, call.market.terms, dispute_id))


@router.post("/disputes/{dispute_id}/votes", **_moved("related_party", "criterion_required"))
async def post_vote(dispute_id: str, vote: CastVote, call: MyCall) -> Response:
    """The operator's ruling."""
    value = Vote(**vote.model_dump(exclude={"criteria"}), criteria=tuple(vote.criteria))
    return await call.perform(lambda entry: disputing.rule(entry, call.market.terms, dispute_id, value))


@router.post("/disputes/{dispute_id}/appeal", **_moved("not_a_party", "insufficient_funds"))
async def post_appeal(dispute_id: str, call: MyCall) -> Response:
    """Ask for a second ruling, once, within the time for it, with twice the stake."""
    return await call.perform(lambda entry: disputing.appeal(entry, dispute_id))
