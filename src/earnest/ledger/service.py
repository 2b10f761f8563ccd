"""The books of money. Chains of transfers are booked here, whole or not at all, and nowhere else."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from earnest.effects.ground.storage.known_rows import Ahead, Sought
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Book, Project
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.foundation.facts import Fact
from earnest.foundation.shapes import fields_of
from earnest.ledger import rows
from earnest.ledger.rules import LedgerAccount, account_named, check, effect, is_repeated
from earnest.ledger.transfer import Chain, TransferKind

LEDGER_POSTED: Final = "ledger.posted"

PAYOUTS: Final = Book("payout", rows.PAYOUTS)
DEPOSITS: Final = Book("deposit", rows.DEPOSITS)
DESTINATIONS: Final = Book("destination", rows.DESTINATIONS)

BOOKS: Final[tuple[Book[Any], ...]] = (PAYOUTS, DEPOSITS, DESTINATIONS)

NUMBER: Final = "number"
"""By which transfers are counted."""


_, _COLUMNS = fields_of(LedgerAccount)
_POSTED: Final = 3
"""Where the sums begin among them: debits and credits posted, then pending."""


def sought(chain: Chain) -> Ahead:
    """What `post` will look for."""
    accounts = [one.debit for one in chain] + [one.credit for one in chain]
    return (
        Sought(rows.TRANSFERS.lookup, tuple([one.id for one in chain]), are_new=True),
        Sought(rows.TRANSFERS.lookup, tuple([one.pending_id for one in chain if one.pending_id is not None])),
        *sought_of(*accounts),
    )


def sought_of(*accounts: str) -> Ahead:
    """What `post` will look for besides transfers."""
    return Sought(rows.LEDGER_ACCOUNTS.lookup, accounts), Sought(rows.BOOKED.lookup, greatest=NUMBER)


def post(transaction: Transaction, chain: Chain) -> None:
    """Book a chain as one fact. An empty chain, or one that was booked before, does nothing and records nothing.

    Whose view it changes is said by the story, with what it is booked for. Raises `Refused` (`insufficient_funds`,
    `transfer_exists`, `limit_reached`) or `Broken`: see `rules.check`.
    """
    if not chain:
        return
    if transaction.link.known is not None:
        transaction.link.look(sought(chain))
    ids = [name for one in chain for name in (one.id, one.pending_id) if name]
    sides = [name for one in chain for name in (one.debit, one.credit)]
    known, accounts = rows.TRANSFERS.all(transaction, ids), rows.LEDGER_ACCOUNTS.all(transaction, sides)
    if is_repeated(chain, known):
        return
    check(chain, known, accounts)
    subject = chain[0].id.partition("/")[0]
    body: JsonObject = {"transfers": _told(chain)}
    fact = Fact(kind=LEDGER_POSTED, subject=subject, at_ms=chain[0].at_ms, body=body)
    transaction.record(fact)
    _book(transaction, fact, accounts)


def balance(reader: BooksReader, account: str) -> LedgerAccount:
    """The sums of an account; zeros where nothing was booked on it yet."""
    return rows.LEDGER_ACCOUNTS.get(reader, account) or account_named(account)


def is_posted(reader: BooksReader, transfer_id: str) -> bool:
    """True if a transfer of this id was booked."""
    return rows.TRANSFERS.get(reader, transfer_id) is not None


def _told(chain: Chain) -> list[JsonObject]:
    """Transfers in their fact, whose instant is theirs; their currency stands in their accounts."""
    told: list[JsonObject] = []
    for one in chain:
        sides = {"id": one.id, "kind": one.kind.value, "debit": one.debit, "credit": one.credit}
        rest = {} if one.pending_id is None else {"pending_id": one.pending_id}
        told.append({**sides, "amount_micro": one.amount_micro, "reason": one.reason, **rest})
    return told


def _project(transaction: Transaction, fact: Fact) -> None:
    booked = cast("Sequence[dict[str, Any]]", fact.body["transfers"])
    names = (told[side] for told in booked for side in ("debit", "credit"))
    _book(transaction, fact, rows.LEDGER_ACCOUNTS.all(transaction, names))


def _book(transaction: Transaction, fact: Fact, accounts: Mapping[str, LedgerAccount]) -> None:
    """Rows of the transfers; sums of their `accounts`, of which those that exist are given, each written once."""
    chain = cast("Sequence[dict[str, Any]]", fact.body["transfers"])
    names = dict.fromkeys(told[side] for told in chain for side in ("debit", "credit"))
    sums = {name: [*_COLUMNS(accounts.get(name) or account_named(name))] for name in names}
    new = []
    for number, told in enumerate(chain, start=rows.BOOKED.numbers(transaction, NUMBER, len(chain))):
        debit, credit = sums[told["debit"]], sums[told["credit"]]
        sides = (told["debit"], told["credit"])
        content = (debit[1], told["amount_micro"], told["reason"], fact.at_ms, told.get("pending_id"), "")
        new.append((told["id"], told["kind"], *sides, *content, number, debit[-1], credit[-1]))
        debit[-1] = credit[-1] = number
    rows.BOOKED.add_rows(transaction, new)
    for told in chain:
        held_micro = _resolved(transaction, told) if told.get("pending_id") else 0
        posted, pending = effect(TransferKind(told["kind"]), told["amount_micro"], held_micro)
        for side, name in enumerate((told["debit"], told["credit"]), start=_POSTED):
            sums[name][side] += posted
            sums[name][2 + side] += pending
    rows.LEDGER_ACCOUNTS.put_rows(transaction, [*sums.values()])


def _resolved(transaction: Transaction, told: Mapping[str, Any]) -> int:
    """What had been reserved by the transfer that this one ends."""
    held = rows.TRANSFERS.get(transaction, told["pending_id"])
    if held is None:
        raise Broken(f"there is no reservation {told['pending_id']!r}")
    rows.TRANSFERS.update(transaction, held.id, {"resolved": told["kind"]})
    return held.amount_micro


PROJECTIONS: Final[Mapping[str, Project]] = {LEDGER_POSTED: _project}
