"""What people decide: the operator's verdict where no machine could give one, and what they think of a message."""

import json
from dataclasses import replace
from typing import Literal

from earnest.accountability.agreement import Agreement, Conclusion, with_conclusions
from earnest.accountability.days import date_of
from earnest.accountability.heartbeat import Heartbeat, MessageVote, vote_id
from earnest.accountability.points import Charge, PointsRule
from earnest.accountability.score import standing
from earnest.accountability.service import AGREEMENTS, HEARTBEATS, SCORES, VOTES
from earnest.accountability.verdicts import BY_OPERATOR, TaskVerdict, asked_in, feedback, kept, ruled, verdicts_in
from earnest.client.payloads_scores import TaskDecided, Voted
from earnest.foundation.canonical import canonical_text
from earnest.foundation.errors import Refused
from earnest.identity.caller import Scope
from earnest.runtime.accountability.booking import book, tell_of_exhausted
from earnest.runtime.desk import StoryContext
from earnest.verification.verdict import Answer


def decide(entry: StoryContext, heartbeat_id: str, task: str, *, verified: bool, reason: str) -> TaskDecided:
    """The operator's verdict on a task that waits for one; its points belong to the day of the heartbeat.

    Raises `Refused`: `scope_forbidden`, `not_found`, `heartbeat_state` for a task that does not wait.
    """
    entry.me.need(Scope.OPERATOR)
    heartbeat = HEARTBEATS.find(entry.transaction, heartbeat_id)
    verdicts = verdicts_in(heartbeat)
    old = next((one for one in verdicts if one.task == task and one.waits), None)
    if old is None:
        raise Refused("heartbeat_state", f"{task[:80]!r} of {heartbeat_id} does not wait for a verdict")
    all_asked = asked_in(heartbeat)
    asked = next(one for one in all_asked if one.id == task)
    asserted = frozenset(one["task"] for one in json.loads(heartbeat.claims) if one["done"] or one["values"])
    answer = Answer.VERIFIED if verified else Answer.NOT_VERIFIED
    said = TaskVerdict(task=task, answer=answer, reason=reason, by=BY_OPERATOR, decided_at_ms=entry.now_ms)
    new = ruled(asked, said, asserted)
    agreement = AGREEMENTS.find(entry.transaction, heartbeat.account_id)
    charges = [*old.charges(sign=-1), *new.charges()]
    booking = book(entry, agreement, charges, date=heartbeat.date, source=heartbeat.id)
    decided = [new if one is old else one for one in verdicts]
    after = replace(
        heartbeat,
        verdicts=kept(decided),
        outcome=canonical_text({**json.loads(heartbeat.outcome), "feedback": feedback(all_asked, decided)}),
        points=heartbeat.points + new.points - old.points,
        waiting=heartbeat.waiting - 1,
    )
    HEARTBEATS.change(
        entry.transaction, entry.now_ms, heartbeat, after, touching=(heartbeat.account_id,), by=entry.me.id
    )
    failed = new.is_failure(asked) and not old.is_failure(asked)
    _conclude(entry, agreement, heartbeat, Conclusion(asked, verified, failed))
    return {"heartbeat_id": heartbeat_id, "task": task, "points": new.points, "score": booking.day.score}


def _conclude(entry: StoryContext, before: Agreement, heartbeat: Heartbeat, conclusion: Conclusion) -> None:
    """What was decided counts for the attempts of its day as any other verdict does."""
    after = with_conclusions(before, [conclusion], heartbeat.date)
    if after != before:
        touching = (before.account_id,)
        AGREEMENTS.change(entry.transaction, entry.now_ms, before, after, touching=touching, event="decided")
        tell_of_exhausted(entry, before, after, heartbeat.date)


def vote(entry: StoryContext, word: Literal["up", "down"], message_id: str) -> Voted:
    """A thumb up or down for a message, in the place of the one before. It counts for the day on which it is given.

    Raises `Refused`: `scope_forbidden`, `not_found` for a message that no agent has sent.
    """
    entry.me.need(Scope.OPERATOR)
    heartbeat = HEARTBEATS.find(entry.transaction, message_id)
    agreement = AGREEMENTS.find(entry.transaction, heartbeat.account_id)
    new = MessageVote(
        id=vote_id(message_id, entry.me.id),
        message_id=message_id,
        operator_id=entry.me.id,
        account_id=heartbeat.account_id,
        up=word == "up",
        at_ms=entry.now_ms,
    )
    old = VOTES.get(entry.transaction, new.id)
    charges = []
    if old is None:
        VOTES.open(entry.transaction, entry.now_ms, new)
        charges = [_thumb(new)]
    elif old.up != new.up:
        VOTES.change(entry.transaction, entry.now_ms, old, new)
        charges = [_thumb(old, sign=-1), _thumb(new)]
    score = SCORES.of(entry.transaction, heartbeat.account_id)
    date = max(date_of(entry.now_ms, agreement.zone), score.date)
    if charges:
        day = book(entry, agreement, charges, date=date, source=message_id).day
    else:
        recent = SCORES.recent(entry.transaction, heartbeat.account_id)
        _, day = standing(score, recent, date, agreement.zone, agreement.possible)
    points = sum(charge.points for charge in charges)
    return {"points": points, "score": day.score, "target": day.target}


def _thumb(vote: MessageVote, sign: int = 1) -> Charge:
    return Charge(rule=PointsRule.VOTE_UP if vote.up else PointsRule.VOTE_DOWN, task=vote.message_id, sign=sign)
