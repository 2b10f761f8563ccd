"""Scores and where each number comes from: by indexes, so quick whatever was booked before."""

import json
from collections.abc import Mapping
from typing import Any, Final

from earnest.accountability.asking import AskedTask
from earnest.accountability.days import TARGET_MIN, Day, date_of, day_id
from earnest.accountability.heartbeat import Heartbeat
from earnest.accountability.points import POINTS
from earnest.accountability.rows import AGREEMENTS, DAYS, HEARTBEATS
from earnest.accountability.score import Score, subject_of
from earnest.accountability.tiers import ends_when, interval_s
from earnest.accountability.verdicts import TaskVerdict, asked_in, verdicts_in
from earnest.client import payloads_scores as shown
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.homes.given import Duty
from earnest.market.homes.home import market_pace
from earnest.market.terms import Terms
from earnest.views.home import read_duty, read_home

ZONE: Final = "UTC"
HISTORY_DAYS: Final = 7
_EVENTS: Final = "SELECT seq, at_ms, body FROM facts WHERE subject = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
_NEWEST: Final = 2**62
_LAST: Final = "~"
"""After every id."""


def show_score(reader: BooksReader, account_id: str, now_ms: int, terms: Terms) -> shown.Score:
    """`GET /score` of one agent. Raises `Refused("not_found")`."""
    read = read_home(reader, account_id, now_ms, with_jobs=False, as_buyer=False)
    duty, score, day = _standing(read.duty, account_id, now_ms)
    cadence_s, boundary_s = market_pace(read, now_ms, terms)
    return {
        "today": day_json(day, score.floor),
        "tier": {
            "penalty": score.penalty.value,
            "reward": score.reward.value,
            "since": rfc3339_s(score.tier_since_ms),
            "ends_when": ends_when(score.penalty, score.reward, day.target, score.streak),
        },
        "interval_s": interval_s(None if duty is None else duty.interval_s, cadence_s, boundary_s),
        "lifetime": {
            "verified": score.verified,
            "failed": score.failed,
            "points": score.points,
            "best": score.best,
            "worst": score.worst,
            "streak": score.streak,
            "longest": score.longest,
            "days": score.days,
        },
    }


def show_history(reader: BooksReader, account_id: str, now_ms: int) -> shown.History:
    """Today and the last 7 days with a record, the newest first, each with its own target."""
    _, score, day = _standing(read_duty(reader, account_id, now_ms), account_id, now_ms)
    before = "account_id = ? AND date < ? ORDER BY date DESC LIMIT ?"
    days = DAYS.where(reader, before, (account_id, day.date, HISTORY_DAYS))
    (handle,) = reader.execute("SELECT handle FROM accounts WHERE id = ?", (account_id,)).fetchone()
    return {
        "account_id": account_id,
        "handle": handle,
        "today": day_json(day, score.floor),
        "days": [day_json(each, each.floor) for each in days],
    }


def list_histories(reader: BooksReader, now_ms: int, after: str, limit: int) -> list[shown.History]:
    """The histories of all agents that have shown a contract, by account."""
    ids = "SELECT account_id FROM agreements WHERE account_id > ? ORDER BY account_id LIMIT ?"
    found = reader.execute(ids, (after, limit)).fetchall()
    return [show_history(reader, account_id, now_ms) for (account_id,) in found]


