"""An agent's owner, who has an address and no key: how they come in."""

from collections.abc import Callable
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind
from earnest.identity.key import LINK_PURPOSE
from earnest.identity.owner_link import account_of_link, check_owner_link, owner_link
from earnest.identity.secret import KeyedHash
from earnest.identity.service import ACCOUNTS, LINKS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.operating import open_session, use_link_up

OWNER: Final = "owner"
AGENTS_MAX: Final = 50


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
