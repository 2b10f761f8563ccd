"""Keys: how does an account get another, and how does one end?"""

from dataclasses import replace

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.identity.account import Account
from earnest.identity.caller import Scope
from earnest.identity.key import (
    KEY_PURPOSE,
    KEYS_MAX,
    PREFIX_CHARACTERS,
    Key,
    key_text,
    may_add,
    rotated,
    works,
)
from earnest.identity.secret import KeyedHash
from earnest.identity.service import KEYS
from earnest.identity.showing import key_json
from earnest.market.terms import Terms
from earnest.runtime.desk import Entry


def give_key(
    entry: Entry,
    hashing: KeyedHash,
    account: Account,
    scope: Scope,
    *,
    label: str = "",
    expires_at_ms: int | None = None,
    replaces: str | None = None,
) -> Key:
    """A new key, shown in this answer as `key` and nowhere else. Raises `Refused("limit_reached")`."""
    held = sum(works(key, entry.now_ms) for key in KEYS.where(entry.transaction, "account_id = ?", (account.id,)))
    if held >= KEYS_MAX:
        raise Refused("limit_reached", f"an account has at most {KEYS_MAX} keys that work: revoke one")
    text = key_text(scope, entry.chance.secret())
    key = Key(
        id=entry.new_id("key"),
        account_id=account.id,
        scope=scope,
        prefix=text[:PREFIX_CHARACTERS],
        digest=hashing.digest(KEY_PURPOSE, text),
        created_at_ms=entry.now_ms,
        label=label,
        expires_at_ms=expires_at_ms,
        replaces=replaces,
    )
    KEYS.open(entry.transaction, entry.now_ms, key, touching=(account.id,))
    entry.show_once("key", text)
    return key


def add_key(entry: Entry, hashing: KeyedHash, *, scope: Scope, label: str, expires_in_s: int | None) -> JsonObject:
    """Another key of the caller's own account. Raises `Refused`: `scope_forbidden`, `onboarding_required`, …"""
    entry.me.need(Scope.REGISTERED, Scope.LIVE)
    may_add(entry.me.account, scope)
    expires_at_ms = None if expires_in_s is None else entry.now_ms + expires_in_s * 1000
    key = give_key(entry, hashing, entry.me.account, scope, label=label, expires_at_ms=expires_at_ms)
    return key_json(key)


def rotate_key(entry: Entry, terms: Terms, hashing: KeyedHash, *, overlap_s: int | None) -> JsonObject:
    """A key in the place of the one shown, which works for `overlap_s` more (by default as long as the terms say).

    Raises `Refused`: `heartbeat_scope_forbidden`, `validation`, `limit_reached`.
    """
    entry.me.need(Scope.REGISTERED, Scope.LIVE, Scope.OPERATOR, Scope.AUDITOR)
    old = KEYS.get(entry.transaction, entry.me.key_id)
    if old is None:
        raise Refused("validation", "a login has no key to rotate: show the key itself")
    overlap_ms = min(terms.key_overlap_s if overlap_s is None else overlap_s, terms.key_overlap_s) * 1000
    ending = rotated(old, entry.now_ms, overlap_ms)
    KEYS.change(entry.transaction, entry.now_ms, old, ending, touching=(old.account_id,), reason="rotated")
    new = give_key(entry, hashing, entry.me.account, old.scope, label=old.label, replaces=old.id)
    return {**key_json(new), "replaces": key_json(ending)}


def revoke_key(entry: Entry, *, key_id: str) -> JsonObject:
    """End one of the caller's own keys, now. Raises `Refused`: `not_found`, `heartbeat_scope_forbidden`."""
    entry.me.need(Scope.REGISTERED, Scope.LIVE, Scope.OPERATOR, Scope.AUDITOR)
    key = KEYS.find(entry.transaction, key_id)
    if key.account_id != entry.me.id:
        raise Refused("not_found", f"there is no key {key_id[:80]!r}, or you may not know of it")
    ended = key if key.revoked_at_ms is not None else replace(key, revoked_at_ms=entry.now_ms)
    KEYS.change(entry.transaction, entry.now_ms, key, ended, touching=(key.account_id,), reason="revoked")
    return key_json(ended)
