"""How are accounts and keys shown to whoever may see them?"""

from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import Account
from earnest.identity.key import LINK_LOGIN, Key, Session


def account_json(account: Account) -> JsonObject:
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


def key_json(key: Key) -> JsonObject:
    """A key as its owner sees it later: all but the key."""
    return {
        "key_id": key.id,
        "scope": key.scope.value,
        "prefix": key.prefix,
        "label": key.label,
        "created_at": rfc3339_s(key.created_at_ms),
        "expires_at": _instant(key.expires_at_ms),
        "revoked_at": _instant(key.revoked_at_ms),
        "replaces_key_id": key.replaces,
    }


def session_json(session: Session) -> JsonObject:
    """A login as the operator sees it. `key_id` null: the operator's link opened it."""
    return {
        "session_id": session.id,
        "key_id": None if session.key_id == LINK_LOGIN else session.key_id,
        "created_at": rfc3339_s(session.created_at_ms),
        "expires_at": rfc3339_s(session.expires_at_ms),
        "ended_at": _instant(session.ended_at_ms),
    }


def _instant(at_ms: int | None) -> JsonValue:
    return None if at_ms is None else rfc3339_s(at_ms)
