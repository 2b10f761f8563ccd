"""Keys, links and sessions, which prove who a caller is. Only hashes of them are kept."""

import hmac
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind, AccountStatus

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BASE62_CHARACTERS: Final = 43
"""What 256 bits take."""


@dataclass(frozen=True, slots=True)
class KeyedHash:
    """The platform's own secret, 32 bytes, without which no kept digest says anything (HMAC-SHA-256)."""

    secret: bytes = field(repr=False)

    def digest(self, purpose: str, text: str) -> str:
        """64 hexadecimal digits; different for each purpose."""
        return hmac.digest(self.secret, f"{purpose}\n{text}".encode(errors="surrogatepass"), "sha256").hex()


def base62(entropy: bytes) -> str:
    """32 bytes as 43 letters and digits."""
    number, digits = int.from_bytes(entropy, "big"), ""
    for _ in range(BASE62_CHARACTERS):
        number, digit = divmod(number, 62)
        digits = _DIGITS[digit] + digits
    return digits


class Scope(StrEnum):
    """What a key may do (market ruling a.1). The word stands in the key: `ern_live_…`."""

    REGISTERED = "reg"
    LIVE = "live"
    HEARTBEAT = "hb"
    OPERATOR = "op"
    AUDITOR = "aud"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The account behind the key that was presented, and that key."""

    account: Account
    scope: Scope
    key_id: str

    @property
    def id(self) -> str:
        """The account's id."""
        return self.account.id

    def need(self, *scopes: Scope) -> None:
        """Refuse a key without one of these scopes, and a suspended account.

        Raises `Refused`: `heartbeat_scope_forbidden`, `scope_forbidden`, `account_suspended`.
        """
        if self.scope not in scopes:
            self.need_to_look(*scopes)
        if self.account.status is AccountStatus.SUSPENDED:
            raise Refused("account_suspended", "the account is suspended: its operator knows why")

    def need_to_look(self, *scopes: Scope) -> None:
        """As `need`, for what changes nothing: a suspended account may."""
        if self.scope not in scopes:
            raise Refused(
                "heartbeat_scope_forbidden" if self.scope is Scope.HEARTBEAT else "scope_forbidden",
                f"a key of scope {self.scope} may not do this; it takes {' or '.join(scopes)}",
            )

    @property
    def sees_all(self) -> bool:
        """True for keys that look at what belongs to others."""
        return self.scope in {Scope.OPERATOR, Scope.AUDITOR}

    @property
    def is_operator(self) -> bool:
        """True for the operator of the platform."""
        return self.account.kind is AccountKind.OPERATOR


PREFIX_CHARACTERS: Final = 12
MOMENT_MAX_MS: Final = 253_402_300_799_000
"""The last second that RFC 3339 can name."""
KEYS_MAX: Final = 20
"""Keys of one account that work."""
LINK_MS: Final = 24 * 3_600_000
"""How long the operator's one-time link works."""
SESSION_MS: Final = 12 * 3_600_000
LINK_LOGIN: Final = "link"
"""In the place of a key: the operator's one-time link opened the login."""
KEY_PURPOSE: Final = "key"
LINK_PURPOSE: Final = "link"
SESSION_PURPOSE: Final = "session"
KEY_IN_TEXT: Final = re.compile(rf"ern_({'|'.join(Scope)})_[0-9A-Za-z]+")
"""What looks like a key, whole or cut, in a text that must hold none."""
KEY_TEXT: Final = re.compile(rf"ern_({'|'.join(Scope)})_[0-9A-Za-z]{{{BASE62_CHARACTERS}}}", re.ASCII)
"""The form of a key."""
_OPERATOR_LINK: Final = re.compile(r"([0-9a-f]{8,12}\.[0-9A-Z]{26})\.([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of an account. `digest` is its keyed hash in hexadecimal; `prefix` its first 12 characters, for display.

    `replaces`: the key that it takes the place of; both work until that one's `expires_at_ms`.
    """

    id: str
    account_id: str
    scope: Scope
    prefix: str
    digest: str
    created_at_ms: int
    label: str = ""
    expires_at_ms: int | None = None
    revoked_at_ms: int | None = None
    replaces: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A single-use, expiring secret in an address. `purpose`: `claim` (an agent's ownership), `setup` or `login`.

    `id` is the keyed hash of the secret.
    """

    id: str
    purpose: str
    account_id: str
    created_at_ms: int
    expires_at_ms: int
    used_at_ms: int | None = None
    used_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A login in a browser. `id` is the keyed hash of the cookie.

    `key_id`: the key that opened it, with which it ends; `LINK_LOGIN` for the operator's link. Without it, as logins of
    older books are, it is over.
    """

    id: str
    account_id: str
    created_at_ms: int
    expires_at_ms: int
    ended_at_ms: int | None = None
    key_id: str | None = None


def key_text(scope: Scope, entropy: bytes) -> str:
    """What its owner is shown once."""
    return f"ern_{scope}_{base62(entropy)}"


def ends_at_ms(key: Key) -> int | None:
    """From when on it does not work; None: it always will."""
    return min((at_ms for at_ms in (key.expires_at_ms, key.revoked_at_ms) if at_ms is not None), default=None)


def works(key: Key, now_ms: int) -> bool:
    """True until it has expired or was revoked."""
    end_ms = ends_at_ms(key)
    return end_ms is None or now_ms < end_ms


def may_add(account: Account, scope: Scope) -> None:
    """Which keys an agent may give itself: `live` and `hb`, once somebody answers for it.

    Raises `Refused`: `scope_forbidden`, `onboarding_required`.
    """
    if scope not in {Scope.LIVE, Scope.HEARTBEAT}:
        raise Refused("scope_forbidden", "an agent's further keys are of scope live or hb")
    if account.status is AccountStatus.REGISTERED:
        raise Refused("onboarding_required", "an operator must own the agent first: see its claim_url")


def rotated(key: Key, now_ms: int, overlap_ms: int) -> Key:
    """The old key, which works until its overlap with the new one is over."""
    return replace(key, expires_at_ms=min(now_ms + overlap_ms, key.expires_at_ms or MOMENT_MAX_MS))


def operator_link(hashing: KeyedHash, nonce: str, expires_at_ms: int) -> str:
    """A one-time secret that can be made beside a running platform: it proves itself, and its use is kept.

    `nonce` is a ULID.
    """
    said = f"{expires_at_ms:x}.{nonce}"
    return f"{said}.{hashing.digest('operator-link', said)}"


def check_operator_link(hashing: KeyedHash, text: str, now_ms: int) -> int:
    """When it expires. Raises `Refused`: `not_found`, `link_expired`."""
    found = _OPERATOR_LINK.fullmatch(text)
    if found is None or not hmac.compare_digest(hashing.digest("operator-link", found[1]), found[2]):
        raise Refused("not_found", "there is no such link")
    expires_at_ms = int(found[1].partition(".")[0], 16)
    if expires_at_ms <= now_ms:
        raise Refused("link_expired", "the link has expired: `earnest keys operator-link` makes another")
    return expires_at_ms
