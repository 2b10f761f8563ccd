"""How the operator and owners of agents come in, and what the operator decides about accounts.

An owner has an address and no key.
"""

from collections.abc import Callable
from typing import Final

from earnest.client import payloads_agents as answers
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, Members
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import Account, AccountKind, AccountStatus, resumed, suspended, with_payouts
from earnest.identity.key import (
    LINK_LOGIN,
    LINK_PURPOSE,
    SESSION_MS,
    SESSION_PURPOSE,
    Key,
    KeyedHash,
    Link,
    Scope,
    Session,
    base62,
    check_operator_link,
)
from earnest.identity.owner_link import account_of_link, check_owner_link, owner_link
from earnest.identity.service import ACCOUNTS, LINKS, SESSIONS
from earnest.identity.showing import account_json, key_json, session_json
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.keys import end_login, give_key, need_key
from earnest.runtime.market.registering import open_account

SETUP: Final = "setup"
SESSION: Final = "session"
"""What a login's secret is called in an answer; a surface makes a cookie of it."""
OWNER: Final = "owner"
AGENTS_MAX: Final = 50


def the_operator(reader: BooksReader) -> Account | None:
    """The operator of the platform; None before the first setup."""
    return next(
        ACCOUNTS.where(reader, "kind = ? ORDER BY created_at_ms, id LIMIT 1", (AccountKind.OPERATOR.value,)), None
    )


def set_up(entry: StoryContext, hashing: KeyedHash, *, link: str, handle: str, mail: str) -> Members:
    """Use the operator's one-time link: the first time an account and its key are made, later it is a login.

    Raises `Refused`: `not_found`, `link_expired`, `validation`, `handle_taken`.
    """
    expires_at_ms = check_operator_link(hashing, link, entry.now_ms)
    digest = hashing.digest(LINK_PURPOSE, link)
    if LINKS.get(entry.transaction, digest) is not None:
        raise Refused("link_expired", "the link was used: `earnest keys operator-link` makes another")
    operator = the_operator(entry.transaction)
    shown: Members = {}
    opened_by: Key | None = None
    if operator is None:
        operator = open_account(entry, handle, AccountKind.OPERATOR, AccountStatus.IDENTITY_VERIFIED, mail=mail)
        opened_by = give_key(entry, hashing, operator, Scope.OPERATOR)
        shown = key_json(opened_by)
    use_link_up(entry, digest, SETUP, operator, expires_at_ms)
    return {**shown, **open_session(entry, hashing, operator, opened_by), "handle": operator.handle}


def use_link_up(entry: StoryContext, digest: str, purpose: str, account: Account, expires_at_ms: int) -> None:
    """Record that the link with this digest was used, by this account and for it: it works no second time."""
    used = Link(
        id=digest,
        purpose=purpose,
        account_id=account.id,
        created_at_ms=entry.now_ms,
        expires_at_ms=expires_at_ms,
        used_at_ms=entry.now_ms,
        used_by=account.id,
    )
    LINKS.open(entry.transaction, entry.now_ms, used, touching=(account.id,))


def log_in(entry: StoryContext, hashing: KeyedHash) -> answers.LoggedIn:
    """A login in a browser for whoever shows a key, and no login: it may do what the key may, and ends with it.

    Raises `Refused("scope_forbidden")`.
    """
    return open_session(entry, hashing, entry.me.account, need_key(entry))


def open_session(entry: StoryContext, hashing: KeyedHash, account: Account, key: Key | None) -> answers.LoggedIn:
    """A login of `account`, which ends with the `key` that opens it (None: a link does); shown as `session`."""
    secret = base62(entry.chance.secret())
    session = Session(
        id=hashing.digest(SESSION_PURPOSE, secret),
        account_id=account.id,
        created_at_ms=entry.now_ms,
        expires_at_ms=entry.now_ms + SESSION_MS,
        key_id=LINK_LOGIN if key is None else key.id,
    )
    SESSIONS.open(entry.transaction, entry.now_ms, session, touching=(account.id,))
    entry.show_once(SESSION, secret)
    return {"operator_id": account.id, "expires_at": rfc3339_s(session.expires_at_ms)}


def links_of(
    reader: BooksReader, hashing: KeyedHash, mail: str, new_id: Callable[[], str], expires_at_ms: int
) -> dict[str, str]:
    """For each agent that this address answers for, its handle and a link that works once. Nothing is written."""
    wanted = mail.casefold()
    found = ACCOUNTS.where(
        reader, "lower(mail) = ? AND operator_id IS NOT NULL ORDER BY handle LIMIT ?", (wanted, AGENTS_MAX)
    )
    return {
        one.handle: owner_link(hashing, one, new_id(), expires_at_ms) for one in found if one.kind is AccountKind.AGENT
    }


