"""Leases of waiting work: who works at what, among all processes, and until when.

A lease is a row that no fact makes: it says nothing about anybody, nothing follows from it, and one that is lost costs
a second try. What was worked at is recorded once because the story that records it looks first.
"""

from collections.abc import Collection, Sequence
from typing import Final

from earnest.effects.ground.storage.engine import Cursor
from earnest.effects.ground.storage.transaction import Transaction

LEASE_MS: Final = 10_000
"""How long a piece of work is its holder's without a word from it."""
RENEW_MS: Final = LEASE_MS // 3

_IS_HELD: Final = f"until_ms - ? BETWEEN 1 AND {2 * LEASE_MS}"
"""Of a lease, now. One that would last longer is of a clock that is far ahead: it would outlive its holder by that."""
FREE: Final = f"id NOT IN (SELECT id FROM leases WHERE {_IS_HELD})"  # noqa: S608 - ours
"""The condition for rows that nobody works at. Its parameter is the present."""
_TAKE: Final = (
    "INSERT INTO leases (id, holder, until_ms) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "  # noqa: S608 - ours
    "SET holder = excluded.holder, until_ms = excluded.until_ms "
    f"WHERE NOT leases.{_IS_HELD} OR leases.holder = excluded.holder"
)
_RENEW: Final = f"UPDATE leases SET until_ms = ? WHERE id = ? AND holder = ? AND {_IS_HELD}"  # noqa: S608 - ours
_GIVE: Final = "DELETE FROM leases WHERE id = ? AND holder = ?"
_LEAVE: Final = "DELETE FROM leases WHERE holder = ?"
_FORGET: Final = f"DELETE FROM leases WHERE NOT {_IS_HELD}"  # noqa: S608 - ours


def take_lease(transaction: Transaction, holder: str, one: str, now_ms: int) -> Cursor:
    """Have it be `holder`'s for `LEASE_MS`; no row of the answer changes where somebody else works at it."""
    return transaction.aside(_TAKE, (one, holder, now_ms + LEASE_MS, now_ms))


def take_leases(transaction: Transaction, holder: str, wanted: Sequence[str], now_ms: int) -> list[str]:
    """Those of `wanted` that are `holder`'s now: nobody else works at them."""
    return [one for one in wanted if take_lease(transaction, holder, one, now_ms).rowcount]


def renew_leases(transaction: Transaction, holder: str, held: Collection[str], now_ms: int) -> int:
    """Hold them for `LEASE_MS` from now on; how many. What has run out is not held again: somebody may have it."""
    return sum(transaction.aside(_RENEW, (now_ms + LEASE_MS, one, holder, now_ms)).rowcount for one in held)


def give_lease(transaction: Transaction, holder: str, one: str) -> None:
    """Give one back, if it is still the holder's."""
    transaction.aside(_GIVE, (one, holder))


def leave_leases(transaction: Transaction, holder: str, now_ms: int) -> None:
    """Give all back, and forget those of holders who died."""
    transaction.aside(_LEAVE, (holder,))
    transaction.aside(_FORGET, (now_ms,))
