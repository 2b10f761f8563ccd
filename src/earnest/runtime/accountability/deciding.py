"""What people decide: the operator accepts a contract, says when it holds, and rules where no machine could.

And what they think of a message.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from earnest.accountability.agreement import (
    CONTRACT_BYTES_MAX,
    Agreement,
    Conclusion,
    contract_of,
    possible_of,
    with_conclusions,
    without_attempts,
)
from earnest.accountability.days import date_of
from earnest.accountability.heartbeat import Heartbeat, MessageVote, vote_id
from earnest.accountability.points import Charge, PointsRule
from earnest.accountability.score import standing
from earnest.accountability.service import AGREEMENTS, HEARTBEATS, SCORES, VOTES
from earnest.accountability.verdicts import BY_OPERATOR, TaskVerdict, asked_in, feedback, kept, ruled, verdicts_in
from earnest.client.payloads_scores import Agreed, TaskDecided, TaskReset, Voted
from earnest.contracts.heartbeat.task import HeartbeatContract, promise_of
from earnest.foundation.canonical import canonical_text
from earnest.foundation.errors import Faulty, Refused
from earnest.foundation.zones import is_time, is_zone
from earnest.identity.account import AccountKind
from earnest.identity.key import Scope
from earnest.identity.service import ACCOUNTS
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


def agree(
    entry: StoryContext, account_id: str, contract: str | None, accepts: str | None, given: Mapping[str, object]
) -> Agreed:
    """Accept a contract, by its text or by the digest of the one that the agent offers; and change how it holds.

    `given`: members of `Agreement` by name (zone, interval_s, active_from, active_to, is_enabled, is_paused). Raises
    `Refused`: `scope_forbidden`, `not_found`, `validation`, `too_large`, `etag_mismatch` for a digest that is not
    the offered contract's.
    """
    entry.me.need(Scope.OPERATOR)
    account = ACCOUNTS.find(entry.transaction, account_id)
    if account.kind is not AccountKind.AGENT:
        raise Refused("not_found", f"{account_id} is no agent")
    _check(given)
    if contract is not None and accepts is not None:
        raise Refused("validation", "give a contract, or accept the offered one, not both")
    known = AGREEMENTS.get(entry.transaction, account_id)
    text = contract if accepts is None else _offered(known, accepts)
    before = known or Agreement(account_id=account_id, text="", digest="", pinned_at_ms=entry.now_ms, pinned_by="")
    after: Agreement = replace(before, **given)  # type: ignore[arg-type]
    if text is not None:
        after = _pinned(entry, after, text)
    elif known is None:
        raise Refused("validation", "there is no contract yet: give its text")
    after = replace(after, possible=possible_of(after, entry.now_ms))
    save_agreement(entry, known, after, event="agreed")
    return {"account_id": account_id, "digest": after.digest, "possible": after.possible}


def begin_anew(entry: StoryContext, account_id: str, task: str) -> TaskReset:
    """Give a task all its attempts back. Raises `Refused`: `scope_forbidden`, `not_found`."""
    entry.me.need(Scope.OPERATOR)
    before = AGREEMENTS.find(entry.transaction, account_id)
    if task not in before.progress_by_task():
        raise Refused("not_found", f"{task[:80]!r} was not asked for")
    after = without_attempts(before, task)
    AGREEMENTS.change(entry.transaction, entry.now_ms, before, after, touching=(account_id,), event="reset", task=task)
    return {"account_id": account_id, "task": task}


def read_contract(text: str) -> HeartbeatContract:
    """What somebody sent as a contract. Raises `Refused`: `too_large`, `validation`."""
    if len(text.encode(errors="replace")) > CONTRACT_BYTES_MAX:
        raise Refused("too_large", f"a contract has at most {CONTRACT_BYTES_MAX} bytes")
    try:
        return contract_of(text)
    except Faulty as faulty:
        raise Refused("validation", f"the contract cannot be read: {faulty}") from None


def save_agreement(entry: StoryContext, known: Agreement | None, after: Agreement, *, event: str) -> Agreement:
    """`after` in the place of what was known, or as the first; it is returned."""
    if known is None:
        AGREEMENTS.open(entry.transaction, entry.now_ms, after, touching=(after.account_id,), event=event)
    else:
        AGREEMENTS.change(entry.transaction, entry.now_ms, known, after, touching=(after.account_id,), event=event)
    return after


def _pinned(entry: StoryContext, agreement: Agreement, text: str) -> Agreement:
    contract = read_contract(text)
    was, now = ({task.id: promise_of(task) for task in one.tasks} for one in (agreement.contract, contract))
    exhausted = [task for task in json.loads(agreement.exhausted) if was.get(task) in (None, now.get(task))]
    return replace(
        agreement,
        text=text,
        digest=contract.digest,
        pinned_at_ms=entry.now_ms,
        pinned_by=entry.me.id,
        exhausted=canonical_text(exhausted),
        offered="",
        weakened="{}",
    )


def _offered(known: Agreement | None, digest: str) -> str:
    """What the agent offers or has offered first, if it is what the operator means."""
    text = "" if known is None else known.offered or known.text
    if not text or contract_of(text).digest != digest:
        raise Refused("etag_mismatch", "the agent offers another contract by now, or none: look at it again")
    return text


def _check(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        is_good = is_zone(str(value)) if name == "zone" else is_time(str(value)) if name.startswith("active_") else True
        if not is_good:
            wanted = "a zone of the IANA database" if name == "zone" else "HH:MM, from 00:00 to 24:00"
            errors = [{"pointer": f"#/{name}", "code": "validation", "detail": wanted}]
            raise Refused("validation", f"{name} must be {wanted}", errors=errors)