def agent_of_link(reader: BooksReader, hashing: KeyedHash, link: str, now_ms: int) -> tuple[Account, int]:
    """Whose owner a link logs in, and until when. Raises `Refused`: `not_found`, `link_expired`."""
    account = ACCOUNTS.get(reader, account_of_link(link))
    if account is None:
        raise Refused("not_found", "there is no such link")
    expires_at_ms = check_owner_link(hashing, account, link, now_ms)
    if LINKS.get(reader, hashing.digest(LINK_PURPOSE, link)) is not None:
        raise Refused("link_expired", "the link was used: ask for another")
    return account, expires_at_ms


def log_owner_in(entry: StoryContext, hashing: KeyedHash, *, link: str) -> JsonObject:
    """Use a link: a login for one agent, that may do what the agent's own `live` key may. Raises as `agent_of_link`."""
    account, expires_at_ms = agent_of_link(entry.transaction, hashing, link, entry.now_ms)
    use_link_up(entry, hashing.digest(LINK_PURPOSE, link), OWNER, account, expires_at_ms)
    opened = open_session(entry, hashing, account, None)
    return {"operator_id": opened["operator_id"], "expires_at": opened["expires_at"], "handle": account.handle}


def log_out(entry: StoryContext, hashing: KeyedHash, *, cookie: str) -> answers.LoggedOut:
    """End the caller's login. Raises `Refused("not_found")`."""
    session = SESSIONS.get(entry.transaction, hashing.digest(SESSION_PURPOSE, cookie))
    if session is None or session.account_id != entry.me.id:
        raise Refused("not_found", "there is no login to end: it is a cookie")
    end_login(entry, session)
    return {"operator_id": entry.me.id}


def end_session(entry: StoryContext, *, session_id: str) -> answers.Session:
    """End any login of the operator's. Raises `Refused`: `scope_forbidden`, `not_found`."""
    entry.me.need(Scope.OPERATOR)
    session = SESSIONS.get(entry.transaction, session_id)
    if session is None or session.account_id != entry.me.id:
        raise Refused("not_found", f"there is no login {session_id[:80]!r}")
    return session_json(end_login(entry, session))


def suspend(entry: StoryContext, *, account_id: str, reason: str) -> answers.Account:
    """Let an account only look. Raises `Refused`: `scope_forbidden`, `not_found`, `account_state`."""
    return _decide(entry, account_id, suspended, reason)


def resume(entry: StoryContext, *, account_id: str, reason: str) -> answers.Account:
    """Let a suspended account go on. Raises as `suspend`."""
    return _decide(entry, account_id, resumed, reason)


def enable_payouts(entry: StoryContext, *, account_id: str, reason: str) -> answers.Account:
    """Let an agent's earnings leave the platform. Raises as `suspend`."""
    return _decide(entry, account_id, with_payouts, reason)


def issue_key(entry: StoryContext, hashing: KeyedHash, *, scope: Scope, handle: str, label: str) -> answers.KeyIssued:
    """A further key of the operator's own, or an auditor with theirs, read-only.

    Raises `Refused`: `scope_forbidden`, `validation`, `handle_taken`, `limit_reached`.
    """
    entry.me.need(Scope.OPERATOR)
    need_key(entry)
    account = entry.me.account
    if scope is Scope.AUDITOR:
        kind, status = AccountKind.AUDITOR, AccountStatus.IDENTITY_VERIFIED
        account = open_account(entry, handle, kind, status, operator_id=entry.me.id)
    elif scope is not Scope.OPERATOR:
        raise Refused("scope_forbidden", "an operator gives keys of scope op and aud")
    return {**key_json(give_key(entry, hashing, account, scope, label=label)), "key": None, "account_id": account.id}


def _decide(entry: StoryContext, account_id: str, rule: Callable[[Account], Account], reason: str) -> answers.Account:
    entry.me.need(Scope.OPERATOR)
    account = ACCOUNTS.find(entry.transaction, account_id)
    after = rule(account)
    touching = (account.id, entry.me.id)
    ACCOUNTS.change(
        entry.transaction, entry.now_ms, account, after, touching=touching, actor=entry.me.id, reason=reason
    )
    return account_json(after)
