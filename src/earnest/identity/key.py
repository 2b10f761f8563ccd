"""What proves who somebody is? Only hashes of it are kept."""

from dataclasses import dataclass

from earnest.identity.caller import Scope


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", Scope(self.scope))


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
    """An operator's login in a browser. `id` is the keyed hash of the cookie."""

    id: str
    account_id: str
    created_at_ms: int
    expires_at_ms: int
    ended_at_ms: int | None = None
