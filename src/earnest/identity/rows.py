"""The tables of identity, each with the value that a row of it is."""

from typing import Final

from earnest.effects.ground.storage.rows import Rows
from earnest.identity.account import Account
from earnest.identity.key import Key, Link, Session
from earnest.identity.presence import Presence

ACCOUNTS: Final = Rows(Account, "accounts")
KEYS: Final = Rows(Key, "keys")
LINKS: Final = Rows(Link, "links")
SESSIONS: Final = Rows(Session, "sessions")
PRESENCES: Final = Rows(Presence, "presences", "account_id")
