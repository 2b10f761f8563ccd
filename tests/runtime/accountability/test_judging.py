"""What the sidecar looks at, what it does with failures of its own, and what a person's verdict is worth."""

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from earnest.accountability.agreement import contract_of
from earnest.accountability.heartbeat import CheckInState, Heartbeat
from earnest.effects.ground.storage.driver import SqlValue
from earnest.foundation.errors import Unavailable
from earnest.foundation.instants import DAY_MS, MINUTE_MS
from earnest.identity.key import Scope
from earnest.runtime.accountability import judging as story
from earnest.runtime.accountability.checking_in import CheckIn, check_in
from earnest.runtime.accountability.deciding import decide
from earnest.runtime.accountability.sidecar import REASONS_CHARACTERS_MAX
from earnest.views.score import list_events, list_heartbeats

from .conftest import MAIL, NEWS, Duty, MakeDuty, contract
from .test_ways_out import ESSAY, _artifact, judged_by

HUMAN = "- [ ] call | Call grandmother | required | verify: human"


def decided(duty: Duty, heartbeat: Heartbeat, *, verified: bool, task: str = "call") -> dict[str, Any]:
    act = partial(decide, heartbeat_id=heartbeat.id, task=task, verified=verified, reason="So it is.")
    return dict(duty.town.act(duty.operator, act))


