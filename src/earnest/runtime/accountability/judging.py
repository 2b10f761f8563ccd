"""What becomes of a heartbeat: its verdicts, its points, the tier and the next wake, in one transaction.

The heartbeats that wait stand in the books, so a restart finds them; whoever tells of one only gives a hint.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from earnest.accountability.agreement import Agreement, Conclusion, with_conclusions
from earnest.accountability.asking import AskedTask
from earnest.accountability.heartbeat import CheckInState, Heartbeat
from earnest.accountability.service import AGREEMENTS, BEING_JUDGED, HEARTBEATS, Booking
from earnest.accountability.tiers import contract_interval_s, message_of
from earnest.accountability.verdicts import TaskVerdict, asked_in, complete, feedback, kept
from earnest.effects.ground.storage.known_rows import Ahead, Sought
from earnest.effects.ground.storage.leases import FREE
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.instants import SECOND_MS
from earnest.identity.account import Account
from earnest.identity.service import ACCOUNTS
from earnest.runtime.accountability.booking import book, tell_of_exhausted
from earnest.runtime.accountability.sidecar import Sidecar
from earnest.runtime.desk import Act, StoryContext
from earnest.runtime.market.market import Market
from earnest.runtime.waiting_work import WaitingWork
from earnest.verification.verdict import Answer

_LOG: Final = logging.getLogger("earnest.work")


class HeartbeatJudging(WaitingWork):
    """Judges heartbeats."""

    def __init__(self, market: Market, holder: str = "") -> None:
        super().__init__(market.desk, "heartbeat.opened", holder=holder)
        self._market = market
        self._sidecar = Sidecar(market.verifier, market.artifacts)

    def _waiting(self, reader: BooksReader, now_ms: int, limit: int) -> list[str]:
        waiting = f"{BEING_JUDGED} AND {FREE} ORDER BY at_ms LIMIT ?"
        return [heartbeat.id for heartbeat in HEARTBEATS.where(reader, waiting, (now_ms, limit))]

    async def _do(self, key: str) -> tuple[Act, Ahead]:
        desk = self._market.desk
        heartbeat, account = await desk.database.ask(lambda reader: _whose(HEARTBEATS.find(reader, key), reader))
        asked = asked_in(heartbeat)
        try:
            found = await self._sidecar.verdicts(heartbeat, asked, account.model_fingerprint)
        except Exception:  # whatever it is, it would be met again, and the agent could never check in
            _LOG.exception("%s cannot be judged", key)
            found = {}
        wanted = Sought(HEARTBEATS.lookup, (key,)), Sought(AGREEMENTS.lookup, (account.id,))
        return lambda entry: give_verdicts(entry, key, asked, found), wanted


def _whose(heartbeat: Heartbeat, reader: BooksReader) -> tuple[Heartbeat, Account]:
    return heartbeat, ACCOUNTS.find(reader, heartbeat.account_id)


def give_verdicts(
    entry: StoryContext, heartbeat_id: str, asked: Sequence[AskedTask], found: Mapping[str, TaskVerdict]
) -> JsonObject:
    """Record the verdicts on a heartbeat and all that follows. A second time changes nothing.

    `asked`: the tasks that it asked for, which never change.
    """
    heartbeat = HEARTBEATS.find(entry.transaction, heartbeat_id)
    if heartbeat.state is CheckInState.JUDGED:
        return {}
    asserted = frozenset(one["task"] for one in json.loads(heartbeat.claims) if one["done"] or one["values"])
    verdicts = complete(asked, found, asserted)
    agreement = AGREEMENTS.find(entry.transaction, heartbeat.account_id)
    charges = [charge for verdict in verdicts for charge in verdict.charges()]
    booking = book(entry, agreement, charges, date=heartbeat.date, source=heartbeat.id)
    after = _moved_on(agreement, heartbeat, asked, verdicts, booking)
    AGREEMENTS.change(entry.transaction, entry.now_ms, agreement, after, touching=(after.account_id,), event="judged")
    tell_of_exhausted(entry, agreement, after, heartbeat.date)
    judged = replace(
        heartbeat,
        state=CheckInState.JUDGED,
        verdicts=kept(verdicts),
        outcome=canonical_text(_outcome(asked, verdicts, booking, after)),
        points=sum(charge.points for charge in charges),
        waiting=sum(one.waits for one in verdicts),
        judged_at_ms=entry.now_ms,
    )
    HEARTBEATS.change(entry.transaction, entry.now_ms, heartbeat, judged, touching=(heartbeat.account_id,))
    return {"heartbeat_id": heartbeat.id, "points": judged.points}


def _moved_on(
    agreement: Agreement,
    heartbeat: Heartbeat,
    asked: Sequence[AskedTask],
    verdicts: Iterable[TaskVerdict],
    booked: Booking,
) -> Agreement:
    """Attempts are used or given back, and the next wake is as the tier says."""
    conclusions = (
        Conclusion(one, verified=verdict.answer is Answer.VERIFIED, failed=verdict.is_failure(one))
        for one, verdict in zip(asked, verdicts, strict=True)
    )
    after = with_conclusions(agreement, conclusions, heartbeat.date)
    if not any(one.every_s is None for one in asked):
        return after
    interval_s = contract_interval_s(booked.after.penalty, booked.after.reward, agreement.interval_s)
    return replace(after, next_wake_ms=heartbeat.at_ms + interval_s * SECOND_MS)


def _outcome(
    asked: Sequence[AskedTask], verdicts: Sequence[TaskVerdict], booked: Booking, agreement: Agreement
) -> JsonObject:
    score = booked.after
    return {
        "score": booked.day.score,
        "target": booked.day.target,
        "penalty": score.penalty.value,
        "reward": score.reward.value,
        "message": message_of(score.penalty, score.reward),
        "interval_s": contract_interval_s(score.penalty, score.reward, agreement.interval_s),
        "feedback": feedback(asked, verdicts),
    }
