"""Tables of accounts, keys and sessions."""

from earnest.effects.ground.storage.tables import index_of, table_of
from earnest.identity.account import Account
from earnest.identity.key import Key, Link, Session
from earnest.identity.presence import Presence

ACCOUNTS = table_of(Account, "accounts", ("operator_id",), unique=("handle",))
KEYS = table_of(Key, "keys", ("account_id",), unique=("digest",))
LINKS = table_of(Link, "links", ("account_id",))
SESSIONS = table_of(Session, "sessions", ("account_id",))
PRESENCES = table_of(Presence, "presences", key="account_id")
index_of(PRESENCES, "presences_with_mail", "outbox_at_ms", where="outbox_at_ms IS NOT NULL")
