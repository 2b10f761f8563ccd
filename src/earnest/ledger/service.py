"""The books of money. Chains of transfers are booked here, whole or not at all, and nowhere else."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from earnest.effects.ground.storage.book import Book
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Project, Rows, RowT
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.ledger import rows
from earnest.ledger.accounts import currency_of, is_guarded
from earnest.ledger.rules import account_named, check, effect, is_repeated
from earnest.ledger.transfer import Chain, LedgerAccount, Transfer, TransferKind

LEDGER_POSTED: Final = "ledger.posted"

PAYOUTS: Final = Book("payout", rows.PAYOUTS)
DEPOSITS: Final = Book("deposit", rows.DEPOSITS)
DESTINATIONS: Final = Book("destination", rows.DESTINATIONS)

BOOKS: Final[tuple[Book[Any], ...]] = (PAYOUTS, DEPOSITS, DESTINATIONS)

_INSERT: Final = """
INSERT INTO transfers (id, kind, debit, credit, currency, amount_micro, reason, at_ms, pending_id, resolved,
  debit_before, credit_before, number)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?)
"""
_ADD_SUMS: Final = """
INSERT INTO ledger_accounts
  (id, currency, guarded, debits_posted, credits_posted, debits_pending, credits_pending, last)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  debits_posted = ledger_accounts.debits_posted + excluded.debits_posted,
  credits_posted = ledger_accounts.credits_posted + excluded.credits_posted,
  debits_pending = ledger_accounts.debits_pending + excluded.debits_pending,
  credits_pending = ledger_accounts.credits_pending + excluded.credits_pending,
  last = excluded.last
"""
_LAST: Final = "SELECT coalesce(max(number), 0) FROM transfers"
_RESOLVE: Final = "UPDATE transfers SET resolved = ? WHERE id = ? RETURNING amount_micro"


def post(transaction: Transaction, chain: Chain) -> None:
    """Book a chain as one fact. An empty chain, or one that was booked before, does nothing and records nothing.

    Whose view it changes is said by the story, with what it is booked for. Raises `Refused` (`insufficient_funds`,
    `transfer_exists`, `limit_reached`) or `Broken`: see `rules.check`.
    """
    if not chain:
        return
    known = _found(transaction, rows.TRANSFERS, [name for one in chain for name in (one.id, one.pending_id) if name])
    if is_repeated(chain, known):
        return
    accounts = _found(transaction, rows.LEDGER_ACCOUNTS, [name for one in chain for name in (one.debit, one.credit)])
    check(chain, known, accounts)
    subject = chain[0].id.partition("/")[0]
    body: JsonObject = {"transfers": [_told(transfer) for transfer in chain]}
    fact = Fact(kind=LEDGER_POSTED, subject=subject, at_ms=chain[0].at_ms, body=body)
    transaction.record(fact)
    _book(transaction, fact, accounts)


def balance(reader: BooksReader, account: str) -> LedgerAccount:
    """The sums of an account; zeros where nothing was booked on it yet."""
    return rows.LEDGER_ACCOUNTS.get(reader, account) or account_named(account)


def is_posted(reader: BooksReader, transfer_id: str) -> bool:
    """True if a transfer of this id was booked."""
    return rows.TRANSFERS.get(reader, transfer_id) is not None


def _found(reader: BooksReader, rows: Rows[RowT], keys: Iterable[str]) -> dict[str, RowT]:
    """The rows that there are. One at a time: SQLite is quicker so than with a list of keys."""
    found = {key: rows.get(reader, key) for key in dict.fromkeys(keys)}
    return {key: row for key, row in found.items() if row is not None}


def _told(transfer: Transfer) -> dict[str, str | int]:
    """A transfer in its fact, whose instant is the transfer's; its currency stands in its accounts."""
    told: dict[str, str | int] = {
        "id": transfer.id,
        "kind": transfer.kind.value,
        "debit": transfer.debit,
        "credit": transfer.credit,
        "amount_micro": transfer.amount_micro,
        "reason": transfer.reason,
    }
    return told if transfer.pending_id is None else {**told, "pending_id": transfer.pending_id}


def _project(transaction: Transaction, fact: Fact) -> None:
    booked = cast("Sequence[dict[str, Any]]", fact.body["transfers"])
    names = [told[side] for told in booked for side in ("debit", "credit")]
    _book(transaction, fact, _found(transaction, rows.LEDGER_ACCOUNTS, names))


def _book(transaction: Transaction, fact: Fact, accounts: Mapping[str, LedgerAccount]) -> None:
    """Rows of the transfers; sums of their `accounts`, of which those that exist are given, each added to once."""
    chain = cast("Sequence[dict[str, Any]]", fact.body["transfers"])
    (last,) = transaction.execute(_LAST).fetchone()
    sums: dict[str, list[int]] = {}
    new = []
    for number, told in enumerate(chain, start=last + 1):
        names = (told["debit"], told["credit"])
        sides = [sums.setdefault(name, [0, 0, 0, 0, accounts[name].last if name in accounts else 0]) for name in names]
        new.append(_row(told, fact.at_ms, number, *(added[4] for added in sides)))
        for added in sides:
            added[4] = number
    transaction.executemany(_INSERT, new)
    for told in chain:
        held_micro = _resolved(transaction, told) if told.get("pending_id") else 0
        posted, pending = effect(TransferKind(told["kind"]), told["amount_micro"], held_micro)
        for side, name in enumerate((told["debit"], told["credit"])):
            sums[name][side] += posted
            sums[name][2 + side] += pending
    transaction.executemany(
        _ADD_SUMS, [(name, currency_of(name), int(is_guarded(name)), *added) for name, added in sums.items()]
    )


def _row(told: Mapping[str, Any], at_ms: int, number: int, debit_before: int, credit_before: int) -> tuple[Any, ...]:
    currency = currency_of(told["debit"])
    sides = (told["id"], told["kind"], told["debit"], told["credit"])
    content = (currency, told["amount_micro"], told["reason"], at_ms, told.get("pending_id"))
    return (*sides, *content, debit_before, credit_before, number)


def _resolved(transaction: Transaction, told: Mapping[str, Any]) -> int:
    """What had been reserved by the transfer that this one ends."""
    ((held_micro,),) = transaction.execute(_RESOLVE, (told["kind"], told["pending_id"])).fetchall()
    return int(held_micro)


PROJECTIONS: Final[Mapping[str, Project]] = {LEDGER_POSTED: _project}
