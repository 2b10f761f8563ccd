"""What proves that somebody reads the mail of an agent's owner: a secret that needs no row until it is used."""

import hmac
import re
from typing import Final

from earnest.foundation.errors import Refused
from earnest.identity.account import Account
from earnest.identity.key import KeyedHash

OWNER_LINK_MS: Final = 15 * 60_000
PURPOSE: Final = "owner-link"
_FORM: Final = re.compile(r"([0-9a-f]{8,12}\.[0-9A-Z]{26}\.(act_[0-9A-Z]{26}))\.([0-9a-f]{64})", re.ASCII)


def owner_link(hashing: KeyedHash, account: Account, nonce: str, expires_at_ms: int) -> str:
    """A secret for whoever reads the mail that `account` has now. `nonce` is a ULID."""
    said = f"{expires_at_ms:x}.{nonce}.{account.id}"
    return f"{said}.{hashing.digest(PURPOSE, _bound(said, account))}"


def account_of_link(text: str) -> str:
    """Which account a link names; nothing is proved yet. Raises `Refused("not_found")`."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise Refused("not_found", "there is no such link")
    return found[2]


def check_owner_link(hashing: KeyedHash, account: Account, text: str, now_ms: int) -> int:
    """When it expires. It is none once the address is another. Raises `Refused`: `not_found`, `link_expired`."""
    found = _FORM.fullmatch(text)
    if found is None or not hmac.compare_digest(hashing.digest(PURPOSE, _bound(found[1], account)), found[3]):
        raise Refused("not_found", "there is no such link")
    expires_at_ms = int(found[1].partition(".")[0], 16)
    if expires_at_ms <= now_ms:
        raise Refused("link_expired", "the link has expired: ask for another")
    return expires_at_ms


def _bound(said: str, account: Account) -> str:
    return f"{said}\n{account.mail.casefold()}"
