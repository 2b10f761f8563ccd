"""Keys: how an account gets another, and how one ends."""

from dataclasses import replace

from earnest.client import payloads_agents as answers
from earnest.foundation.errors import Refused
from earnest.identity.account import Account
from earnest.identity.key import (
    KEY_PURPOSE,
    KEYS_MAX,
    PREFIX_CHARACTERS,
    Key,
    KeyedHash,
    Scope,
    Session,
    key_text,
    may_add,
    rotated,
    works,
)
from earnest.identity.service import KEYS, SESSIONS
from earnest.identity.showing import key_json
from earnest.market.terms import Terms
from earnest.runtime.authentication import SESSION_KEY_ID
from earnest.runtime.desk import StoryContext


def need_key(entry: StoryContext) -> Key:
    """The key that the caller has shown. Keys and logins are made with one that is in use, and with nothing else.

    Raises `Refused("scope_forbidden")` for a login, and for a key that another has taken the place of.
    """
    key = KEYS.get(entry.transaction, entry.me.key_id)
    if key is None:
        raise Refused("scope_forbidden", "a login does not do this: show the key itself")
    if any(KEYS.where(entry.transaction, "account_id = ? AND replaces = ? LIMIT 1", (key.account_id, key.id))):
        raise Refused("scope_forbidden", "this key was rotated: the key that took its place does this")
    return key


def give_key(
    entry: StoryContext,
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


def add_key(
    entry: StoryContext, hashing: KeyedHash, *, scope: Scope, label: str, expires_in_s: int | None
) -> answers.KeyGiven:
    """Another key of the caller's own account, which works no longer than the one that is shown.

    Raises `Refused`: `scope_forbidden`, `onboarding_required`, `limit_reached`, and as `need_key`.
    """
    entry.me.need(Scope.REGISTERED, Scope.LIVE)
    shown = need_key(entry)
    may_add(entry.me.account, scope)
    asked_ms = None if expires_in_s is None else entry.now_ms + expires_in_s * 1000
    expires_at_ms = min((at_ms for at_ms in (asked_ms, shown.expires_at_ms) if at_ms is not None), default=None)
    key = give_key(entry, hashing, entry.me.account, scope, label=label, expires_at_ms=expires_at_ms)
    return {**key_json(key), "key": None}


def rotate_key(entry: StoryContext, terms: Terms, hashing: KeyedHash, *, overlap_s: int | None) -> answers.KeyRotated:
    """A key in the place of the one shown, which works for `overlap_s` more (by default as long as the terms say).

    It has the scope of the old one and ends when that would have; logins of the old one end at once. Raises `Refused`:
    `heartbeat_scope_forbidden`, `limit_reached`, and as `need_key`.
    """
    entry.me.need(Scope.REGISTERED, Scope.LIVE, Scope.OPERATOR, Scope.AUDITOR)
    old = need_key(entry)
    overlap_ms = min(terms.key_overlap_s if overlap_s is None else overlap_s, terms.key_overlap_s) * 1000
    ending = rotated(old, entry.now_ms, overlap_ms)
    KEYS.change(entry.transaction, entry.now_ms, old, ending, touching=(old.account_id,), reason="rotated")
    _end_logins(entry, old)
    new = give_key(
        entry,
        hashing,
        entry.me.account,
        old.scope,
        label=old.label,
        expires_at_ms=old.expires_at_ms,
        replaces=old.id,
    )
    return {**key_json(new), "key": None, "replaces": key_json(ending)}


def revoke_key(entry: StoryContext, *, key_id: str) -> answers.Key:
    """End one of the caller's own keys and its logins, now; one that was rotated ends itself alone.

    Raises `Refused`: `not_found`, `heartbeat_scope_forbidden`, `scope_forbidden`.
    """
    entry.me.need(Scope.REGISTERED, Scope.LIVE, Scope.OPERATOR, Scope.AUDITOR)
    key = KEYS.find(entry.transaction, key_id)
    if key.account_id != entry.me.id:
        raise Refused("not_found", f"there is no key {key_id[:80]!r}, or you may not know of it")
    if entry.me.key_id not in {key.id, SESSION_KEY_ID}:
        need_key(entry)
    _end_logins(entry, key)
    ended = key if key.revoked_at_ms is not None else replace(key, revoked_at_ms=entry.now_ms)
    KEYS.change(entry.transaction, entry.now_ms, key, ended, touching=(key.account_id,), reason="revoked")
    return key_json(ended)


def _end_logins(entry: StoryContext, key: Key) -> None:
    """A login ends with the key that opened it."""
    open_now = "account_id = ? AND key_id = ? AND ended_at_ms IS NULL"
    for session in list(SESSIONS.where(entry.transaction, open_now, (key.account_id, key.id))):
        end_login(entry, session)


def end_login(entry: StoryContext, session: Session) -> Session:
    """A login that is over from now on."""
    ended = session if session.ended_at_ms is not None else replace(session, ended_at_ms=entry.now_ms)
    SESSIONS.change(entry.transaction, entry.now_ms, session, ended, touching=(session.account_id,))
    return ended
