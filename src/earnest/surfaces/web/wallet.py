"""Money over HTTP: wallet, deposits, payouts, fees, and whether the books cover it all."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StringConstraints

from earnest.client import payloads_money as shown
from earnest.client.payloads import Page
from earnest.effects.ground.storage.reader import BooksReader
from earnest.identity.key import Scope
from earnest.ledger.payout import PayoutState
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.runtime.market.money import ask_deposit, decide_deposit
from earnest.runtime.market.payouts import decide_payout, request_payout, set_destination
from earnest.surfaces.web.calls import AnyCall, MyCall, rendered
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Limit, Strict, after, cursor_of
from earnest.views.wallet import fees, list_entries, show_payout, show_queue, show_wallet, solvency

router = APIRouter(tags=["wallet"])

SOLVENCY_KEPT_MS: Final = 60_000
"""A new answer looks at every account, beside the event loop: anybody may ask, but not for every second."""
Amount = Annotated[int, Field(ge=1, le=AMOUNT_MICRO_MAX)]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Line = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class AskDeposit(Strict):
    """Money that was sent to the platform; `reference` is what its operator will find it by."""

    currency: Currency
    amount_micro: Amount
    reference: Annotated[Line, StringConstraints(min_length=1)]


class DecideDeposit(Strict):
    """What the operator has seen."""

    confirmed: bool
    reason: Line = ""


class AskPayout(Strict):
    """How much is to leave. Where it goes is set by the owner."""

    currency: Currency
    amount_micro: Amount


class DecidePayout(Strict):
    """`approved` or `failed` at first; later, where no rail can say it, what came of it."""

    state: Annotated[PayoutState, Field(strict=False)]
    reference: Line = ""
    reason: Line = ""


class SetDestination(Strict):
    """Where an account's money goes: for `manual` a line that the operator understands, for `stripe` `acct_…`."""

    rail: Literal["manual", "stripe"]
    address: Annotated[Line, StringConstraints(min_length=1)]


@router.get("/wallet", **answers(shown.Wallet))
async def get_wallet(call: MyCall) -> Response:
    """My money, by currency, and the payouts under way."""
    return await call.read(lambda reader: show_wallet(reader, call.me.id, call.market.terms))


@router.get("/wallet/entries", **answers(Page[shown.Entry], "bad_cursor"))
async def get_entries(
    call: MyCall,
    currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$", description="Only this one.")] = None,
    cursor: Cursor = "",
    limit: Limit = 20,
) -> Response:
    """Every transfer that touched my money, the newest first."""
    currencies = tuple(call.market.terms.currencies) if currency is None else (currency,)
    last = after(cursor)

    def entries(reader: BooksReader) -> Page[shown.Entry]:
        found, following = list_entries(reader, call.me.id, currencies, last, limit)
        return {"data": found, "next_cursor": cursor_of(following) if following else None}

    return await call.read(entries)


@router.post("/deposits", **answers(shown.Deposit, "limit_reached", status=201))
async def post_deposit(deposit: AskDeposit, call: MyCall) -> Response:
    """Say that money was sent. It is there once the operator has seen it."""
    asked = deposit.model_dump()
    return await call.perform(lambda entry: ask_deposit(entry, call.market.terms, **asked), status=201)


@router.post("/payouts", **answers(shown.PayoutMoved, "onboarding_required", "insufficient_funds", status=201))
async def post_payout(payout: AskPayout, call: MyCall) -> Response:
    """Ask for money to leave: laid aside at once, settled when the rail says so."""
    return await call.perform(
        lambda entry: request_payout(entry, call.market.terms, payout.currency, payout.amount_micro), status=201
    )


@router.get("/payouts/{payout_id}", **answers(shown.Payout, "not_found"))
async def get_payout(payout_id: str, call: MyCall) -> Response:
    """One of my payouts; any, for the operator."""
    viewer = None if call.me.scope is Scope.OPERATOR else call.me.id
    return await call.read(lambda reader: show_payout(reader, payout_id, viewer))


@router.get("/operator/money", **answers(shown.MoneyQueue))
async def get_queue(call: MyCall) -> Response:
    """What waits for the operator: deposits to confirm, payouts to approve, to pay, to look into."""
    call.me.need(Scope.OPERATOR)
    return await call.read(show_queue)


@router.post(
    "/operator/deposits/{deposit_id}/decision", **answers(shown.Deposit, "not_found", "deposit_state", "limit_reached")
)
async def post_deposit_decision(deposit_id: str, decision: DecideDeposit, call: MyCall) -> Response:
    """Confirm that the money of a deposit is there, or refuse it."""
    return await call.perform(
        lambda entry: decide_deposit(entry, deposit_id, confirmed=decision.confirmed, reason=decision.reason)
    )


@router.post("/operator/payouts/{payout_id}/decision", **answers(shown.PayoutMoved, "not_found", "payout_state"))
async def post_payout_decision(payout_id: str, decision: DecidePayout, call: MyCall) -> Response:
    """Approve or refuse a payout; and where no rail can say it, what came of it."""
    return await call.perform(lambda entry: decide_payout(entry, payout_id, **decision.model_dump()))


@router.post("/operator/accounts/{account_id}/destination", **answers(shown.Destination, "not_found"))
async def post_destination(account_id: str, destination: SetDestination, call: MyCall) -> Response:
    """Say where the money of an account goes."""
    return await call.perform(lambda entry: set_destination(entry, account_id, destination.rail, destination.address))


@router.get("/meta/fees", **answers(shown.Fees))
async def get_fees(call: AnyCall) -> Response:
    """What is charged and held back, by currency."""
    return rendered(fees(call.market.terms))


@router.get("/meta/solvency", **answers(shown.Solvency))
async def get_solvency(request: Request, call: AnyCall) -> Response:
    """Do the books cover what users have?"""
    now_ms = call.market.desk.now_ms()
    kept: tuple[int, shown.Solvency] | None = getattr(request.app.state, "solvency", None)
    if kept is None or not 0 <= now_ms - kept[0] < SOLVENCY_KEPT_MS:
        kept = now_ms, await call.market.desk.database.read(lambda reader: solvency(reader, now_ms))
        request.app.state.solvency = kept
    return rendered(kept[1])
