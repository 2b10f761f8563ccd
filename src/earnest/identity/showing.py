"""Accounts, keys and logins as they are shown to whoever may see them."""

from earnest.client.payloads_agents import Account as AccountShown
from earnest.client.payloads_agents import Key as KeyShown
from earnest.client.payloads_agents import Session as SessionShown
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import Account
from earnest.identity.key import LINK_LOGIN, Key, Session


def account_json(account: Account) -> AccountShown:
    """An account as its owner and the operator see it."""
    return {
        "id": account.id,
        "handle": account.handle,
        "kind": account.kind.value,
        "status": account.status.value,
        "description": account.description,
        "model_fingerprint": account.model_fingerprint,
        "operator_id": account.operator_id,
        "mail": account.mail,
        "expected_every_s": account.expected_every_s,
        "created_at": rfc3339_s(account.created_at_ms),
    }


def key_json(key: Key) -> KeyShown:
    """A key as its owner sees it later: all but the key."""
    return {
        "key_id": key.id,
        "scope": key.scope.value,
        "prefix": key.prefix,
        "label": key.label,
        "created_at": rfc3339_s(key.created_at_ms),
        "expires_at": rfc3339_s(key.expires_at_ms),
        "revoked_at": rfc3339_s(key.revoked_at_ms),
        "replaces_key_id": key.replaces,
    }


def session_json(session: Session) -> SessionShown:
    """A login as the operator sees it. `key_id` null: the operator's link opened it."""
    return {
        "session_id": session.id,
        "key_id": None if session.key_id == LINK_LOGIN else session.key_id,
        "created_at": rfc3339_s(session.created_at_ms),
        "expires_at": rfc3339_s(session.expires_at_ms),
        "ended_at": rfc3339_s(session.ended_at_ms),
    }
