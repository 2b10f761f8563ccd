"""Payouts: asked for, approved, sent, and settled when the rail says so."""

from collections.abc import Callable, Mapping
from typing import Final

from earnest.client.payloads_money import Destination as DestinationShown
from earnest.client.payloads_money import PayoutMoved
from earnest.effects.outside.rails.api import Order, Rail, RailAnswer, RailState
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable
from earnest.identity.account import AccountStatus
from earnest.identity.key import Scope
from earnest.identity.service import ACCOUNTS
from earnest.ledger import service as ledger
from earnest.ledger.payout import (
    UNIT_MICRO,
    Destination,
    Payout,
    PayoutState,
    again,
    check_address,
    failed_chain,
    is_for_a_person,
    is_too_late_to_send,
    requested_chain,
    returned_chain,
    settled_chain,
    step,
)
from earnest.ledger.service import DESTINATIONS, PAYOUTS
from earnest.ledger.transfer import Chain
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk, StoryContext

ROUND_PAYOUTS_MAX: Final = 32
"""Of one look at what is due."""

_CHAINS: Final[Mapping[PayoutState, Callable[[Payout, int], Chain]]] = {
    PayoutState.SETTLED: settled_chain,
    PayoutState.FAILED: failed_chain,
    PayoutState.RETURNED: returned_chain,
}
"""What a state does to the books. The others move nothing: the amount stays reserved."""


def set_destination(entry: StoryContext, account_id: str, rail: str, address: str) -> DestinationShown:
    """The operator says where an account's money goes. Payouts under way keep what they had.

    Raises `Refused`: `scope_forbidden`, `not_found`, `validation`.
    """
    me = entry.me
    me.need(Scope.OPERATOR)
    account = ACCOUNTS.find(entry.transaction, account_id)
    check_address(rail, address)
    new = Destination(account_id=account.id, rail=rail, address=address, set_at_ms=entry.now_ms, set_by=me.id)
    before = DESTINATIONS.get(entry.transaction, account.id)
    if before is None:
        DESTINATIONS.open(entry.transaction, entry.now_ms, new, touching=(account.id,))
    else:
        DESTINATIONS.change(entry.transaction, entry.now_ms, before, new, touching=(account.id,))
    return {"account_id": account.id, "rail": rail}


def request_payout(entry: StoryContext, terms: Terms, currency: str, amount_micro: int) -> PayoutMoved:
    """Ask for money; it is laid aside at once.

    Raises `Refused`: `onboarding_required`, `validation` (currency, minimum, whole cents), `insufficient_funds`.
    """
    me = entry.me
    me.need(Scope.LIVE)
    destination = DESTINATIONS.get(entry.transaction, me.id)
    if me.account.status is not AccountStatus.PAYOUTS_ENABLED or destination is None:
        raise Refused("onboarding_required", "payouts need an account that is enabled for them, and a destination")
    of_currency = terms.currencies.get(currency)
    if of_currency is None or not of_currency.can_pay_out:
        raise Refused("validation", f"{currency[:3]} cannot be paid out")
    if amount_micro < of_currency.payout_min_micro or amount_micro % UNIT_MICRO:
        raise Refused("validation", f"at least {of_currency.payout_min_micro}, and whole cents ({UNIT_MICRO} micro)")
    payout = Payout(
        id=entry.new_id("pay"),
        account_id=me.id,
        currency=currency,
        amount_micro=amount_micro,
        state=PayoutState.REQUESTED,
        rail=destination.rail,
        destination=destination.address,
        requested_at_ms=entry.now_ms,
    )
    PAYOUTS.open(entry.transaction, entry.now_ms, payout, touching=(me.id,), by_key=me.key_id)
    ledger.post(entry.transaction, requested_chain(payout, entry.now_ms))
    return {"payout_id": payout.id, "state": payout.state.value}


def decide_payout(
    entry: StoryContext, payout_id: str, state: PayoutState, *, reference: str, reason: str
) -> PayoutMoved:
    """The operator approves or refuses; and where no rail can say it, what came of it, and what the bank calls it.

    Raises `Refused`: `scope_forbidden`, `not_found`, `payout_state`.
    """
    entry.me.need(Scope.OPERATOR)
    payout = PAYOUTS.find(entry.transaction, payout_id)
    if payout.state is not PayoutState.REQUESTED and not is_for_a_person(payout):
        raise Refused("payout_state", f"what comes of it is said by the rail {payout.rail}", state=payout.state.value)
    moved_on = _move(entry, payout, state, ref=reference, reason=reason)
    return {"payout_id": payout.id, "state": moved_on.state.value}


async def tend_payouts(desk: Desk, rails: Mapping[str, Rail]) -> int:
    """Ask the rails about every payout that is due; how many were. To be called again and again.

    Nothing is remembered between two calls: a payout whose answer was lost is asked about again.
    """
    now_ms = desk.now_ms()
    waiting, given = "wake_ms <= ? ORDER BY wake_ms LIMIT ?", (now_ms, ROUND_PAYOUTS_MAX)
    due = await desk.database.ask(lambda reader: list(PAYOUTS.where(reader, waiting, given)))
    for payout in due:
        await _tend(desk, rails.get(payout.rail), payout)
    return len(due)


async def _tend(desk: Desk, rail: Rail | None, payout: Payout) -> None:
    order = Order(
        id=payout.id,
        address=payout.destination,
        currency=payout.currency,
        amount_micro=payout.amount_micro,
        ref=payout.rail_ref,
    )
    answer: RailAnswer | None = None
    if rail is None:
        reason = "the rail is not set up"
    elif is_too_late_to_send(payout, desk.now_ms()):
        reason = "it may have been sent: look at the rail"
    else:
        try:
            answer = await (rail.send(order) if payout.state is PayoutState.APPROVED else rail.look(order))
            reason = ""
        except Unavailable as unavailable:
            reason = str(unavailable)
    await desk.tick(lambda entry: _answered(entry, payout, answer, reason))


def _answered(entry: StoryContext, asked: Payout, answer: RailAnswer | None, reason: str) -> JsonObject:
    """Record what the rail said, unless somebody has moved the payout since it was asked."""
    payout = PAYOUTS.find(entry.transaction, asked.id)
    if payout != asked:
        return {}
    state = _state_after(payout, answer)
    if state is None:
        later = again(payout, entry.now_ms, reason)
        PAYOUTS.change(entry.transaction, entry.now_ms, payout, later, touching=(payout.account_id,))
    elif answer is not None:
        _move(entry, payout, state, ref=answer.ref, reason=answer.reason)
    return {}


def _state_after(payout: Payout, answer: RailAnswer | None) -> PayoutState | None:
    """The state that an answer leads to; None where it is the same."""
    if answer is None:
        return None
    match answer.state:
        case RailState.FAILED:
            return PayoutState.RETURNED if payout.state is PayoutState.SETTLED else PayoutState.FAILED
        case RailState.SETTLED if payout.state is PayoutState.SENT:
            return PayoutState.SETTLED
        case _:
            return PayoutState.SENT if payout.state is PayoutState.APPROVED else None


def _move(entry: StoryContext, payout: Payout, state: PayoutState, *, ref: str, reason: str) -> Payout:
    """Save the next state, and what it does to the books."""
    moved_on = step(payout, state, entry.now_ms, rail_ref=ref, reason=reason)
    by = entry.caller.id if entry.caller else ""
    PAYOUTS.change(entry.transaction, entry.now_ms, payout, moved_on, touching=(payout.account_id,), by=by)
    if state in _CHAINS:
        ledger.post(entry.transaction, _CHAINS[state](payout, entry.now_ms))
    return moved_on
