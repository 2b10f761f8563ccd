"""The books of identity: who takes part, and what proves it."""

from typing import Any, Final

from earnest.effects.storage.book import Book
from earnest.identity.account import Account
from earnest.identity.key import Key, Link, Session
from earnest.identity.presence_book import PresenceBook

WHO: Final = "who:"
"""Before an account's id: touched by what concerns who somebody is, and by nothing else."""

ACCOUNTS: Final = Book("account", Account, "accounts", mark=WHO)
KEYS: Final = Book("key", Key, "keys", mark=WHO)
LINKS: Final = Book("link", Link, "links")
SESSIONS: Final = Book("session", Session, "sessions", mark=WHO)
PRESENCES: Final = PresenceBook()

BOOKS: Final[tuple[Book[Any], ...]] = (ACCOUNTS, KEYS, LINKS, SESSIONS, PRESENCES)
