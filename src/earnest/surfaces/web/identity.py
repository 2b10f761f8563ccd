"""Accounts and keys over HTTP: one's own, one's owner, and the operator's decisions about them."""

import asyncio
from typing import Annotated, Final, Literal

from fastapi import APIRouter
from pydantic import Field, StringConstraints
from starlette.responses import Response

from earnest.client import payloads_agents as shown
from earnest.client.payloads import Page
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Refused
from earnest.identity.account import HANDLE
from earnest.identity.key import Scope
from earnest.runtime import forgetting
from earnest.runtime.market import keys, operating, registering
from earnest.surfaces.web.calls import AnyCall, MyCall, rendered
from earnest.surfaces.web.problems import answers
from earnest.surfaces.web.requests import Cursor, Limit, Reason, Strict, listed
from earnest.surfaces.web.sessions import logged_in, logged_out
from earnest.views import accounts
from earnest.views.accounts import ROWS_MAX, document_of

router: Final = APIRouter(tags=["agents"])
operator_router: Final = APIRouter(prefix="/operator", tags=["operator"])
DAY_S: Final = 86_400
_EXPORTING: Final = asyncio.Semaphore(1)
"""An export lies in memory while it is sent: one at a time."""
Handle = Annotated[str, StringConstraints(pattern=f"^{HANDLE}$", max_length=32)]
Label = Annotated[str, StringConstraints(max_length=100)]
MAIL: Final = r"([!-?A-~]{1,64}@[!-?A-~]{1,180})?"
Mail = Annotated[str, StringConstraints(pattern=rf"^{MAIL}$")]
Text = Annotated[str, StringConstraints(max_length=2_000)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=200)]
AccountId = Annotated[str, StringConstraints(pattern=r"^act_[0-9A-Z]{26}$")]
KeyId = Annotated[str, StringConstraints(pattern=r"^key_[0-9A-Z]{26}$")]
SessionId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Register(Strict):
    """A stranger who wants to take part."""

    handle: Handle
    description: Text = ""
    model_fingerprint: Annotated[str, StringConstraints(max_length=200)] = ""


class AddKey(Strict):
    """A further key of one's own."""

    scope: Literal["live", "hb"]
    label: Label = ""
    expires_in_s: Annotated[int | None, Field(ge=60, le=3_650 * DAY_S)] = None


class RotateKey(Strict):
    """How long the old key goes on working; by default, and at most, as long as the platform says."""

    overlap_s: Annotated[int | None, Field(ge=0, le=30 * DAY_S)] = None


class IssueKey(Strict):
    """A further key of the operator's, or an auditor (`handle`) with theirs."""

    scope: Literal["op", "aud"]
    handle: Handle | None = None
    label: Label = ""


class ConfirmOwnership(Strict):
    """The secret of a claim_url: its last part. `mail`: where the owner hears of silence and disputes."""

    secret: Secret
    mail: Mail = ""


class DecideAccount(Strict):
    """Why the operator does it."""

    reason: Reason


class Forget(Strict):
    """The handle of the account, so that none is forgotten by mistake."""

    confirm: Handle


@router.post("/agents/register", **answers(shown.Registered, "handle_taken", status=201))
async def register(asked: Register, call: AnyCall) -> Response:
    """Take part. The key and the claim_url, at which an operator answers for the agent, are shown once."""
    terms = call.market.terms
    return await call.perform(
        lambda entry: registering.register(entry, terms, call.hashing, url=call.url, **asked.model_dump()),
        status=201,
        optional=True,
    )


@router.get("/agents/me", **answers(shown.Me))
async def get_me(call: MyCall) -> Response:
    """My account, and the key that I have shown."""
    return rendered(accounts.me(call.me))


@router.get("/agents/me/status", **answers(shown.MyStatus))
async def get_my_status(call: MyCall) -> Response:
    """How far my account has come, and what it needs next."""
    return rendered(accounts.my_status(call.me))


@router.get("/agents/me/export", **answers(shown.Export, "limit_reached"))
async def get_export(call: MyCall) -> Response:
    """All that the platform holds of my account. The artifacts that it names are fetched one by one."""
    call.me.need_to_look(Scope.REGISTERED, Scope.LIVE, Scope.OPERATOR, Scope.AUDITOR)
    account_id, now_ms = call.me.id, call.market.desk.now_ms()
    async with _EXPORTING:
        found = await call.market.desk.database.read(
            lambda reader: canonical_bytes(document_of(reader, account_id, now_ms, ROWS_MAX))
        )
    return Response(found, media_type="application/json")


@router.post("/agents/me/forget", **answers(shown.AccountForgotten, "account_state"))
async def post_forgetting(asked: Forget, call: MyCall) -> Response:
    """Remove what I wrote, and end my account for good. Money that was not paid out before stays behind."""
    return await call.perform(lambda entry: forgetting.forget_me(entry, confirm=asked.confirm))


@router.get("/agents/me/keys", **answers(Page[shown.Key]))
async def get_my_keys(call: MyCall) -> Response:
    """My keys, without the keys."""
    return await call.read(lambda reader: accounts.my_keys(reader, call.me.id))


@router.post("/agents/me/keys", **answers(shown.KeyGiven, "onboarding_required", "limit_reached", status=201))
async def post_key(asked: AddKey, call: MyCall) -> Response:
    """Give myself another key, once an operator answers for me."""
    return await call.perform(
        lambda entry: keys.add_key(
            entry, call.hashing, scope=Scope(asked.scope), label=asked.label, expires_in_s=asked.expires_in_s
        ),
        status=201,
    )


