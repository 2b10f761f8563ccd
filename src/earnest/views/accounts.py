"""Accounts, their keys and logins, and what an account still needs."""

from typing import Final

from earnest.client import payloads_agents as shown
from earnest.client.payloads import Page
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.identity.account import AccountStatus
from earnest.identity.caller import Caller
from earnest.identity.rows import ACCOUNTS, KEYS, SESSIONS
from earnest.identity.showing import account_json, key_json, session_json

KEYS_SHOWN_MAX: Final = 100

NEEDS: Final = {
    AccountStatus.REGISTERED: ("operator", "an operator must open the claim_url of the registration and confirm"),
    AccountStatus.IDENTITY_VERIFIED: ("payouts", "the operator of the platform must enable payouts"),
    AccountStatus.ONBOARDING: ("onboarding", "the owner must finish the onboarding of the payout rail"),
    AccountStatus.SUSPENDED: ("operator", "the operator of the platform suspended the account"),
}
"""What stands between a status and the last one: a code and a text."""


def me(caller: Caller) -> shown.Me:
    """The caller's account, and the key that was shown."""
    return {**account_json(caller.account), "key": {"key_id": caller.key_id, "scope": caller.scope.value}}


def my_status(caller: Caller) -> shown.MyStatus:
    """How far the caller's account has come, and what it needs next."""
    status = caller.account.status
    needed = NEEDS.get(status)
    return {
        "status": status.value,
        "needs": [] if needed is None else [{"code": needed[0], "text": needed[1]}],
    }


def my_keys(reader: BooksReader, account_id: str) -> Page[shown.Key]:
    """The newest keys of an account, those that have ended too."""
    found = KEYS.where(
        reader, "account_id = ? ORDER BY created_at_ms DESC, id DESC LIMIT ?", (account_id, KEYS_SHOWN_MAX)
    )
    return {"data": [key_json(key) for key in found], "next_cursor": None}


def my_sessions(reader: BooksReader, account_id: str) -> Page[shown.Session]:
    """The newest logins of an operator, those that have ended too."""
    found = SESSIONS.where(
        reader, "account_id = ? ORDER BY created_at_ms DESC, id DESC LIMIT ?", (account_id, KEYS_SHOWN_MAX)
    )
    return {"data": [session_json(session) for session in found], "next_cursor": None}


def accounts(reader: BooksReader, after_id: str, limit: int) -> list[shown.Account]:
    """Accounts in order of their ids, which is that of their coming."""
    return [account_json(one) for one in ACCOUNTS.where(reader, "id > ? ORDER BY id LIMIT ?", (after_id, limit))]


def account(reader: BooksReader, account_id: str) -> shown.Account:
    """One account. Raises `Refused("not_found")`."""
    found = ACCOUNTS.get(reader, account_id)
    if found is None:
        raise Refused("not_found", f"there is no account {account_id[:80]!r}")
    return account_json(found)
