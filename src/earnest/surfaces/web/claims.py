"""Claims and their reviews over HTTP: what a claim's seller, its buyer and the operator may do."""

import json
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field, StringConstraints

from earnest.client.payloads import Claim, ClaimMoved, ClaimSummary, ExtensionAsked, Page, Submitted, TrialGraded
from earnest.client.payloads_disputes import Review, ReviewAnswered, ReviewSent, ReviewsOfClaim
from earnest.client.payloads_platform import Replay
from earnest.contracts.criterion import CRITERIA_MAX
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.identity.key import Scope
from earnest.market.capabilities.trial import TRIAL_IDS
from earnest.market.jobs.offer import REQUIREMENTS_MAX
from earnest.market.reviews.review import (
    RATING_MAX,
    RATING_MIN,
    REPLY_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Opinion,
)
from earnest.market.terms import DAY_S, REVISIONS_MAX, Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market import claiming, deciding, reviewing
from earnest.runtime.market.artifacts import bringing
from earnest.runtime.market.replaying import replay
from earnest.runtime.market.submitting import Item, prepare_submission
from earnest.runtime.market.trials import answer_trial
from earnest.surfaces.web.calls import AnyCall, MyCall, rendered
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Id, Instant, Limit, Reason, Sha256, Strict, listed, listed_by_time
from earnest.verification.strict_json import NotStrictJson, check_depth
from earnest.views.agents_public import find_agent
from earnest.views.claims import list_claims, review_json, reviews_about, reviews_of_claim, show_claim, waiting_claims

router = APIRouter(tags=["claims"])
review_router = APIRouter(tags=["reviews"])
Rating = Annotated[int, Field(ge=RATING_MIN, le=RATING_MAX)]
STATE_CODES = ("not_found", "not_a_party", "claim_state", "claim_expired")
_MOVES = answers(ClaimMoved, *STATE_CODES)
DECISION_CODES = (*STATE_CODES, "criterion_required", "decline_quota")
_JUDGES = answers(ClaimMoved, *DECISION_CODES)
_EVIDENCE_CODES = ("evidence_incomplete", "evidence_hash_mismatch", "limit_reached")
_FETCH_CODES = ("url_refused", "address_refused", "page_refused")
INLINE_BYTES_MAX = 100 * 1024
INLINE_DEPTH_MAX = 8


class EvidenceItem(Strict):
    """One thing that is handed in: by `sha256` (an artifact of yours), `inline`, or a `storage_url` fetched once."""

    requirement_id: Id
    kind: str
    media_type: Annotated[str, StringConstraints(pattern=r"^[\w.+-]{1,64}/[\w.+-]{1,64}$")] = "application/octet-stream"
    sha256: Sha256 | None = None
    inline: Any = None
    storage_url: Annotated[str, StringConstraints(max_length=2_048)] = ""
    produced_at: Instant | None = None
    note: Annotated[str, StringConstraints(max_length=1_000)] = ""

    def value(self) -> Item:
        """The item. Raises `Refused`: `validation`, `too_large`."""
        given = (self.inline is not None) + bool(self.storage_url)
        if given > 1 or (given == 0 and self.sha256 is None):
            raise Refused("validation", f"{self.requirement_id}: give sha256, inline or storage_url")
        return Item(
            **self.model_dump(exclude={"sha256", "inline", "produced_at"}),
            sha256=self.sha256 or "",
            inline=_inline(self.inline) if self.inline is not None else None,
            produced_at=self.produced_at or "",
        )


class SubmitEvidence(Strict):
    """All that is handed in for one revision."""

    items: Annotated[list[EvidenceItem], Field(min_length=1, max_length=REQUIREMENTS_MAX)]

    def only_inline(self) -> Any:
        """What the one item holds. Raises `Refused("validation")` for more, and for none."""
        if len(self.items) != 1 or self.items[0].inline is None:
            raise Refused("validation", "a test job is answered by one item, inline")
        return self.items[0].inline


class Extend(Strict):
    """How much longer, from the deadline on."""

    extra_s: Annotated[int, Field(ge=1, le=90 * DAY_S)]


