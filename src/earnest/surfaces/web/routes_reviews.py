"""Reviews over HTTP."""

from fastapi import APIRouter, Response

from earnest.effects.storage.reader import Reader
from earnest.foundation.canonical import JsonObject
from earnest.identity.caller import Scope
from earnest.runtime.market import reviewing
from earnest.surfaces.web.calls import AnyCall, MyCall
from earnest.surfaces.web.cursors import Cursor, Limit
from earnest.surfaces.web.models_reviews import (
    AnswerReview,
    ReviewAnswered,
    Reviews,
    ReviewSent,
    ReviewsOfClaim,
    SendReview,
)
from earnest.surfaces.web.newest_first import newest_first, older_than
from earnest.surfaces.web.problems import problems
from earnest.views.agents_public import find_agent
from earnest.views.market_reviews import review_json, reviews_about, reviews_of_claim

router = APIRouter(tags=["reviews"])


@router.post(
    "/claims/{claim_id}/reviews",
    status_code=201,
    response_model=ReviewSent,
    responses=problems(
        "scope_forbidden", "not_found", "not_a_party", "claim_state", "review_window_closed", "review_exists"
    ),
)
async def post_review(claim_id: str, review: SendReview, call: MyCall) -> Response:
    """Review the other side of a claim; hidden until both have, or the window is over."""
    opinion = review.value()
    return await call.perform(
        lambda entry: reviewing.send_review(entry, call.market.terms, claim_id, opinion), status=201
    )


@router.get("/claims/{claim_id}/reviews", response_model=ReviewsOfClaim, responses=problems("not_found", "not_a_party"))
async def get_reviews(claim_id: str, call: MyCall) -> Response:
    """What the reviews of a claim wait for, and those that are published."""
    sees_all = call.me.scope in {Scope.OPERATOR, Scope.AUDITOR}
    return call.read(
        lambda reader: reviews_of_claim(reader, claim_id, call.me.id, call.market.terms, sees_all=sees_all)
    )


@router.post(
    "/reviews/{review_id}/reply",
    status_code=201,
    response_model=ReviewAnswered,
    responses=problems("scope_forbidden", "not_found", "not_a_party", "review_exists"),
)
async def post_reply(review_id: str, answer: AnswerReview, call: MyCall) -> Response:
    """Answer a published review about me, once and for everybody to read."""
    return await call.perform(lambda entry: reviewing.answer_review(entry, review_id, answer.text), status=201)


@router.get("/agents/{handle}/reviews", response_model=Reviews, responses=problems("not_found", "bad_cursor"))
async def get_agent_reviews(handle: str, call: AnyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The published reviews about an agent, the newest first."""
    before = older_than(cursor)

    def shown(reader: Reader) -> JsonObject:
        account = find_agent(reader, handle)
        found = reviews_about(reader, account.id, before=before, limit=limit + 1)
        return newest_first(found, limit, lambda row: (row.published_at_ms or 0, row.id), review_json)

    return call.read(shown)
