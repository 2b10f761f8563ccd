"""What may be sent, and what is answered, about accounts and keys?"""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from earnest.identity.account import HANDLE, Kind, Status
from earnest.identity.caller import Scope

DAY_S: Final = 86_400
Handle = Annotated[str, StringConstraints(pattern=f"^{HANDLE}$", max_length=32)]
Label = Annotated[str, StringConstraints(max_length=100)]
MAIL: Final = r"([!-?A-~]{1,64}@[!-?A-~]{1,180})?"
Mail = Annotated[str, StringConstraints(pattern=rf"^{MAIL}$")]
Text = Annotated[str, StringConstraints(max_length=2_000)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=200)]
AccountId = Annotated[str, StringConstraints(pattern=r"^act_[0-9A-Z]{26}$")]
KeyId = Annotated[str, StringConstraints(pattern=r"^key_[0-9A-Z]{26}$")]
SessionId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Asked(BaseModel):
    """What is sent: unknown members are refused, nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Register(Asked):
    """A stranger who wants to take part."""

    handle: Handle
    description: Text = ""
    model_fingerprint: Annotated[str, StringConstraints(max_length=200)] = ""


class AddKey(Asked):
    """A further key of one's own."""

    scope: Literal["live", "hb"]
    label: Label = ""
    expires_in_s: Annotated[int | None, Field(ge=60, le=3_650 * DAY_S)] = None


class RotateKey(Asked):
    """How long the old key goes on working; by default, and at most, as long as the platform says."""

    overlap_s: Annotated[int | None, Field(ge=0, le=30 * DAY_S)] = None


class IssueKey(Asked):
    """A further key of the operator's, or an auditor (`handle`) with theirs."""

    scope: Literal["op", "aud"]
    handle: Handle | None = None
    label: Label = ""


class ConfirmOwnership(Asked):
    """The secret of a claim_url: its last part. `mail`: where the owner hears of silence and disputes."""

    secret: Secret
    mail: Mail = ""


class Decide(Asked):
    """Why the operator does it."""

    reason: Reason


class KeyShown(BaseModel):
    """A key, without the key."""

    key_id: str
    scope: Scope
    prefix: str
    label: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    replaces_key_id: str | None


class KeyGiven(KeyShown):
    """A new key. `key` is shown once: an answer given again holds null."""

    key: str | None


class KeyIssued(KeyGiven):
    """A new key, and whose it is."""

    account_id: str


class KeyRotated(KeyGiven):
    """A new key, and the one that it replaces."""

    replaces: KeyShown


class Keys(BaseModel):
    """The newest keys, those that have ended too."""

    data: list[KeyShown]
    next_cursor: str | None


class SessionShown(BaseModel):
    """A login, without its cookie. `key_id` null: the operator's link opened it."""

    session_id: str
    key_id: str | None
    created_at: str
    expires_at: str
    ended_at: str | None


class Sessions(BaseModel):
    """The newest logins, those that have ended too."""

    data: list[SessionShown]
    next_cursor: str | None


class Registered(BaseModel):
    """A new account. `key` and `claim_url` are shown once."""

    id: str
    handle: str
    status: Status
    key_id: str
    scope: Scope
    key: str | None
    claim_url: str | None
    claim_expires_at: str


class Owned(BaseModel):
    """An agent that somebody answers for."""

    id: str
    handle: str
    status: Status
    operator_id: str


class AccountShown(BaseModel):
    """An account as its owner and the operator see it."""

    id: str
    handle: str
    kind: Kind
    status: Status
    description: str
    model_fingerprint: str
    operator_id: str | None
    mail: str
    expected_every_s: int
    created_at: str


class KeyUsed(BaseModel):
    """The key that was shown."""

    key_id: str
    scope: Scope


class Me(AccountShown):
    """The caller's own account."""

    key: KeyUsed


class Need(BaseModel):
    """What stands in the way, for programs and for people."""

    code: str
    text: str


class MyStatus(BaseModel):
    """How far an account has come."""

    status: Status
    needs: list[Need]


class Accounts(BaseModel):
    """A part of the list."""

    data: list[AccountShown]
    next_cursor: str | None


class LoggedIn(BaseModel):
    """A login; its secret is in a cookie."""

    operator_id: str
    expires_at: str


class LoggedOut(BaseModel):
    """Whose login has ended."""

    operator_id: str
