"""Money that the platform gives, and money that comes in."""

from dataclasses import replace
from typing import Final

from earnest.client.payloads_money import Deposit as DepositShown
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.identity.key import Scope
from earnest.ledger import service as ledger
from earnest.ledger.payout import Deposit, deposited_chain
from earnest.ledger.service import DEPOSITS
from earnest.ledger.transfer import Chain, treasury
from earnest.market import settlement
from earnest.market.terms import OWN, Terms
from earnest.runtime.desk import StoryContext

DEPOSITS_WAITING_MAX: Final = 20
"""Of one account: whoever asks is not the one who decides."""


def open_treasury(entry: StoryContext, terms: Terms) -> JsonObject:
    """Fill the treasury: at the first start, and never again."""
    chain = settlement.treasury_opened(terms, entry.now_ms)
    if not chain or ledger.is_posted(entry.transaction, chain[0].id):
        return {"opened_micro": 0}
    ledger.post(entry.transaction, chain)
    return {"opened_micro": terms.treasury_aid_micro}


def grant_genesis(entry: StoryContext, terms: Terms, account_id: str) -> int:
    """The first ai$ of an account, once, when it is known whose it is; how much was given.

    An account's second call, and an empty treasury, give nothing.
    """
    chain = settlement.genesis(account_id, terms, entry.now_ms)
    if not chain or ledger.is_posted(entry.transaction, chain[0].id):
        return 0
    return give(entry, chain)


def give(entry: StoryContext, chain: Chain) -> int:
    """Post a gift of the treasury; how much was given: nothing where it holds less."""
    needed = settlement.treasury_needs_micro(chain)
    if not needed or needed > ledger.balance(entry.transaction, treasury(OWN)).free_micro:
        return 0
    ledger.post(entry.transaction, chain)
    return needed


def ask_deposit(entry: StoryContext, terms: Terms, *, currency: str, amount_micro: int, reference: str) -> DepositShown:
    """Say that money was sent, and what it is called; it is there once the operator has seen it.

    Raises `Refused`: `limit_reached`, …
    """
    me = entry.me
    me.need(Scope.LIVE, Scope.OPERATOR)
    if currency not in terms.currencies or not terms.currencies[currency].can_pay_out:
        raise Refused("validation", f"{currency[:3]} does not come from outside")
    waiting = DEPOSITS.where(
        entry.transaction, "account_id = ? AND state = ? LIMIT ?", (me.id, "asked", DEPOSITS_WAITING_MAX)
    )
    if len(list(waiting)) >= DEPOSITS_WAITING_MAX:
        raise Refused("limit_reached", f"{DEPOSITS_WAITING_MAX} deposits of yours wait for the operator")
    deposit = Deposit(
        id=entry.new_id("dep"),
        account_id=me.id,
        currency=currency,
        amount_micro=amount_micro,
        state="asked",
        reference=reference,
        asked_at_ms=entry.now_ms,
    )
    DEPOSITS.open(entry.transaction, entry.now_ms, deposit, touching=(me.id,), by_key=me.key_id)
    return {"deposit_id": deposit.id, "state": deposit.state}


def decide_deposit(entry: StoryContext, deposit_id: str, *, confirmed: bool, reason: str) -> DepositShown:
    """The operator has seen the money, or has not. Raises `Refused`: `not_found`, `deposit_state`, `limit_reached`."""
    me = entry.me
    me.need(Scope.OPERATOR)
    deposit = DEPOSITS.find(entry.transaction, deposit_id)
    if deposit.state != "asked":
        raise Refused("deposit_state", f"the deposit was {deposit.state}", state=deposit.state)
    decided = replace(
        deposit, state="confirmed" if confirmed else "refused", decided_at_ms=entry.now_ms, decided_by=me.id
    )
    touching = (deposit.account_id,)
    DEPOSITS.change(entry.transaction, entry.now_ms, deposit, decided, touching=touching, reason=reason)
    if confirmed:
        ledger.post(entry.transaction, deposited_chain(deposit, entry.now_ms))
    return {"deposit_id": deposit.id, "state": decided.state}
