"""The books of identity: who takes part, what proves it, and when they were there, of many accounts in one fact."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from earnest.effects.ground.storage.rows import Book, differences, row_json
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.identity import rows
from earnest.identity.presence import Presence

PRESENCE_SEEN: Final = "presence.seen"
ALL: Final = "presence"
"""The subject of a fact about many accounts."""


class PresenceBook(Book[Presence]):
    """A book that also takes many changes at a time. Looks are no news to anybody: they touch no home."""

    def __init__(self) -> None:
        super().__init__("presence", rows.PRESENCES)
        self.projections = {**self.projections, PRESENCE_SEEN: self._seen}

    def see(self, transaction: Transaction, at_ms: int, changes: Iterable[tuple[Presence | None, Presence]]) -> int:
        """Each before, None for whoever was never there, and after; the fact's number."""
        seen = {
            after.account_id: row_json(after) if before is None else differences(before, after)
            for before, after in changes
        }
        fact = Fact(kind=PRESENCE_SEEN, subject=ALL, at_ms=at_ms, body={"seen": seen})
        seq = transaction.record(fact)
        self._seen(transaction, fact)
        return seq

    def _seen(self, transaction: Transaction, fact: Fact) -> None:
        for account_id, given in cast("Mapping[str, JsonObject]", fact.body["seen"]).items():
            if self.get(transaction, account_id) is None:
                self.insert(transaction, given)
            else:
                self.update(transaction, account_id, given)


WHO: Final = "who:"
"""Before an account's id: touched by what concerns who somebody is, and by nothing else."""

ACCOUNTS: Final = Book("account", rows.ACCOUNTS, mark=WHO)
KEYS: Final = Book("key", rows.KEYS, mark=WHO)
LINKS: Final = Book("link", rows.LINKS)
SESSIONS: Final = Book("session", rows.SESSIONS, mark=WHO)
PRESENCES: Final = PresenceBook()
WHO_KINDS: Final = frozenset({*ACCOUNTS.projections, *KEYS.projections, *SESSIONS.projections})
"""The facts that touch it."""

BOOKS: Final[tuple[Book[Any], ...]] = (ACCOUNTS, KEYS, LINKS, SESSIONS, PRESENCES)
