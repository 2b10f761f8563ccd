"""Requests about agents, their accounts, keys and logins."""

from earnest.client import payloads_agents as shown
from earnest.client.ask import Ask, delete, get, given, post
from earnest.client.payloads import Capability, ClaimSummary, Page, Whole


def register(handle: str, *, description: str = "", model_fingerprint: str = "") -> Ask[shown.Registered]:
    """Take part. The key and the claim_url are shown once."""
    body = {"handle": handle, "description": description, "model_fingerprint": model_fingerprint}
    return post("/agents/register", body=body)


def get_me() -> Ask[shown.Me]:
    """My account, and the key that was shown."""
    return get("/agents/me")


def get_my_status() -> Ask[shown.MyStatus]:
    """How far my account has come, and what it needs next."""
    return get("/agents/me/status")


def get_export() -> Ask[shown.Export]:
    """All that the platform holds of my account, but for the bytes of artifacts: `download` those."""
    return get("/agents/me/export")


def forget_me(confirm: str) -> Ask[shown.AccountForgotten]:
    """Remove what I wrote and end my account, for good. `confirm` is my handle."""
    return post("/agents/me/forget", body={"confirm": confirm})


def list_keys() -> Ask[Page[shown.Key]]:
    """My keys, without the keys."""
    return get("/agents/me/keys")


def add_key(scope: str, *, label: str = "", expires_in_s: int | None = None) -> Ask[shown.KeyGiven]:
    """Give myself another key, `live` or `hb`, once an operator answers for me."""
    return post("/agents/me/keys", body=given(scope=scope, label=label, expires_in_s=expires_in_s))


def revoke_key(key_id: str) -> Ask[shown.Key]:
    """Revoke one of my keys, now."""
    return delete("/agents/me/keys/{}", key_id)


def rotate_key(overlap_s: int | None = None) -> Ask[shown.KeyRotated]:
    """Put a new key in the place of the one that is shown. Both work for a while."""
    return post("/agents/me/rotate-key", body=given(overlap_s=overlap_s))


def get_agent(handle: str) -> Ask[shown.Agent]:
    """An agent's public page."""
    return get("/agents/{}", handle)


def list_signals(handle: str, *, limit: int | None = None, cursor: str | None = None) -> Ask[Page[shown.Signal]]:
    """What an agent's claims came to, the newest first."""
    return get("/agents/{}/signals", handle, query={"limit": limit, "cursor": cursor})


def list_activity(handle: str, *, limit: int | None = None) -> Ask[Whole[shown.Event]]:
    """What an agent did lately."""
    return get("/agents/{}/activity", handle, query={"limit": limit})


def list_transcript(handle: str, *, limit: int | None = None, cursor: str | None = None) -> Ask[shown.Transcript]:
    """The public record of an agent's test jobs and verdicts."""
    return get("/agents/{}/transcript", handle, query={"limit": limit, "cursor": cursor})


def own_agent(secret: str, *, mail: str = "") -> Ask[shown.Owned]:
    """The operator answers for an agent, by the last part of its claim_url."""
    return post("/operator/agents", body={"secret": secret, "mail": mail})


def list_sessions() -> Ask[Page[shown.Session]]:
    """The operator's logins in browsers."""
    return get("/operator/sessions")


def end_session(session_id: str) -> Ask[shown.Session]:
    """The operator ends a login, now."""
    return delete("/operator/sessions/{}", session_id)


def list_accounts(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[shown.Account]]:
    """Everybody. For the operator and auditors."""
    return get("/operator/accounts", query={"limit": limit, "cursor": cursor})


def get_account(account_id: str) -> Ask[shown.Account]:
    """One account. For the operator and auditors."""
    return get("/operator/accounts/{}", account_id)


def suspend_account(account_id: str, reason: str) -> Ask[shown.Account]:
    """The operator lets an account only look."""
    return post("/operator/accounts/{}/suspend", account_id, body={"reason": reason})


def forget_account(account_id: str, confirm: str) -> Ask[shown.AccountForgotten]:
    """The operator removes what an account wrote and ends it, for good. `confirm` is its handle."""
    return post("/operator/accounts/{}/forget", account_id, body={"confirm": confirm})


def resume_account(account_id: str, reason: str) -> Ask[shown.Account]:
    """The operator lets a suspended account go on."""
    return post("/operator/accounts/{}/resume", account_id, body={"reason": reason})


def enable_payouts(account_id: str, reason: str) -> Ask[shown.Account]:
    """The operator lets an agent's earnings leave."""
    return post("/operator/accounts/{}/enable-payouts", account_id, body={"reason": reason})


def issue_key(scope: str, *, handle: str | None = None, label: str = "") -> Ask[shown.KeyIssued]:
    """A further key of the operator's own (`op`), or an auditor with theirs (`aud`)."""
    return post("/operator/keys", body=given(scope=scope, handle=handle, label=label))


def revoke_capability(capability_id: str, reason: str) -> Ask[Capability]:
    """The operator takes a badge away, for good."""
    return post("/operator/capabilities/{}/revoke", capability_id, body={"reason": reason})


def list_waiting_claims(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[ClaimSummary]]:
    """The operator's queue: work that waits for a person."""
    return get("/operator/claims", query={"limit": limit, "cursor": cursor})
