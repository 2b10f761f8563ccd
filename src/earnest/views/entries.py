"""Entries: where somebody's money came from and where it went, the newest first.

Each account's transfers are linked from its newest back (`ledger.transfer.BookedTransfer`), so a page costs what it
shows, however many transfers the books hold, and no index has to be kept for it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final, cast

from earnest.client.payloads_money import Entry, Place
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.ledger.accounts import available, clearing, currency_of, pending_out
from earnest.ledger.transfer import TransferKind

_PLACES: Final[Mapping[Place, Callable[[str, str], str]]] = {
    "available": available,
    "clearing": clearing,
    "pending_out": pending_out,
}
_MOVES: Final = frozenset({TransferKind.POSTED, TransferKind.POST})
_NEWEST: Final = "SELECT last FROM ledger_accounts WHERE id = ?"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What a transfer did to the account of one list; `before` is the one before it in that list."""

    number: int
    before: int
    list_number: int
    shown: Entry


def list_entries(
    reader: BooksReader, account_id: str, currencies: Sequence[str], after: str, limit: int
) -> tuple[list[Entry], str]:
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
    return sum(number for (number,) in reader.execute(_NEWEST, (account,)).fetchall())


def _walk(reader: BooksReader, list_number: int, account: tuple[Place, str], head: int, limit: int) -> Iterable[_Entry]:
    """From the transfer `head` back; nothing where that is none of the account's."""
    place, name = account
    rows = reader.execute(_WALK, {"account": name, "number": head, "limit": limit}).fetchall() if head else []
    for number, transfer_id, kind, currency, amount, reason, at_ms, is_out, before in rows:
        shown: Entry = {
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
        yield _Entry(number=number, before=before, list_number=list_number, shown=shown)


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
