"""What servers tell each other of the requests that they let in, so that a limit is one over all of them.

Rows that no fact makes: one that is lost lets a few requests more through.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction

_NEWER: Final = (
    "SELECT number, at_ms, counts FROM request_counts WHERE number > ? AND server <> ? AND until_ms > ? ORDER BY number"
)
_LAST: Final = "SELECT coalesce(max(number), 0) FROM request_counts"
_TELL: Final = "INSERT INTO request_counts (number, server, at_ms, until_ms, counts) VALUES (?, ?, ?, ?, ?)"
_FORGET: Final = "DELETE FROM request_counts WHERE until_ms <= ? AND number < ?"


@dataclass(frozen=True, slots=True)
class Heard:
    """What others told, each with its instant, and the number of the newest."""

    last: int
    told: list[tuple[int, str]]


def hear_counts(reader: BooksReader, server: str, after: int, now_ms: int) -> Heard:
    """What others than `server` told after number `after` and still counts."""
    rows = reader.execute(_NEWER, (after, server, now_ms)).fetchall()
    return Heard(rows[-1][0] if rows else after, [(at_ms, counts) for _, at_ms, counts in rows])


def tell_counts(transaction: Transaction, server: str, after: int, now_ms: int, told: Mapping[int, str]) -> Heard:
    """As `hear_counts`; and tell the others what `server` has counted, by how many ms it counts."""
    heard = hear_counts(transaction, server, after, now_ms)
    ((last,),) = transaction.execute(_LAST).fetchall()
    for window_ms, counts in told.items():
        last += 1
        transaction.aside(_TELL, (last, server, now_ms, now_ms + window_ms, counts))
    transaction.aside(_FORGET, (now_ms, last))  # the newest stays, for numbers to go on from
    return Heard(last, heard.told)