class AnswerExtension(Strict):
    """The buyer's answer."""

    granted: bool


class AskReplay(Strict):
    """By default the newest revision that has a verdict."""

    revision: Annotated[int | None, Field(ge=1, le=REVISIONS_MAX + 1)] = None


_NEWEST: Final = AskReplay()


class Judge(Strict):
    """Why, and which criteria are meant."""

    reason: Reason
    criteria: Annotated[list[Id], Field(min_length=1, max_length=CRITERIA_MAX)]


@router.get("/claims", **answers(Page[ClaimSummary], "bad_cursor"))
async def get_claims(
    call: MyCall,
    role: Annotated[Literal["seller", "buyer"], Query()] = "seller",
    cursor: Cursor = "",
    limit: Limit = 20,
) -> Response:
    """My claims, the newest first."""
    me = call.me.id
    return await listed(
        call, cursor, limit, "claim_id", lambda reader, last, most: list_claims(reader, me, last, most, role=role)
    )


@router.get("/operator/claims", **answers(Page[ClaimSummary], "bad_cursor"))
async def get_waiting_claims(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The operator's queue: work that waits for a person, the oldest first."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    return await listed(call, cursor, limit, "claim_id", waiting_claims)


@router.get("/claims/{claim_id}", **answers(Claim, "not_found", "not_a_party"))
async def get_claim(claim_id: str, call: MyCall) -> Response:
    """A claim with everything that was handed in, for its parties."""
    sees_measured = call.me.scope is Scope.OPERATOR
    return await call.read(
        lambda reader: show_claim(reader, claim_id, call.me.id, sees_all=call.me.sees_all, sees_measured=sees_measured)
    )


@router.post(
    "/claims/{claim_id}/replay",
    **answers(Replay, "not_found", "not_a_party", "not_judged", "evidence_gone", "verifier_unavailable"),
)
async def post_replay(claim_id: str, call: MyCall, sent: AskReplay = _NEWEST) -> Response:
    """Judge again what was handed in, and compare it with the verdict that stands. Nothing is recorded."""
    call.me.need(*Scope)
    return rendered(await replay(call.market, call.me, claim_id, sent.revision))


@router.post(
    "/claims/{claim_id}/evidence", **answers(Submitted | TrialGraded, *STATE_CODES, *_EVIDENCE_CODES, *_FETCH_CODES)
)
async def post_evidence(claim_id: str, evidence: SubmitEvidence, call: MyCall) -> Response:
    """Hand in everything that the job asks for; a second time is a new revision. It is judged in the background.

    A test job takes one item, `inline`: the answer, which is graded at once.
    """
    if claim_id.startswith(TRIAL_IDS):
        answer, terms = evidence.only_inline(), call.market.terms
        return await call.perform(lambda entry: answer_trial(entry, terms, claim_id, answer))
    items, caller = [item.value() for item in evidence.items], call.me
    async with bringing(call.market, caller.id) as brought:
        return await call.perform(prepare=lambda: prepare_submission(brought, caller, claim_id, items))


def _move(word: str, story: Callable[[StoryContext, Terms, str], ClaimMoved], told: str) -> None:
    """A step of a claim that needs nothing but its name: `POST /claims/{claim_id}/<word>`."""

    async def moved(claim_id: str, call: MyCall) -> Response:
        return await call.perform(lambda entry: story(entry, call.market.terms, claim_id))

    moved.__doc__ = told
    router.post(f"/claims/{{claim_id}}/{word}", name=f"post_{word}", **_MOVES)(moved)


_move("start", claiming.start, "Say that the work has begun: from now on the buyer cannot cancel alone.")


@router.post("/claims/{claim_id}/extend", **answers(ExtensionAsked, *STATE_CODES, "limit_reached"))
async def post_extend(claim_id: str, wanted: Extend, call: MyCall) -> Response:
    """Ask for more time, before the deadline. Silence is no."""
    return await call.perform(lambda entry: claiming.extend(entry, call.market.terms, claim_id, wanted.extra_s))


@router.post("/claims/{claim_id}/extension", **_MOVES)
async def post_extension(claim_id: str, answer: AnswerExtension, call: MyCall) -> Response:
    """The buyer's answer to a seller who asked for more time."""
    return await call.perform(
        lambda entry: claiming.answer_extension(entry, call.market.terms, claim_id, granted=answer.granted)
    )


_move(
    "cancel",
    claiming.cancel,
    "Give the job back (seller), take it back before it was begun (buyer), or agree to end it (both, later).",
)
_move("refund", claiming.refund, "The buyer ends a claim whose deadline has passed.")
_move("concede", claiming.concede, "The seller accepts that the work was declined.")
_move("accept", deciding.accept, "The buyer takes the work: it is paid.")
_move("undecline", deciding.undecline, "The buyer takes work that was declined after all.")


@router.post("/claims/{claim_id}/request-changes", **_JUDGES)
async def post_request_changes(claim_id: str, said: Judge, call: MyCall) -> Response:
    """The buyer asks for a revision, and cites what is not met."""
    return await call.perform(
        lambda entry: deciding.request_changes(entry, call.market.terms, claim_id, said.reason, tuple(said.criteria))
    )


@router.post("/claims/{claim_id}/decline", **_JUDGES)
async def post_decline(claim_id: str, said: Judge, call: MyCall) -> Response:
    """The buyer declines, and cites what is not met. Work that a machine has verified is never declined."""
    return await call.perform(
        lambda entry: deciding.decline(entry, call.market.terms, claim_id, said.reason, tuple(said.criteria))
    )


def _inline(value: Any) -> bytes:
    """Text as it is, anything else as JSON."""
    try:
        check_depth(value, INLINE_DEPTH_MAX)
    except NotStrictJson as error:
        raise Refused("validation", f"inline: {error}") from None
    data = value.encode() if isinstance(value, str) else json.dumps(value, ensure_ascii=False).encode()
    if len(data) > INLINE_BYTES_MAX:
        raise Refused("too_large", f"inline evidence has at most {INLINE_BYTES_MAX} bytes; upload an artifact instead")
    return data


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


class AnswerReview(Strict):
    """The one public answer to a published review."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=REPLY_CHARACTERS_MAX)]


@review_router.post(
    "/claims/{claim_id}/reviews",
    **answers(
        ReviewSent, "not_found", "not_a_party", "claim_state", "review_window_closed", "review_exists", status=201
    ),
)
async def post_review(claim_id: str, review: SendReview, call: MyCall) -> Response:
    """Review the other side of a claim; hidden until both have, or the window is over."""
    opinion = Opinion(rating=review.rating, text=review.text, parts=review.parts.model_dump(exclude_none=True))
    return await call.perform(
        lambda entry: reviewing.send_review(entry, call.market.terms, claim_id, opinion), status=201
    )


@review_router.get("/claims/{claim_id}/reviews", **answers(ReviewsOfClaim, "not_found", "not_a_party"))
async def get_reviews(claim_id: str, call: MyCall) -> Response:
    """What the reviews of a claim wait for, and those that are published."""
    return await call.read(
        lambda reader: reviews_of_claim(reader, claim_id, call.me.id, call.market.terms, sees_all=call.me.sees_all)
    )


@review_router.post(
    "/reviews/{review_id}/reply", **answers(ReviewAnswered, "not_found", "not_a_party", "review_exists", status=201)
)
async def post_reply(review_id: str, answer: AnswerReview, call: MyCall) -> Response:
    """Answer a published review about me, once and for everybody to read."""
    return await call.perform(lambda entry: reviewing.answer_review(entry, review_id, answer.text), status=201)


@review_router.get("/agents/{handle}/reviews", **answers(Page[Review], "not_found", "bad_cursor"))
async def get_agent_reviews(handle: str, call: AnyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The published reviews about an agent, the newest first."""

    def find(reader: BooksReader, before: tuple[int, str] | None, most: int) -> list[tuple[int, str, Review]]:
        found = reviews_about(reader, find_agent(reader, handle).id, before=before, limit=most)
        return [(row.published_at_ms or 0, row.id, review_json(row)) for row in found]

    return await listed_by_time(call, cursor, limit, find)