def plan(duty: Duty, sql: str, *parameters: SqlValue) -> str:
    rows = duty.town.database.read_sync(
        lambda reader: reader.execute(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall()
    )
    return "; ".join(row[3] for row in rows)


# What the sidecar looks at.


@pytest.mark.parametrize("name", ["a\x85b", "/".join("a" * 40), "[draft]*.md"])
def test_nothing_that_is_handed_in_can_get_in_the_way_of_a_probe(duty: Duty, name: str) -> None:
    """Files that cannot be taken in would leave a failure unclear."""
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    heartbeat = duty.cycle(artifacts={name: _artifact(duty, b"x")}, claims={"mail": {"value": 3}})
    assert duty.rules(heartbeat) == {"mail": ["not_verified", "contradiction"]}


def test_the_judge_sees_an_artifact_whose_name_reads_like_a_pattern(make_duty: MakeDuty) -> None:
    duty, judge = judged_by(make_duty, True, True)
    duty.pin(ESSAY)
    heartbeat = duty.cycle(artifacts={"[draft].md": _artifact(duty, b"The moon moves on by twelve degrees.")})
    assert duty.rules(heartbeat) == {"essay": ["verified_required"]}
    assert "twelve degrees" in judge.asked[0]


def test_the_reasons_of_many_tasks_find_room_in_one_fact(duty: Duty) -> None:
    """Else the heartbeat could never be judged, and the agent never be charged."""
    duty.probes.values["mail_count"] = '"' * 3_000
    duty.pin(*(f"- [ ] t{n} | Look at box {n} | required | verify: mail_count" for n in range(400)))
    heartbeat = duty.cycle()
    reasons = [len(one["for_operator"]) for one in json.loads(heartbeat.verdicts)]
    assert (heartbeat.state, reasons) == (CheckInState.JUDGED, [REASONS_CHARACTERS_MAX // 400] * 400)


# Failures of our own.


def test_a_fault_of_ours_leaves_a_heartbeat_unclear_and_the_agent_free(
    duty: Duty, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("nobody thought of it")

    duty.pin(MAIL)
    with monkeypatch.context() as patch:
        patch.setattr(duty.town.market.verifier, "judge", broken)
        heartbeat = duty.cycle()
    assert duty.rules(heartbeat) == {"mail": ["unclear_verifier"]}
    assert "cannot be judged" in caplog.text
    assert duty.cycle().points == 10


async def test_what_cannot_be_written_is_judged_later_and_not_at_once_for_ever(
    duty: Duty, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> None:
        raise Unavailable("the disk is full")

    duty.pin(MAIL)
    duty.town.act(duty.agent, lambda entry: check_in(entry, _sent(MAIL), contract_of(contract(MAIL))))
    hint = duty.judging._hint
    with monkeypatch.context() as patch:
        patch.setattr(story, "give_verdicts", failing)
        with pytest.raises(Unavailable):
            await duty.judging.drain()
        await asyncio.sleep(0)
    assert "is done later: the disk is full" in caplog.text
    assert not hint.is_set(), "whoever is told of it would look at once"
    await duty.judging.drain()
    assert (duty.days[0].score, hint.is_set()) == (10, True)


# What a person decides.


def test_a_person_s_no_uses_an_attempt_up_and_the_last_one_exhausts_the_task(duty: Duty) -> None:
    duty.pin(f"{HUMAN} | max_attempts: 2")
    first, second = duty.cycle(), duty.cycle()
    decided(duty, first, verified=False)
    assert duty.agreement.progress_by_task()["call"].attempts == 1
    decided(duty, second, verified=False)
    assert duty.agreement.exhausted_on(duty.days[0].date) == ["call"]
    assert "@ada has used up its attempts" in duty.mails
    duty.wait()
    assert duty.check_in()["skip"] == "nothing_to_do"
    duty.same_from_facts()


def test_a_person_s_yes_gives_the_attempts_back_and_a_no_is_counted_once(make_duty: MakeDuty) -> None:
    duty, _ = judged_by(make_duty, *[True] * 9)
    duty.pin(ESSAY)
    reply = "High water comes later.\u200b \u200bIt is met."
    first, second = duty.cycle(reply=reply), duty.cycle(reply=reply)
    assert duty.agreement.progress_by_task()["essay"].attempts == 2
    decided(duty, first, verified=False, task="essay")
    assert duty.agreement.progress_by_task()["essay"].attempts == 2, "it was used up when it was unclear"
    decided(duty, second, verified=True, task="essay")
    assert duty.agreement.progress_by_task()["essay"].attempts == 0


def test_what_is_decided_later_leaves_the_attempts_of_another_day_alone(duty: Duty) -> None:
    duty.pin(f"{HUMAN} | max_attempts: 1")
    first = duty.cycle()
    duty.town.clock.jump_ms(DAY_MS)
    duty.cycle()
    decided(duty, first, verified=False)
    assert duty.agreement.progress_by_task()["call"].attempts == 0


def test_an_accepted_edit_of_a_task_with_a_period_is_asked_for_at_once(duty: Duty) -> None:
    duty.pin(MAIL, f"{NEWS} | every: 31d")
    duty.cycle()
    duty.pin(MAIL, f"{NEWS} | every: 6h")
    assert set(duty.rules(duty.cycle())) == {"mail", "news"}


# How it stays quick.


def test_what_waits_and_who_is_busy_is_found_by_the_index_of_the_few(duty: Duty) -> None:
    busy = "SELECT id FROM heartbeats WHERE state = 'verifying' AND +account_id = ? LIMIT 1"
    for sql, given in ((busy, ("x",)), ("SELECT id FROM heartbeats WHERE state = 'verifying' ORDER BY at_ms", ())):
        found = plan(duty, sql, *given)
        assert "heartbeats_to_judge" in found, found
        assert "TEMP B-TREE" not in found


def test_facts_of_other_kinds_never_stand_between_two_bookings(duty: Duty) -> None:
    """A page of events would take the longer the more often an agent looks in vain."""
    duty.pin(MAIL)
    duty.cycle()
    for _ in range(30):
        duty.town.clock.jump_ms(1_000)
        assert duty.check_in()["state"] == "skipped"
    duty.cycle()
    sql = "SELECT count(*) FROM facts WHERE subject = ?"
    (between,) = duty.town.database.read_sync(
        lambda reader: reader.execute(sql, (f"{duty.agent.id}/score",)).fetchone()
    )
    assert between == len(duty.town.database.read_sync(lambda reader: list_events(reader, duty.agent.id, "", 100)))


def test_lists_go_on_where_the_page_before_ended(duty: Duty) -> None:
    duty.pin(MAIL)
    names = [duty.cycle().id for _ in range(5)][::-1]
    shown, last = [], ""
    while page := duty.town.database.read_sync(lambda reader: list_heartbeats(reader, duty.agent.id, last, 2)):  # noqa: B023
        shown += [one["heartbeat_id"] for one in page]
        last = str(shown[-1])
    assert shown == names
    events = duty.town.database.read_sync(lambda reader: list_events(reader, duty.agent.id, "9" * 100, 100))
    assert len(events) == 6


def test_two_keys_of_one_agent_begin_one_cycle(duty: Duty) -> None:
    duty.pin(MAIL)
    other = duty.town.with_scope(duty.agent, Scope.HEARTBEAT)
    sent = _sent(MAIL)
    answers = [
        duty.town.act(caller, lambda entry: check_in(entry, sent, contract_of(contract(MAIL))))
        for caller in (duty.agent, replace(other, key_id="another"))
    ]
    assert [answer["state"] for answer in answers] == ["verifying", "skipped"]
    duty.town.clock.jump_ms(MINUTE_MS)
    duty.judge()
    assert duty.days[0].score == 10


def _sent(*lines: str) -> CheckIn:
    return CheckIn(contract=contract(*lines), reply="done", artifacts={})