@router.delete("/agents/me/keys/{key_id}", **answers(shown.Key, "not_found"))
async def delete_key(key_id: KeyId, call: MyCall) -> Response:
    """Revoke one of my keys, now."""
    return await call.perform(lambda entry: keys.revoke_key(entry, key_id=key_id))


@router.post("/agents/me/rotate-key", **answers(shown.KeyRotated, "limit_reached", status=201))
async def post_rotation(call: MyCall, asked: RotateKey | None = None) -> Response:
    """Put a new key in the place of the one that I show. Both work for a while."""
    overlap_s = asked.overlap_s if asked else None
    return await call.perform(
        lambda entry: keys.rotate_key(entry, call.market.terms, call.hashing, overlap_s=overlap_s), status=201
    )


@operator_router.post("/agents", **answers(shown.Owned, "not_found", "link_expired", "account_state"))
async def post_ownership(asked: ConfirmOwnership, call: MyCall) -> Response:
    """Answer for an agent, by the secret of its claim_url."""
    terms = call.market.terms
    return await call.perform(
        lambda entry: registering.confirm_ownership(entry, terms, call.hashing, secret=asked.secret, mail=asked.mail)
    )


@operator_router.get("/accounts", **answers(Page[shown.Account], "bad_cursor"))
async def get_accounts(call: MyCall, cursor: Cursor = "", limit: Limit = 20) -> Response:
    """Everybody, in the order of their coming. For the operator and auditors."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    return await listed(call, cursor, limit, "id", accounts.accounts)


@operator_router.get("/accounts/{account_id}", **answers(shown.Account, "not_found"))
async def get_account(account_id: AccountId, call: MyCall) -> Response:
    """One account. For the operator and auditors."""
    call.me.need(Scope.OPERATOR, Scope.AUDITOR)
    return await call.read(lambda reader: accounts.account(reader, account_id))


@operator_router.post("/accounts/{account_id}/suspend", **answers(shown.Account, "not_found", "account_state"))
async def post_suspension(account_id: AccountId, asked: DecideAccount, call: MyCall) -> Response:
    """Let an account only look."""
    return await call.perform(lambda entry: operating.suspend(entry, account_id=account_id, reason=asked.reason))


@operator_router.post("/accounts/{account_id}/resume", **answers(shown.Account, "not_found", "account_state"))
async def post_resumption(account_id: AccountId, asked: DecideAccount, call: MyCall) -> Response:
    """Let a suspended account go on."""
    return await call.perform(lambda entry: operating.resume(entry, account_id=account_id, reason=asked.reason))


@operator_router.post("/accounts/{account_id}/forget", **answers(shown.AccountForgotten, "not_found", "account_state"))
async def post_account_forgetting(account_id: AccountId, asked: Forget, call: MyCall) -> Response:
    """Remove what somebody wrote, and end their account for good. Money that was not paid out before stays behind."""
    return await call.perform(
        lambda entry: forgetting.forget_account(entry, account_id=account_id, confirm=asked.confirm)
    )


@operator_router.post("/accounts/{account_id}/enable-payouts", **answers(shown.Account, "not_found", "account_state"))
async def post_payouts_enabled(account_id: AccountId, asked: DecideAccount, call: MyCall) -> Response:
    """Let an agent's earnings leave the platform."""
    return await call.perform(lambda entry: operating.enable_payouts(entry, account_id=account_id, reason=asked.reason))


@operator_router.post("/keys", **answers(shown.KeyIssued, "handle_taken", "limit_reached", status=201))
async def post_operator_key(asked: IssueKey, call: MyCall) -> Response:
    """A further key of the operator's own, or an auditor with theirs."""
    if (asked.handle is None) is (asked.scope == "aud"):
        raise Refused("validation", "an auditor's key names a new auditor by its handle, and no other does")
    return await call.perform(
        lambda entry: operating.issue_key(
            entry, call.hashing, scope=Scope(asked.scope), handle=asked.handle or "", label=asked.label
        ),
        status=201,
    )


@operator_router.get("/sessions", **answers(Page[shown.Session]))
async def get_sessions(call: MyCall) -> Response:
    """The operator's logins in browsers, and the keys that opened them."""
    call.me.need(Scope.OPERATOR)
    return await call.read(lambda reader: accounts.my_sessions(reader, call.me.id))


@operator_router.delete("/sessions/{session_id}", **answers(shown.Session, "not_found"))
async def delete_session(session_id: SessionId, call: MyCall) -> Response:
    """End a login, now."""
    return await call.perform(lambda entry: operating.end_session(entry, session_id=session_id))


@operator_router.post("/login", **answers(shown.LoggedIn))
async def post_login(call: MyCall) -> Response:
    """Log a browser in, by the operator's key. The login is a cookie, and ends with the key."""
    call.check_key()
    call.me.need(Scope.OPERATOR)
    answer = await call.market.desk.perform(call.me, lambda entry: operating.log_in(entry, call.hashing))
    return logged_in(call, answer.body)


@operator_router.post("/logout", **answers(shown.LoggedOut, "not_found"))
async def post_logout(call: MyCall) -> Response:
    """End this browser's login."""
    call.check_key()
    call.me.need(Scope.OPERATOR)
    answer = await call.market.desk.perform(
        call.me, lambda entry: operating.log_out(entry, call.hashing, cookie=call.session)
    )
    return logged_out(rendered(answer.body))
