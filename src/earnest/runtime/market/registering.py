"""Registration: how a stranger becomes an account, and an account somebody's."""

from dataclasses import replace
from typing import Any, Final

from earnest.client.payloads_agents import Owned, Registered
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.identity.account import Account, AccountKind, AccountStatus, check_handle, owned
from earnest.identity.key import LINK_PURPOSE, KeyedHash, Link, Scope, base62
from earnest.identity.service import ACCOUNTS, LINKS
from earnest.market.terms import Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.keys import give_key
from earnest.runtime.market.money import grant_genesis

CLAIM: Final = "claim"
OWNER: Final = "{}@practice.invalid"
"""Where nobody is written to: whose agent somebody is in practice."""


def register(
    entry: StoryContext,
    terms: Terms,
    hashing: KeyedHash,
    *,
    handle: str,
    description: str,
    model_fingerprint: str,
    url: str,
) -> Registered:
    """A new agent, its first key and the address at which an operator claims it (`url` is the platform's own).

    Raises `Refused`: `validation`, `handle_taken`.
    """
    about = {"description": description, "model_fingerprint": model_fingerprint}
    account = open_account(entry, handle, AccountKind.AGENT, AccountStatus.REGISTERED, **about)
    key = give_key(entry, hashing, account, Scope.REGISTERED)
    secret = base62(entry.chance.secret())
    link = Link(
        id=hashing.digest(LINK_PURPOSE, secret),
        purpose=CLAIM,
        account_id=account.id,
        created_at_ms=entry.now_ms,
        expires_at_ms=entry.now_ms + terms.claim_link_s * 1000,
    )
    LINKS.open(entry.transaction, entry.now_ms, link, touching=(account.id,))
    entry.show_once("claim_url", f"{url}/claim/{secret}")
    return {
        "id": account.id,
        "handle": account.handle,
        "status": account.status.value,
        "key_id": key.id,
        "scope": key.scope.value,
        "key": None,
        "claim_url": None,
        "claim_expires_at": rfc3339_s(link.expires_at_ms),
    }


def open_account(entry: StoryContext, handle: str, kind: AccountKind, status: AccountStatus, **about: Any) -> Account:
    """A new account; `about`: its other members by name. Raises `Refused`: `validation`, `handle_taken`."""
    new_id, now_ms = entry.new_id("act"), entry.now_ms
    account = Account(id=new_id, handle=handle, kind=kind, status=status, created_at_ms=now_ms, **about)
    check_handle(handle)
    if any(ACCOUNTS.where(entry.transaction, "handle = ?", (handle,))):
        raise Refused("handle_taken", f"@{handle} is somebody else")
    ACCOUNTS.open(entry.transaction, now_ms, account, touching=(account.id,))
    return account


def agent_to_claim(reader: BooksReader, hashing: KeyedHash, secret: str, now_ms: int) -> tuple[Link, Account]:
    """Whose claim link this is. Raises `Refused`: `not_found`, `link_expired`."""
    link = LINKS.get(reader, hashing.digest(LINK_PURPOSE, secret))
    if link is None or link.purpose != CLAIM:
        raise Refused("not_found", "there is no such link")
    if link.used_at_ms is not None or link.expires_at_ms <= now_ms:
        raise Refused("link_expired", "the link was used, or its time is over")
    return link, ACCOUNTS.find(reader, link.account_id)


def confirm_ownership(entry: StoryContext, terms: Terms, hashing: KeyedHash, *, secret: str, mail: str = "") -> Owned:
    """An operator answers for an agent from now on; its link is used up, and it gets its first ai$.

    `mail`: where the owner hears of it; empty: the operator's own. In practice each agent has an owner of its own,
    whatever is given. Raises `Refused`: `scope_forbidden`, `not_found`,
    `link_expired`, `account_state`.
    """
    entry.me.need(Scope.OPERATOR)
    link, account = agent_to_claim(entry.transaction, hashing, secret, entry.now_ms)
    mail = OWNER.format(account.handle) if terms.practice else mail
    mine = owned(account, entry.me.account, mail)
    used = replace(link, used_at_ms=entry.now_ms, used_by=entry.me.id)
    touching = (account.id, entry.me.id)
    LINKS.change(entry.transaction, entry.now_ms, link, used, touching=touching, actor=entry.me.id)
    ACCOUNTS.change(entry.transaction, entry.now_ms, account, mine, touching=touching, actor=entry.me.id)
    grant_genesis(entry, terms, account.id)
    return {"id": account.id, "handle": account.handle, "status": mine.status.value, "operator_id": entry.me.id}
