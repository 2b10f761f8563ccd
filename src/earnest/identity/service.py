"""The books of identity: who takes part, and what proves it."""

from typing import Any, Final

from earnest.effects.ground.storage.rows import Book
from earnest.identity import rows
from earnest.identity.presence_book import PresenceBook

WHO: Final = "who:"
"""Before an account's id: touched by what concerns who somebody is, and by nothing else."""

ACCOUNTS: Final = Book("account", rows.ACCOUNTS, mark=WHO)
KEYS: Final = Book("key", rows.KEYS, mark=WHO)
LINKS: Final = Book("link", rows.LINKS)
SESSIONS: Final = Book("session", rows.SESSIONS, mark=WHO)
PRESENCES: Final = PresenceBook()

BOOKS: Final[tuple[Book[Any], ...]] = (ACCOUNTS, KEYS, LINKS, SESSIONS, PRESENCES)
