"""Wallets, payouts, fees, and whether the books cover what users have."""

from typing import Final

from earnest.client import payloads_money as shown
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.ledger.accounts import available, clearing
from earnest.ledger.payout import Deposit, Payout
from earnest.ledger.rows import DEPOSITS, LEDGER_ACCOUNTS, PAYOUTS
from earnest.ledger.rules import account_named
from earnest.ledger.transfer import LedgerAccount
from earnest.market.homes.given import CurrencyPurse
from earnest.market.terms import CurrencyTerms, Terms

HELD: Final = (
    "SELECT coalesce(sum(amount_micro), 0) FROM jobs WHERE creator = ? AND state IN ('open', 'taken') AND currency = ?"
)
_SOLVENCY: Final = """
SELECT currency, sum(credits_posted - debits_posted),
  sum(CASE WHEN id >= 'act_' AND id < 'act`' THEN credits_posted - debits_posted ELSE 0 END),
  sum(CASE WHEN id = 'platform:external:' || currency THEN debits_posted - credits_posted ELSE 0 END)
FROM ledger_accounts GROUP BY currency ORDER BY currency
"""


def purse(reader: BooksReader, account_id: str, currency: str) -> CurrencyPurse:
    """The sums of an account. `held_micro` is what its open jobs have in escrow."""
    spendable = _sums(reader, available(account_id, currency))
    ((held_micro,),) = reader.execute(HELD, (account_id, currency)).fetchall()
    return CurrencyPurse(
        currency=currency,
        available_micro=spendable.balance_micro,
        reserved_micro=spendable.debits_pending,
        clearing_micro=_sums(reader, clearing(account_id, currency)).balance_micro,
        held_micro=held_micro,
    )


def list_accounts(reader: BooksReader, after: str, limit: int) -> list[LedgerAccount]:
    """All accounts of the ledger, by name."""
    return list(LEDGER_ACCOUNTS.where(reader, "id > ? ORDER BY id LIMIT ?", (after, limit)))


def show_wallet(reader: BooksReader, account_id: str, terms: Terms) -> shown.Wallet:
    """`balances`, one a currency, and the payouts under way."""
    under_way = PAYOUTS.where(
        reader,
        "account_id = ? AND state IN ('requested', 'approved', 'sent') ORDER BY requested_at_ms DESC LIMIT 20",
        (account_id,),
    )
    return {
        "account_id": account_id,
        "balances": [_purse_json(purse(reader, account_id, currency)) for currency in terms.currencies],
        "payouts_under_way": [payout_json(payout) for payout in under_way],
    }


def show_payout(reader: BooksReader, payout_id: str, account_id: str | None) -> shown.Payout:
    """A payout, to its owner; to the operator where `account_id` is None. Raises `Refused("not_found")`."""
    payout = PAYOUTS.get(reader, payout_id)
    if payout is None or account_id not in {None, payout.account_id}:
        raise Refused("not_found", f"there is no payout {payout_id[:80]!r}, or you may not know of it")
    return payout_json(payout)


def payout_json(payout: Payout) -> shown.Payout:
    """What its owner sees."""
    return {
        "payout_id": payout.id,
        "state": payout.state.value,
        "currency": payout.currency,
        "amount_micro": payout.amount_micro,
        "rail": payout.rail,
        "reason": payout.reason,
        "requested_at": rfc3339_s(payout.requested_at_ms),
        "changed_at": rfc3339_s(payout.changed_at_ms),
    }


def show_queue(reader: BooksReader, limit: int = 100) -> shown.MoneyQueue:
    """What waits for the operator, the oldest first: deposits to confirm, payouts to approve, pay or look into."""
    deposits = DEPOSITS.where(reader, "state = 'asked' ORDER BY asked_at_ms LIMIT ?", (limit,))
    payouts = PAYOUTS.where(
        reader,
        "state IN ('requested', 'approved', 'sent') AND (state = 'requested' OR wake_ms IS NULL)"
        " ORDER BY requested_at_ms LIMIT ?",
        (limit,),
    )
    return {
        "deposits": [_deposit_json(deposit) for deposit in deposits],
        "payouts": [
            {**payout_json(one), "account_id": one.account_id, "destination": one.destination, "rail_ref": one.rail_ref}
            for one in payouts
        ],
    }


def solvency(reader: BooksReader, now_ms: int) -> shown.Solvency:
    """Do all accounts sum to 0, and does what came from outside cover what users have? By currency, measured now."""
    rows = reader.execute(_SOLVENCY).fetchall()
    return {
        "checked_at": rfc3339_s(now_ms),
        "solvent": all(total == 0 and users <= outside for _, total, users, outside in rows),
        "currencies": [
            {"currency": currency, "sum_micro": total, "user_balances_micro": users, "external_funds_micro": outside}
            for currency, total, users, outside in rows
        ],
    }


def fees(terms: Terms) -> shown.Fees:
    """What is charged and held back, by currency."""
    return {"currencies": {currency: _terms_json(one) for currency, one in terms.currencies.items()}}


def _terms_json(terms: CurrencyTerms) -> shown.FeeTerms:
    return {
        "fee_bps": terms.fee_bps,
        "dispute_floor_micro": terms.dispute_floor_micro,
        "stake_bps": terms.stake_bps,
        "stake_min_micro": terms.stake_min_micro,
        "stake_max_micro": terms.stake_max_micro,
        "clearing_s": terms.clearing_s,
        "payout_min_micro": terms.payout_min_micro,
        "can_pay_out": terms.can_pay_out,
    }


def _purse_json(money: CurrencyPurse) -> shown.Balance:
    return {
        "currency": money.currency,
        "balance_micro": money.available_micro + money.clearing_micro,
        "withdrawable_micro": money.available_micro - money.reserved_micro,
        "available_micro": money.available_micro,
        "reserved_micro": money.reserved_micro,
        "pending_micro": money.clearing_micro,
        "held_micro": money.held_micro,
    }


def _deposit_json(deposit: Deposit) -> shown.DepositWaiting:
    return {
        "deposit_id": deposit.id,
        "account_id": deposit.account_id,
        "state": deposit.state,
        "currency": deposit.currency,
        "amount_micro": deposit.amount_micro,
        "reference": deposit.reference,
        "asked_at": rfc3339_s(deposit.asked_at_ms),
    }


def _sums(reader: BooksReader, account: str) -> LedgerAccount:
    return LEDGER_ACCOUNTS.get(reader, account) or account_named(account)
