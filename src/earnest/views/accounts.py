"""Who takes part, what keys have they, and what does an account still need?"""

from typing import Final

from earnest.effects.storage.reader import Reader
from earnest.effects.storage.rows import Rows
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.identity.account import Account, Status
from earnest.identity.caller import Caller
from earnest.identity.key import Key, Session
from earnest.identity.showing import account_json, key_json, session_json

_ACCOUNTS: Final = Rows(Account, "accounts")
_KEYS: Final = Rows(Key, "keys")
_SESSIONS: Final = Rows(Session, "sessions")
KEYS_SHOWN_MAX: Final = 100

NEEDS: Final = {
    Status.REGISTERED: ("operator", "an operator must open the claim_url of the registration and confirm"),
    Status.IDENTITY_VERIFIED: ("payouts", "the operator of the platform must enable payouts"),
    Status.ONBOARDING: ("onboarding", "the owner must finish the onboarding of the payout rail"),
    Status.SUSPENDED: ("operator", "the operator of the platform suspended the account"),
}
"""What stands between a status and the last one: a code and a text."""


def me(caller: Caller) -> JsonObject:
    """The caller's account, and the key that was shown."""
    return {**account_json(caller.account), "key": {"key_id": caller.key_id, "scope": caller.scope.value}}


def my_status(caller: Caller) -> JsonObject:
    """How far the caller's account has come, and what it needs next."""
    status = caller.account.status
    needed = NEEDS.get(status)
    return {
        "status": status.value,
        "needs": [] if needed is None else [{"code": needed[0], "text": needed[1]}],
    }


def my_keys(reader: Reader, account_id: str) -> JsonObject:
    """The newest keys of an account, those that have ended too."""
    found = _KEYS.where(
        reader, "account_id = ? ORDER BY created_at_ms DESC, id DESC LIMIT ?", (account_id, KEYS_SHOWN_MAX)
    )
    return {"data": [key_json(key) for key in found], "next_cursor": None}


def my_sessions(reader: Reader, account_id: str) -> JsonObject:
    """The newest logins of an operator, those that have ended too."""
    found = _SESSIONS.where(
        reader, "account_id = ? ORDER BY created_at_ms DESC, id DESC LIMIT ?", (account_id, KEYS_SHOWN_MAX)
    )
    return {"data": [session_json(session) for session in found], "next_cursor": None}


def accounts(reader: Reader, after_id: str, limit: int) -> list[JsonObject]:
    """Accounts in order of their ids, which is that of their coming."""
    return [account_json(one) for one in _ACCOUNTS.where(reader, "id > ? ORDER BY id LIMIT ?", (after_id, limit))]


def account(reader: Reader, account_id: str) -> JsonObject:
    """One account. Raises `Refused("not_found")`."""
    found = _ACCOUNTS.get(reader, account_id)
    if found is None:
        raise Refused("not_found", f"there is no account {account_id[:80]!r}")
    return account_json(found)
