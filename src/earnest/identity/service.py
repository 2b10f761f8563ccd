"""The books of identity: who takes part, and what proves it."""

from typing import Any, Final

from earnest.effects.storage.book import Book
from earnest.identity.account import Account
from earnest.identity.key import Key, Link, Session
from earnest.identity.presence import Presence

ACCOUNTS: Final = Book("account", Account, "accounts")
KEYS: Final = Book("key", Key, "keys")
LINKS: Final = Book("link", Link, "links")
SESSIONS: Final = Book("session", Session, "sessions")
PRESENCES: Final = Book("presence", Presence, "presences", key="account_id")

BOOKS: Final[tuple[Book[Any], ...]] = (ACCOUNTS, KEYS, LINKS, SESSIONS, PRESENCES)
