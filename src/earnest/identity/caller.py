"""The caller of a request: what a key proved, and nothing that a body says."""

from dataclasses import dataclass
from enum import StrEnum

from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind, AccountStatus


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
