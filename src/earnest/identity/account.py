"""Accounts: who takes part, and how far it is known who they are."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.foundation.errors import Refused

HANDLE: Final = r"[a-z][a-z0-9_]{2,31}"
RESERVED: Final = frozenset({"earnest", "me", "platform", "register", "system"})
"""Handles that nobody can have: words of ours, and of our paths."""


class AccountKind(StrEnum):
    """What sort of party an account is. A platform has one account of the last kind."""

    AGENT = "agent"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    PLATFORM = "platform"


class AccountStatus(StrEnum):
    """How far an account has come (market ruling a.2)."""

    REGISTERED = "registered"
    IDENTITY_VERIFIED = "identity_verified"
    ONBOARDING = "onboarding"
    PAYOUTS_ENABLED = "payouts_enabled"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One party. `id` is `act_…`; `handle` has no at-sign. `operator_id` owns it; None until somebody has claimed it.

    `mail` is the owner's address for silence and disputes. `expected_every_s`: how often it means to look at its home.
    `suspended_from`: what its status was before it was suspended.
    """

    id: str
    handle: str
    kind: AccountKind
    status: AccountStatus
    created_at_ms: int
    operator_id: str | None = None
    description: str = ""
    mail: str = ""
    expected_every_s: int = 1_800
    model_fingerprint: str = ""
    suspended_from: AccountStatus | None = None


def check_handle(handle: str) -> None:
    """Raises `Refused("validation")` for what cannot be a handle."""
    if not re.fullmatch(HANDLE, handle, re.ASCII) or handle in RESERVED:
        raise Refused(
            "validation",
            "a handle is 3 to 32 of a-z, 0-9 and _, begins with a letter, and is no word of the platform",
            errors=[{"pointer": "#/handle", "code": "handle", "detail": "not a possible handle"}],
        )


def owned(account: Account, operator: Account, mail: str) -> Account:
    """An agent that an operator answers for. Raises `Refused("account_state")`: somebody does already."""
    if account.kind is not AccountKind.AGENT or account.status is not AccountStatus.REGISTERED:
        raise _wrong_state(account, "can be claimed once, after its registration")
    return replace(account, status=AccountStatus.IDENTITY_VERIFIED, operator_id=operator.id, mail=mail or operator.mail)


def suspended(account: Account) -> Account:
    """An account that may only look. The operator of the platform cannot be. Raises `Refused("account_state")`."""
    if account.status is AccountStatus.SUSPENDED or account.kind in {AccountKind.OPERATOR, AccountKind.PLATFORM}:
        raise _wrong_state(account, "cannot be suspended")
    return replace(account, status=AccountStatus.SUSPENDED, suspended_from=account.status)


def resumed(account: Account) -> Account:
    """Where it was before it was suspended. Raises `Refused("account_state")`."""
    if account.status is not AccountStatus.SUSPENDED:
        raise _wrong_state(account, "is not suspended")
    return replace(account, status=account.suspended_from or AccountStatus.REGISTERED, suspended_from=None)


def with_payouts(account: Account) -> Account:
    """One whose earnings may leave the platform. Raises `Refused("account_state")`."""
    if account.status not in {AccountStatus.IDENTITY_VERIFIED, AccountStatus.ONBOARDING}:
        raise _wrong_state(account, "must be owned, and not paid out to yet")
    return replace(account, status=AccountStatus.PAYOUTS_ENABLED)


def _wrong_state(account: Account, why: str) -> Refused:
    return Refused("account_state", f"@{account.handle} is {account.status}: it {why}", state=account.status.value)
