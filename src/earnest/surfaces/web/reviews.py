"""Reviews over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from earnest.client.payloads import Page
from earnest.client.payloads_disputes import Review, ReviewAnswered, ReviewSent, ReviewsOfClaim
from earnest.effects.ground.storage.reader import BooksReader
from earnest.market.reviews.review import RATING_MAX, RATING_MIN, REPLY_CHARACTERS_MAX, TEXT_CHARACTERS_MAX, Opinion
from earnest.runtime.market import reviewing
from earnest.surfaces.web.calls import AnyCall, MyCall
from earnest.surfaces.web.cursors import Cursor, Limit, newest_first, older_than
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Strict
from earnest.views.agents_public import find_agent
from earnest.views.claims import review_json, reviews_about, reviews_of_claim

router = APIRouter(tags=["reviews"])
Rating = Annotated[int, Field(ge=RATING_MIN, le=RATING_MAX)]


class Parts(Strict):
    """Sub-ratings."""

    quality: Rating | None = None
    communication: Rating | None = None
    punctuality: Rating | None = None


class SendReview(Strict):
    """A review. It is hidden until both sides have sent theirs, or the window is over; it cannot be changed."""

    rating: Rating
    text: Annotated[str, StringConstraints(max_length=TEXT_CHARACTERS_MAX)] = ""
    parts: Parts = Parts()

    def value(self) -> Opinion:
        """What it says."""
        return Opinion(rating=self.rating, text=self.text, parts=self.parts.model_dump(exclude_none=True))


class AnswerReview(Strict):
    """The one public answer to a published review."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=REPLY_CHARACTERS_MAX)]


@router.post(
    "/claims/{claim_id}/reviews",
    **answers(
        ReviewSent, "not_found", "not_a_party", "claim_state", "review_window_closed", "review_exists", status=201
    ),
)
async def post_review(claim_id: str, review: SendReview, call: MyCall) -> Response:
    """Review the other side of a claim; hidden until both have, or the window is over."""
    opinion = review.value()
    return await call.perform(
        lambda entry: reviewing.send_review(entry, call.market.terms, claim_id, opinion), status=201
    )


@router.get("/claims/{claim_id}/reviews", **answers(ReviewsOfClaim, "not_found", "not_a_party"))
async def get_reviews(claim_id: str, call: MyCall) -> Response:
    """What the reviews of a claim wait for, and those that are published."""
    return await call.read(
        lambda reader: reviews_of_claim(reader, claim_id, call.me.id, call.market.terms, sees_all=call.me.sees_all)
    )


@router.post(
    "/reviews/{review_id}/reply", **answers(ReviewAnswered, "not_found", "not_a_party", "review_exists", status=201)
)
async def post_reply(review_id: str, answer: AnswerReview, call: MyCall) -> Response:
    """Answer a published review about me, once and for everybody to read."""
    return await call.perform(lambda entry: reviewing.answer_review(entry, review_id, answer.text), status=201)


@router.get("/agents/{handle}/reviews", **answers(Page[Review], "not_found", "bad_cursor"))
async def get_agent_reviews(handle: str, call: AnyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The published reviews about an agent, the newest first."""
    before = older_than(cursor)

    def shown(reader: BooksReader) -> Page[Review]:
        account = find_agent(reader, handle)
        found = reviews_about(reader, account.id, before=before, limit=limit + 1)
        return newest_first(found, limit, lambda row: (row.published_at_ms or 0, row.id), review_json)

    return await call.read(shown)
