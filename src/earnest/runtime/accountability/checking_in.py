"""An agent's check-in: the gate, what it was asked for, and what it hands in.

Nothing is decided here but the gates: the sidecar judges what was handed in, and finds it in the books.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from earnest.accountability.agreement import FIRST_USE, Agreement, possible_of, with_progress
from earnest.accountability.asking import AskedTask, Moment, asked_for, begun, weakenings
from earnest.accountability.days import date_of
from earnest.accountability.gate import Skip, closed_gate, minute_of
from earnest.accountability.heartbeat import CheckInState, Heartbeat, is_acknowledgement
from earnest.accountability.score import Score
from earnest.accountability.service import AGREEMENTS, BEING_JUDGED, HEARTBEATS, SCORES
from earnest.accountability.tiers import contract_interval_s, message_of
from earnest.accountability.verdicts import asked_in, decided_since, kept, verdicts_in
from earnest.client.payloads_scores import CheckedIn, Diagnostic, Due, TaskAsked
from earnest.contracts.heartbeat.task import HeartbeatContract
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_text
from earnest.foundation.errors import Refused
from earnest.foundation.instants import SECOND_MS, rfc3339_s
from earnest.identity.account import AccountKind
from earnest.identity.key import Caller, Scope
from earnest.market.claims.evidence import artifact_id
from earnest.market.service import ARTIFACTS
from earnest.runtime.accountability.booking import book
from earnest.runtime.accountability.deciding import read_contract, save_agreement
from earnest.runtime.desk import Prepared, StoryContext

RETRY_S: Final = 5
"""After a heartbeat that found another one being judged."""
ARTIFACTS_BYTES_MAX: Final = 64 * 1024 * 1024
"""Far below what can be taken in, so that nobody is judged by nothing for having handed in too much."""
DIAGNOSTICS_MAX: Final = 100
TOLD_BACK_MAX: Final = 20
"""Heartbeats of which the agent is told what the operator decided late."""
THREAD_BYTES_MIN: Final = 16 * 1024
"""A longer contract is read beside the requests."""


class TaskAssertion(NamedTuple):
    """What the agent says about one task: that it did it, and what it measured, by name."""

    task: str
    done: bool
    values: Mapping[str, bool | int | float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckIn:
    """What an agent sends. `contract` None: as it was accepted. `records`: what its tools did. `artifacts`: by path."""

    contract: str | None
    reply: str
    records: tuple[JsonObject, ...] = ()
    artifacts: Mapping[str, str]
    assertions: tuple[TaskAssertion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cycle:
    """One check-in that passed the gates: what was sent, the contract in it, and what it is measured by."""

    sent: CheckIn
    given: HeartbeatContract | None
    agreement: Agreement
    asked: tuple[AskedTask, ...]
    date: str


async def prepare_check_in(caller: Caller, sent: CheckIn) -> Prepared:
    """Read the contract; the act takes the check-in. Raises `Refused`: `scope_forbidden`, `too_large`, `validation`."""
    caller.need(Scope.LIVE, Scope.HEARTBEAT)
    if caller.account.kind is not AccountKind.AGENT:
        raise Refused("scope_forbidden", "agents check in")
    given = None if sent.contract is None else await _read(sent.contract)
    return lambda entry: check_in(entry, sent, given), ()


def check_in(entry: StoryContext, sent: CheckIn, given: HeartbeatContract | None) -> CheckedIn:
    """Take a check-in, or say which gate is closed.

    Raises `Refused`: `validation` for artifacts of somebody else, `too_large`.
    """
    entry.me.need(Scope.LIVE, Scope.HEARTBEAT)
    known = AGREEMENTS.get(entry.transaction, entry.me.id)
    agreement = known or _first_use(entry, sent.contract, given)
    score = SCORES.of(entry.transaction, entry.me.id)
    if agreement is None:
        return _skipped(Skip.NOTHING_TO_DO, given, _again_ms(None, score, entry.now_ms))
    asked = asked_of(agreement, score, given, entry.now_ms)
    skip = gate_of(entry.transaction, agreement, asked, entry.now_ms)
    if skip is not None:
        noted = replace(agreement, skip=skip.value, skipped_at_ms=entry.now_ms)
        save_agreement(entry, known, noted, event="skipped")
        again_ms = _again_ms(noted, score, entry.now_ms)
        return _skipped(skip, given, entry.now_ms + RETRY_S * SECOND_MS if skip is Skip.BUSY else again_ms)
    date = max(date_of(entry.now_ms, agreement.zone), score.date)
    cycle = _Cycle(sent=sent, given=given, agreement=agreement, asked=asked, date=date)
    heartbeat = _opened(entry, cycle)
    if date > score.date:
        score = book(entry, agreement, [], date=date, source=heartbeat.id).after
    after = save_agreement(entry, known, _under_way(cycle, score, entry.now_ms), event="asked")
    return {
        "heartbeat_id": heartbeat.id,
        "state": "verifying",
        "skip": None,
        "date": heartbeat.date,
        "acknowledged": is_acknowledgement(sent.reply),
        "tasks": [task_json(one) for one in asked],
        "weakened": json.loads(after.weakened),
        "diagnostics": _diagnostics(given),
        "next_check_in_after": rfc3339_s(_again_ms(after, score, entry.now_ms)),
    }


def due_now(reader: BooksReader, account_id: str, now_ms: int) -> Due:
    """What a check-in now would be asked for under the accepted contract, and what the last one was told."""
    agreement, score = AGREEMENTS.get(reader, account_id), SCORES.of(reader, account_id)
    asked = () if agreement is None else asked_of(agreement, score, None, now_ms)
    skip = Skip.NOTHING_TO_DO if agreement is None else gate_of(reader, agreement, asked, now_ms)
    interval_s = None if agreement is None else contract_interval_s(score.penalty, score.reward, agreement.interval_s)
    return {
        "skip": None if skip is None else skip.value,
        "tasks": [task_json(one) for one in asked],
        "penalty": score.penalty.value,
        "reward": score.reward.value,
        "message": message_of(score.penalty, score.reward),
        "interval_s": interval_s,
        "feedback": _feedback(reader, account_id),
        "next_wake_at": None if agreement is None else rfc3339_s(agreement.next_wake_ms),
    }


def _feedback(reader: BooksReader, account_id: str) -> list[str]:
    """What the newest judged heartbeat was told, and what was decided since about those before it."""
    last = "account_id = ? AND state = ? ORDER BY id DESC LIMIT ?"
    judged = list(HEARTBEATS.where(reader, last, (account_id, CheckInState.JUDGED.value, TOLD_BACK_MAX)))
    if not judged:
        return []
    newest, *older = judged
    told: list[str] = list(json.loads(newest.outcome)["feedback"])
    for one in older:
        asked = asked_in(one)
        verdicts = verdicts_in(one)
        told += decided_since(asked, verdicts, newest.at_ms)
    return told


def asked_of(agreement: Agreement, score: Score, given: HeartbeatContract | None, now_ms: int) -> tuple[AskedTask, ...]:
    """The tasks that are due now."""
    moment = Moment(
        now_ms=now_ms,
        date=max(date_of(now_ms, agreement.zone), score.date),
        is_wake=now_ms >= agreement.next_wake_ms,
        is_forced=score.is_forced,
        by_operator=agreement.pinned_by != FIRST_USE,
    )
    is_same = given is None or given.digest == agreement.digest
    tasks = None if is_same or given is None else given.tasks
    return asked_for(agreement.contract.tasks, tasks, agreement.progress_by_task(), moment)


def gate_of(reader: BooksReader, agreement: Agreement, asked: tuple[AskedTask, ...], now_ms: int) -> Skip | None:
    """The first gate that is closed at `now_ms`."""
    busy = (
        f"{BEING_JUDGED} AND account_id || '' = ? LIMIT 1"  # by the index of the few, not by that of all of an account
    )
    return closed_gate(
        is_enabled=agreement.is_enabled,
        is_paused=agreement.is_paused,
        hours=agreement.hours,
        minute=minute_of(now_ms, agreement.zone),
        is_busy=any(HEARTBEATS.where(reader, busy, (agreement.account_id,))),
        has_work=bool(asked),
    )


def task_json(asked: AskedTask) -> TaskAsked:
    """A task as the agent is told of it."""
    return {
        "id": asked.id,
        "description": asked.description,
        "verify": asked.verify,
        "required": asked.is_required or asked.is_forced,
        "forced": asked.is_forced,
        "accepted": asked.is_accepted,
        "structured": asked.is_structured,
        "weakened": asked.weakened or None,
        "attempt": asked.attempt,
        "max_attempts": asked.max_attempts,
    }


async def _read(text: str) -> HeartbeatContract:
    return read_contract(text) if len(text) < THREAD_BYTES_MIN else await asyncio.to_thread(read_contract, text)


def _first_use(entry: StoryContext, text: str | None, given: HeartbeatContract | None) -> Agreement | None:
    """The first contract that an agent shows is the one that it is held to, until its operator accepts another."""
    if text is None or given is None or not given.tasks:
        return None
    agreement = Agreement(
        account_id=entry.me.id,
        text=text,
        digest=given.digest,
        pinned_at_ms=entry.now_ms,
        pinned_by=FIRST_USE,
    )
    return replace(agreement, possible=possible_of(agreement, entry.now_ms))


def _opened(entry: StoryContext, cycle: _Cycle) -> Heartbeat:
    sent, agreement = cycle.sent, cycle.agreement
    size_bytes = sum(_size_bytes(entry, sha256) for sha256 in sent.artifacts.values())
    if size_bytes > ARTIFACTS_BYTES_MAX:
        raise Refused("too_large", f"the artifacts of a heartbeat have at most {ARTIFACTS_BYTES_MAX} bytes")
    heartbeat = Heartbeat(
        id=entry.new_id("hbt"),
        account_id=entry.me.id,
        at_ms=entry.now_ms,
        date=cycle.date,
        zone=agreement.zone,
        state=CheckInState.VERIFYING,
        contract_digest=agreement.digest if cycle.given is None else cycle.given.digest,
        asked=kept(cycle.asked),
        reply=sent.reply,
        records=canonical_text(sent.records),
        artifacts=canonical_text([{"path": path, "sha256": sha256} for path, sha256 in sorted(sent.artifacts.items())]),
        claims=canonical_text(_claims(sent, cycle.given)),
        by_key=entry.me.key_id,
    )
    HEARTBEATS.open(entry.transaction, entry.now_ms, heartbeat, touching=(entry.me.id,))
    entry.leave("heartbeat.opened", heartbeat.id)
    return heartbeat


def _size_bytes(entry: StoryContext, sha256: str) -> int:
    found = ARTIFACTS.get(entry.transaction, artifact_id(entry.me.id, sha256))
    if found is None:
        raise Refused("validation", f"artifacts: you have no artifact {sha256}")
    return found.size_bytes


def _claims(sent: CheckIn, given: HeartbeatContract | None) -> list[JsonValue]:
    """What the agent asserts; a ticked box asserts that its task was done."""
    ticked = () if given is None else (TaskAssertion(task.id, True, {}) for task in given.tasks if task.is_ticked)
    return [{"task": one.task, "done": one.done, "values": dict(one.values)} for one in (*sent.assertions, *ticked)]


def _under_way(cycle: _Cycle, score: Score, now_ms: int) -> Agreement:
    """The due periods of what is asked for have begun; other contracts than the accepted one wait for the operator."""
    agreement, given, accepted = cycle.agreement, cycle.given, cycle.agreement.contract.tasks
    progress = agreement.progress_by_task()
    progress |= {one.id: begun(progress.get(one.id), one, now_ms, cycle.date) for one in cycle.asked}
    if any(one.every_s is None for one in cycle.asked):
        interval_s = contract_interval_s(score.penalty, score.reward, agreement.interval_s)
        agreement = replace(agreement, next_wake_ms=now_ms + interval_s * SECOND_MS)
    if given is None:
        return with_progress(agreement, progress, progress)
    is_same = given.digest == agreement.digest
    weakened = {} if is_same else weakenings(accepted, given.tasks)
    after = replace(agreement, offered="" if is_same else cycle.sent.contract or "", weakened=canonical_text(weakened))
    return with_progress(after, progress, (task.id for task in (*accepted, *given.tasks)))


def _again_ms(agreement: Agreement | None, score: Score, now_ms: int) -> int:
    """The next scheduled wake; an interval from now where none is to come, so that nobody asks without end."""
    if agreement is not None and agreement.next_wake_ms > now_ms:
        return agreement.next_wake_ms
    set_s = None if agreement is None else agreement.interval_s
    return now_ms + contract_interval_s(score.penalty, score.reward, set_s) * SECOND_MS


def _skipped(skip: Skip, given: HeartbeatContract | None, again_ms: int) -> CheckedIn:
    return {
        "heartbeat_id": None,
        "state": "skipped",
        "skip": skip.value,
        "date": None,
        "acknowledged": False,
        "tasks": [],
        "weakened": {},
        "diagnostics": _diagnostics(given),
        "next_check_in_after": rfc3339_s(again_ms),
    }


def _diagnostics(given: HeartbeatContract | None) -> list[Diagnostic]:
    found = given.diagnostics if given else ()
    return [{"line": one.line, "message": one.message} for one in found[:DIAGNOSTICS_MAX]]
