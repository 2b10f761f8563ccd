"""Wallets and their entries, payouts, fees, and whether the books cover what users have.

Each account's transfers are linked from its newest back (`ledger.transfer.BookedTransfer`), so a page of entries costs
what it shows, however many transfers the books hold, and no index has to be kept for it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final, cast

from earnest.client import payloads_money as shown
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.ledger.payout import Deposit, Payout
from earnest.ledger.rows import DEPOSITS, LEDGER_ACCOUNTS, PAYOUTS
from earnest.ledger.rules import LedgerAccount
from earnest.ledger.transfer import TransferKind, available, clearing, currency_of, pending_out
from earnest.market.homes.given import CurrencyPurse
from earnest.market.terms import CurrencyTerms, Terms

_HELD: Final = (
    "SELECT coalesce(sum(amount_micro), 0) FROM jobs WHERE creator = ? AND state IN ('open', 'taken') AND currency = ?"
)
_SOLVENCY: Final = """
SELECT currency, sum(credits_posted - debits_posted),
  sum(CASE WHEN id >= 'act_' AND id < 'act`' THEN credits_posted - debits_posted ELSE 0 END),
  sum(CASE WHEN id = 'platform:external:' || currency THEN debits_posted - credits_posted ELSE 0 END)
FROM ledger_accounts GROUP BY currency ORDER BY currency
"""
_PLACES: Final[Mapping[shown.Place, Callable[[str, str], str]]] = {
    "available": available,
    "clearing": clearing,
    "pending_out": pending_out,
}
_MOVES: Final = frozenset({TransferKind.POSTED, TransferKind.POST})
_LAST: Final = "SELECT last FROM ledger_accounts WHERE id = ?"
_WALK: Final = """
WITH RECURSIVE entries (number, id, kind, currency, amount_micro, reason, at_ms, is_out, before) AS (
  SELECT number, id, kind, currency, amount_micro, reason, at_ms,
    CASE WHEN debit = :account THEN 1 ELSE 0 END, CASE WHEN debit = :account THEN debit_before ELSE credit_before END
  FROM transfers WHERE number = :number AND :account IN (debit, credit)
  UNION ALL
  SELECT t.number, t.id, t.kind, t.currency, t.amount_micro, t.reason, t.at_ms,
    CASE WHEN t.debit = :account THEN 1 ELSE 0 END,
    CASE WHEN t.debit = :account THEN t.debit_before ELSE t.credit_before END
  FROM entries e JOIN transfers t ON t.number = e.before
)
SELECT number, id, kind, currency, amount_micro, reason, at_ms, is_out, before FROM entries LIMIT :limit
"""


def purse(reader: BooksReader, account_id: str, currency: str) -> CurrencyPurse:
    """The sums of an account. `held_micro` is what its open jobs have in escrow."""
    names = (available(account_id, currency), clearing(account_id, currency))
    found = (LEDGER_ACCOUNTS.get(reader, name) for name in names)
    return purse_of(reader, account_id, currency, {one.id: one for one in found if one is not None})


def purse_of(reader: BooksReader, account_id: str, currency: str, sums: Mapping[str, LedgerAccount]) -> CurrencyPurse:
    """The same, where the accounts of the ledger that there are have been read."""
    free, earned = sums.get(available(account_id, currency)), sums.get(clearing(account_id, currency))
    (held_micro,) = reader.execute(_HELD, (account_id, currency)).fetchone()
    return CurrencyPurse(
        currency=currency,
        available_micro=free.balance_micro if free else 0,
        reserved_micro=free.debits_pending if free else 0,
        clearing_micro=earned.balance_micro if earned else 0,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What a transfer did to the account of one list; `before` is the one before it in that list."""

    number: int
    before: int
    list_number: int
    shown: shown.Entry


def list_entries(
    reader: BooksReader, account_id: str, currencies: Sequence[str], after: str, limit: int
) -> tuple[list[shown.Entry], str]:
    """Every transfer that touched the account's money, in the reverse order of the books, and where to go on.

    That is empty at the end, and `after` where somebody goes on. Raises `Refused("bad_cursor")`.
    """
    accounts = [(place, named(account_id, currency)) for currency in currencies for place, named in _PLACES.items()]
    heads = _heads(after, len(accounts)) if after else [_newest(reader, account) for _, account in accounts]
    lists = [_walk(reader, number, account, heads[number], limit) for number, account in enumerate(accounts)]
    page = list(islice(merge(*lists, key=attrgetter("number"), reverse=True), limit))
    for entry in page:
        heads[entry.list_number] = entry.before
    return [entry.shown for entry in page], ".".join(map(str, heads)) if any(heads) else ""


def _newest(reader: BooksReader, account: str) -> int:
    return sum(number for (number,) in reader.execute(_LAST, (account,)).fetchall())


def _walk(
    reader: BooksReader, list_number: int, account: tuple[shown.Place, str], head: int, limit: int
) -> Iterable[_Entry]:
    """From the transfer `head` back; nothing where that is none of the account's."""
    place, name = account
    rows = reader.execute(_WALK, {"account": name, "number": head, "limit": limit}).fetchall() if head else []
    for number, transfer_id, kind, currency, amount, reason, at_ms, is_out, before in rows:
        entry: shown.Entry = {
            "entry_id": f"{transfer_id}#{place}",
            "at": rfc3339_s(at_ms),
            "kind": kind,
            "reason": reason,
            "account": place,
            "direction": "out" if is_out else "in",
            "currency": currency,
            "amount_micro": amount,
            "subject_id": transfer_id.partition("/")[0],
        }
        yield _Entry(number=number, before=before, list_number=list_number, shown=entry)


def _heads(after: str, count: int) -> list[int]:
    parts = after.split(".")
    if len(parts) != count or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise Refused("bad_cursor", "the cursor is not one that this list has given")
    return [int(part) for part in parts]


def moved_for(reader: BooksReader, subject: str) -> list[JsonObject]:
    """The transfers booked for a claim or the like, with their currency; reservations are left out."""
    booked = [
        cast("JsonObject", one)
        for fact in reader.facts(kind="ledger.posted", subject=subject)
        for one in cast("list[JsonValue]", fact.body["transfers"])
    ]
    return [{**one, "currency": currency_of(str(one["debit"]))} for one in booked if one["kind"] in _MOVES]
