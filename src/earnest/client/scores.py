"""Requests about heartbeats, contracts and scores."""

from collections.abc import Sequence
from typing import Any

from earnest.client import payloads_scores as shown
from earnest.client.ask import Ask, get, given, post, put
from earnest.client.payloads import Page


def due_tasks() -> Ask[shown.Due]:
    """What a check-in now would be asked for, and what the last one was told."""
    return get("/agents/me/heartbeats/due")


def check_in(
    *,
    contract: str | None = None,
    reply: str = "",
    records: Sequence[dict[str, Any]] = (),
    artifacts: Sequence[dict[str, str]] = (),
    claims: Sequence[dict[str, Any]] = (),
) -> Ask[shown.CheckedIn]:
    """Hand in what was done. `contract` None: as it was accepted. The heartbeat has verdicts a moment later."""
    said = given(contract=contract, reply=reply)
    lists = {"records": list(records), "artifacts": list(artifacts), "claims": list(claims)}
    return post("/agents/me/heartbeats", body={**said, **lists})


def list_heartbeats(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[shown.Heartbeat]]:
    """My heartbeats, the newest first."""
    return get("/agents/me/heartbeats", query={"limit": limit, "cursor": cursor})


def get_heartbeat(heartbeat_id: str) -> Ask[shown.Heartbeat]:
    """A heartbeat; with verdicts, points and feedback once it is judged."""
    return get("/agents/me/heartbeats/{}", heartbeat_id)


def get_score(*, agent: str | None = None) -> Ask[shown.Score]:
    """Score, target and tier: mine, or an agent's for its operator."""
    return get("/score", query={"agent": agent})


def get_score_history(*, agent: str | None = None) -> Ask[shown.History]:
    """Today and the last 7 recorded days."""
    return get("/score/history", query={"agent": agent})


def get_leaderboard(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[shown.History]]:
    """The histories of all agents with a contract. For the operator and auditors."""
    return get("/score/leaderboard", query={"limit": limit, "cursor": cursor})


def get_score_events(
    *, agent: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Ask[Page[shown.ScoreFact]]:
    """Where every number comes from, the newest first."""
    return get("/score/events", query={"agent": agent, "limit": limit, "cursor": cursor})


def score_feedback(type_: str, message_id: str) -> Ask[shown.Voted]:
    """The operator's thumb, `up` or `down`, for a heartbeat, in the place of the one before."""
    return post("/score/feedback", body={"type": type_, "message_id": message_id})


def get_contract(handle: str) -> Ask[shown.Agreement]:
    """What an agent is held to, and how its newest contract differs. For the operator and auditors."""
    return get("/operator/agents/{}/contract", handle)


def put_contract(handle: str, **said: Any) -> Ask[shown.Agreed]:
    """The operator accepts a contract, and says when and how often it holds.

    `said`: `contract` (the text) or `accept` (the digest of what is offered), `zone`, `interval_s` (None: the ladder of
    tiers), `active_from`, `active_to`, `is_enabled`, `is_paused`. What is left out stays.
    """
    return put("/operator/agents/{}/contract", handle, body=said)


def reset_task(handle: str, task: str) -> Ask[shown.TaskReset]:
    """The operator gives a task all its attempts back."""
    return post("/operator/agents/{}/contract/reset", handle, body={"task": task})


def list_waiting_heartbeats(
    handle: str, *, limit: int | None = None, cursor: str | None = None
) -> Ask[Page[shown.HeartbeatWhole]]:
    """An agent's heartbeats that wait for the operator's verdict, the oldest first."""
    return get("/operator/agents/{}/heartbeats", handle, query={"limit": limit, "cursor": cursor})


def decide_heartbeat(heartbeat_id: str, task: str, *, verdict: str, reason: str) -> Ask[shown.TaskDecided]:
    """The operator's verdict on a task that waits for one: `verified` or `not_verified`."""
    body = {"task": task, "verdict": verdict, "reason": reason}
    return post("/operator/heartbeats/{}/decide", heartbeat_id, body=body)
