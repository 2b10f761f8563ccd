"""Claims over HTTP: what their seller, their buyer and the operator may do."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from earnest.foundation.canonical import JsonObject
from earnest.identity.caller import Scope
from earnest.market.capabilities.trial import is_trial_id
from earnest.market.terms import Terms
from earnest.runtime.desk import Entry
from earnest.runtime.market import claiming, deciding
from earnest.runtime.market.artifacts import bringing
from earnest.runtime.market.submitting import prepare_submission
from earnest.runtime.market.trials import answer_trial
from earnest.surfaces.web.answers_jobs import ClaimMoved, Claims, ClaimShown, ExtensionAsked, Submitted
from earnest.surfaces.web.calls import MyCall
from earnest.surfaces.web.cursors import Cursor, Limit, after, page
from earnest.surfaces.web.models_jobs import AnswerExtension, Extend, Judge, SubmitEvidence
from earnest.surfaces.web.models_trials import TrialGraded
from earnest.surfaces.web.problems import problems
from earnest.views.claims import list_claims, show_claim, waiting_claims

router = APIRouter(tags=["claims"])
_MOVES: dict[str, Any] = {
    "response_model": ClaimMoved,
    "responses": problems("not_found", "not_a_party", "claim_state", "claim_expired"),
}
_JUDGES: dict[str, Any] = {
    "response_model": ClaimMoved,
    "responses": problems(
        "not_found", "not_a_party", "claim_state", "claim_expired", "criterion_required", "decline_quota"
    ),
}
_EVIDENCE_CODES = ("evidence_incomplete", "evidence_hash_mismatch", "too_large", "unsupported_media", "limit_reached")
_FETCH_CODES = ("url_refused", "address_refused", "page_refused", "maintenance")


@router.get("/claims", response_model=Claims, responses=problems("bad_cursor"))
async def get_claims(
    call: MyCall,
    role: Annotated[Literal["seller", "buyer"], Query()] = "seller",
    cursor: Cursor = "",
    limit: Limit = 20,
) -> Response:
    """My claims, the newest first."""
    last, me = after(cursor), call.me.id
    return call.read(
        lambda reader: page(list_claims(reader, me, role=role, after=last, limit=limit + 1), limit, "claim_id")
    )


@router.get(
    "/operator/claims",
    response_model=Claims,
    responses=problems("bad_cursor", "scope_forbidden", "heartbeat_scope_forbidden"),
)
async def get_waiting_claims(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """The operator's queue: work that waits for a person, the oldest first."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    last = after(cursor)
    return call.read(lambda reader: page(waiting_claims(reader, last, limit + 1), limit, "claim_id"))


@router.get("/claims/{claim_id}", response_model=ClaimShown, responses=problems("not_found", "not_a_party"))
async def get_claim(claim_id: str, call: MyCall) -> Response:
    """A claim with everything that was handed in, for its parties."""
    sees_all = call.me.scope in {Scope.OPERATOR, Scope.AUDITOR}
    sees_measured = call.me.scope is Scope.OPERATOR
    return call.read(
        lambda reader: show_claim(reader, claim_id, call.me.id, sees_all=sees_all, sees_measured=sees_measured)
    )


@router.post(
    "/claims/{claim_id}/evidence",
    response_model=Submitted | TrialGraded,
    responses=problems("not_found", "not_a_party", "claim_state", "claim_expired", *_EVIDENCE_CODES, *_FETCH_CODES),
)
async def post_evidence(claim_id: str, evidence: SubmitEvidence, call: MyCall) -> Response:
    """Hand in everything that the job asks for; a second time is a new revision. It is judged in the background.

    A test job takes one item, `inline`: the answer, which is graded at once.
    """
    if is_trial_id(claim_id):
        answer, terms = evidence.only_inline(), call.market.terms
        return await call.perform(lambda entry: answer_trial(entry, terms, claim_id, answer))
    items, caller = [item.value() for item in evidence.items], call.me
    with bringing(call.market, caller.id) as brought:
        response = await call.perform(prepare=lambda: prepare_submission(brought, caller, claim_id, items))
    call.market.handed_in.set()
    return response


@router.post("/claims/{claim_id}/start", **_MOVES)
async def post_start(claim_id: str, call: MyCall) -> Response:
    """Say that the work has begun: from now on the buyer cannot cancel alone."""
    return await _moved(call, claim_id, claiming.start)


@router.post(
    "/claims/{claim_id}/extend",
    response_model=ExtensionAsked,
    responses=problems("not_found", "not_a_party", "claim_state", "claim_expired", "limit_reached"),
)
async def post_extend(claim_id: str, wanted: Extend, call: MyCall) -> Response:
    """Ask for more time, before the deadline. Silence is no."""
    return await call.perform(lambda entry: claiming.extend(entry, call.market.terms, claim_id, wanted.extra_s))


@router.post("/claims/{claim_id}/extension", **_MOVES)
async def post_extension(claim_id: str, answer: AnswerExtension, call: MyCall) -> Response:
    """The buyer's answer to a seller who asked for more time."""
    return await call.perform(
        lambda entry: claiming.answer_extension(entry, call.market.terms, claim_id, granted=answer.granted)
    )


@router.post("/claims/{claim_id}/cancel", **_MOVES)
async def post_cancel(claim_id: str, call: MyCall) -> Response:
    """Give the job back (seller), take it back before it was begun (buyer), or agree to end it (both, later)."""
    return await _moved(call, claim_id, claiming.cancel)


@router.post("/claims/{claim_id}/refund", **_MOVES)
async def post_refund(claim_id: str, call: MyCall) -> Response:
    """The buyer ends a claim whose deadline has passed."""
    return await _moved(call, claim_id, claiming.refund)


@router.post("/claims/{claim_id}/concede", **_MOVES)
async def post_concede(claim_id: str, call: MyCall) -> Response:
    """The seller accepts that the work was declined."""
    return await _moved(call, claim_id, claiming.concede)


@router.post("/claims/{claim_id}/accept", **_MOVES)
async def post_accept(claim_id: str, call: MyCall) -> Response:
    """The buyer takes the work: it is paid."""
    return await _moved(call, claim_id, deciding.accept)


@router.post("/claims/{claim_id}/undecline", **_MOVES)
async def post_undecline(claim_id: str, call: MyCall) -> Response:
    """The buyer takes work that was declined after all."""
    return await _moved(call, claim_id, deciding.undecline)


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


async def _moved(call: MyCall, claim_id: str, story: Callable[[Entry, Terms, str], JsonObject]) -> Response:
    return await call.perform(lambda entry: story(entry, call.market.terms, claim_id))