def leading(history: shown.History) -> tuple[int, str]:
    """How a leaderboard is ordered: by the part of today's target that is reached, then by handle."""
    return -(history["today"]["score"] * 1_000_000 // history["today"]["target"]), history["handle"]


def list_events(reader: BooksReader, account_id: str, before: str, limit: int) -> list[shown.ScoreFact]:
    """What was booked, the newest first: for each fact the rule, task and points of every part of it."""
    last = min(int(before), _NEWEST) if before else _NEWEST
    rows = reader.execute(_EVENTS, (subject_of(account_id), last, limit)).fetchall()
    return [_event(seq, at_ms, json.loads(body)) for seq, at_ms, body in rows]


def list_heartbeats(reader: BooksReader, account_id: str, before: str, limit: int) -> list[shown.Heartbeat]:
    """Somebody's heartbeats, the newest first."""
    where = "account_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
    return [heartbeat_json(one) for one in HEARTBEATS.where(reader, where, (account_id, before or _LAST, limit))]


def waiting_heartbeats(
    reader: BooksReader, account_id: str, after: str, limit: int, *, sees_measured: bool
) -> list[shown.HeartbeatWhole]:
    """The operator's queue: heartbeats of one agent with tasks that wait for a verdict, the oldest first, whole."""
    where = "account_id = ? AND waiting > 0 AND id > ? ORDER BY id LIMIT ?"
    return [
        _whole(one, sees_measured=sees_measured) for one in HEARTBEATS.where(reader, where, (account_id, after, limit))
    ]


def show_heartbeat(
    reader: BooksReader, heartbeat_id: str, account_id: str, *, sees_all: bool, sees_measured: bool = False
) -> shown.Heartbeat:
    """A heartbeat, for whose it is and for those who see all. Raises `Refused("not_found")`."""
    found = HEARTBEATS.get(reader, heartbeat_id)
    if found is None or not (sees_all or found.account_id == account_id):
        raise Refused("not_found", f"there is no heartbeat {heartbeat_id[:80]!r}, or you may not know of it")
    return _whole(found, sees_measured=sees_measured) if sees_all else heartbeat_json(found)


def show_agreement(reader: BooksReader, account_id: str) -> shown.Agreement:
    """What an agent is held to, for its operator. Raises `Refused("not_found")`."""
    found = AGREEMENTS.get(reader, account_id)
    if found is None:
        raise Refused("not_found", "the agent has shown no contract")
    return {
        "account_id": found.account_id,
        "contract": found.text,
        "digest": found.digest,
        "pinned_at": rfc3339_s(found.pinned_at_ms),
        "pinned_by": found.pinned_by,
        "offered": found.offered or None,
        "weakened": json.loads(found.weakened),
        "zone": found.zone,
        "interval_s": found.interval_s,
        "active_from": found.active_from,
        "active_to": found.active_to,
        "is_enabled": found.is_enabled,
        "is_paused": found.is_paused,
        "possible": found.possible,
        "exhausted": json.loads(found.exhausted),
        "next_wake_at": rfc3339_s(found.next_wake_ms),
        "skipped": None
        if found.skipped_at_ms is None
        else {"reason": found.skip, "at": rfc3339_s(found.skipped_at_ms)},
    }


def heartbeat_json(heartbeat: Heartbeat, *, sees_measured: bool = False) -> shown.Heartbeat:
    """What an agent is told of one of its heartbeats. Verdicts and what follows are there once it is judged.

    `sees_measured`: for the operator, whose world was measured.
    """
    asked = asked_in(heartbeat)
    verdicts = {one.task: one for one in verdicts_in(heartbeat)}
    return {
        "heartbeat_id": heartbeat.id,
        "account_id": heartbeat.account_id,
        "state": heartbeat.state.value,
        "at": rfc3339_s(heartbeat.at_ms),
        "date": heartbeat.date,
        "judged_at": rfc3339_s(heartbeat.judged_at_ms),
        "points": heartbeat.points,
        "tasks": [_task(one, verdicts.get(one.id), sees_measured=sees_measured) for one in asked],
        "outcome": json.loads(heartbeat.outcome) or None,
    }


def day_json(day: Day, floor: int) -> shown.Day:
    """One day, as `today` of `GET /score`."""
    return {
        "date": day.date,
        "zone": day.zone,
        "score": day.score,
        "target": day.target,
        "floor": floor,
        "verified": day.verified,
        "failed": day.failed,
        "unclear": day.unclear,
        "contradictions": day.contradictions,
        "peak": day.peak,
        "lowest": day.lowest,
        "target_reached": day.target_reached,
        "possible": day.possible,
    }


def _standing(duty: Duty | None, account_id: str, now_ms: int) -> tuple[Duty | None, Score, Day]:
    if duty is not None:
        return duty, duty.score, duty.day
    date = date_of(now_ms, ZONE)
    day = Day(
        id=day_id(account_id, date), account_id=account_id, date=date, zone=ZONE, target=TARGET_MIN, floor=TARGET_MIN
    )
    return None, Score(account_id=account_id), day


def _whole(heartbeat: Heartbeat, *, sees_measured: bool) -> shown.HeartbeatWhole:
    """With what was handed in."""
    return {
        **heartbeat_json(heartbeat, sees_measured=sees_measured),
        "reply": heartbeat.reply,
        "records": json.loads(heartbeat.records),
        "artifacts": json.loads(heartbeat.artifacts),
        "claims": json.loads(heartbeat.claims),
    }


def _task(asked: AskedTask, verdict: TaskVerdict | None, *, sees_measured: bool) -> shown.TaskJudged:
    told = "" if verdict is None else (sees_measured and verdict.for_operator) or verdict.reason
    return {
        "id": asked.id,
        "description": asked.description,
        "required": asked.is_required or asked.is_forced,
        "forced": asked.is_forced,
        "accepted": asked.is_accepted,
        "attempt": asked.attempt,
        "max_attempts": asked.max_attempts,
        "verdict": None if verdict is None else verdict.answer.value,
        "cause": None if verdict is None or verdict.cause is None else verdict.cause.value,
        "reason": None if verdict is None else told,
        "contradiction": verdict is not None and verdict.contradiction,
        "waits": verdict is not None and verdict.waits,
        "rules": [] if verdict is None else [{"rule": rule.value, "points": POINTS[rule]} for rule in verdict.rules],
        "points": 0 if verdict is None else verdict.points,
    }


def _event(seq: int, at_ms: int, body: Mapping[str, Any]) -> shown.ScoreFact:
    return {
        "fact": seq,
        "at": rfc3339_s(at_ms),
        "date": body["date"],
        "source": body["source"],
        "points": sum(one["points"] for one in body["events"]),
        "events": body["events"],
    }
