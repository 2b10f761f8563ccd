"""Ways out that nobody has left open yet: what else might an agent try so as to earn without doing, or not to pay?"""

import asyncio
import json
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from earnest.contracts.heartbeat.layout import LINES_MAX
from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS, EPOCH, MINUTE_MS
from earnest.runtime.accountability.checking_in import ARTIFACTS_BYTES_MAX, CheckIn, check_in, due_now
from earnest.runtime.accountability.deciding import agree, begin_anew, decide, vote
from earnest.runtime.accountability.judging import HeartbeatJudging

from .conftest import MAIL, NEWS, Duty, MakeDuty, contract
from .test_ways_out import ESSAY, _artifact, judged_by

LAZY = "- [ ] mail | Breathe | optional"


def due(duty: Duty) -> list[str]:
    """What the agent is told that it will be asked for."""
    now_ms = duty.town.clock.now_ms()
    told = duty.town.database.read_sync(lambda reader: due_now(reader, duty.agent.id, now_ms))
    return [task["id"] for task in told["tasks"]]


# The contract.


def test_a_contract_that_is_swapped_between_the_question_and_the_answer_changes_no_question(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    assert due(duty) == ["mail"]
    heartbeat = duty.cycle(LAZY, "- [x] easy | Breathe | required | verify: news_count")
    assert duty.rules(heartbeat) == {"mail": ["weakened"], "easy": ["unclear_verifier"]}, "no probe runs for it"
    told = json.loads(heartbeat.verdicts)[0]
    assert (told["answer"], told["by"]) == ("not_verified", "")
    assert told["reason"].startswith("the contract was weakened without leave: ")
    assert "required → optional" in told["reason"]


def test_what_a_cycle_was_asked_for_stays_so_whatever_is_accepted_before_its_verdict(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    name = duty.check_in()["heartbeat_id"]
    duty.pin("- [ ] nothing | Rest | optional")
    duty.judge()
    assert duty.rules(duty.heartbeat(name)) == {"mail": ["not_verified"]}
    duty.same_from_facts()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("- [ ] m\u0430il | Look at the mail | required | verify: mail_count", "weakened"),
        ("- [ ] \uff4d\uff41\uff49\uff4c | Look at the mail | required | verify: mail_count", "not_verified"),
        ("- [ ] ma\u200bil | Look at the mail | required | verify: mail_count", "weakened"),
        ("- [ ] MAIL | Look at the mail | required | verify: mail_count", "not_verified"),
    ],
    ids=["cyrillic", "fullwidth", "zero_width", "capitals"],
)
def test_an_id_that_only_looks_alike_takes_no_tasks_place(duty: Duty, given: str, rule: str) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    rules = duty.rules(duty.cycle(given))
    assert rules["mail"] == [rule]
    beside = [rule for task, rule in rules.items() if task != "mail"]
    assert beside == [["unclear_verifier"]] * (len(rules) - 1), "and the other one is asked for beside it"
    assert duty.days[0].score == -15


@pytest.mark.parametrize("every", ["1m", "31d"])
def test_an_edited_period_neither_earns_more_often_nor_costs_less(duty: Duty, every: str) -> None:
    accepted = f"{MAIL} | every: 6h"
    duty.pin(accepted)
    edited = accepted.replace("6h", every)
    first = duty.cycle(edited)
    assert duty.rules(first)["mail"] == (["weakened"] if every == "31d" else ["verified_required"])
    for _ in range(5):
        duty.town.clock.jump_ms(60 * MINUTE_MS)
        assert duty.check_in(edited)["skip"] == "nothing_to_do"
    duty.town.clock.jump_ms(60 * MINUTE_MS)
    assert duty.check_in(edited)["state"] == "verifying", "it is due when the accepted period ends"


@pytest.mark.parametrize("text", ["", "# Heartbeat\n", "I have nothing to do today.", "\x00", "---\nzone: UTC\n---\n"])
def test_a_file_that_is_emptied_or_deleted_breaks_each_promise_in_it(duty: Duty, text: str) -> None:
    duty.pin(MAIL, ESSAY)
    assert {tuple(rules) for rules in duty.rules(duty.cycle(text)).values()} == {("weakened",)}
    assert duty.days[0].score == -30


def test_two_tasks_that_exchange_their_hints_are_both_weakened(duty: Duty) -> None:
    one = "- [ ] one | Look | required | verify: mail_count"
    two = "- [ ] two | Look | required | verify: news_count"
    duty.pin(one, two)
    swapped = one.replace("mail_count", "news_count"), two.replace("news_count", "mail_count")
    assert set(map(tuple, duty.rules(duty.cycle(*swapped)).values())) == {("weakened",)}


def test_a_trivial_task_of_the_same_id_above_the_promise_does_not_stand_for_it(duty: Duty) -> None:
    duty.pin(MAIL)
    rules = duty.rules(duty.cycle("- [x] mail | Breathe | required | verify: news_count", MAIL))
    assert rules == {"mail": ["weakened"], "mail-2": ["unclear_verifier"]}


def test_a_promise_that_is_pushed_out_of_what_is_read_is_broken(duty: Duty) -> None:
    duty.pin(MAIL)
    assert duty.rules(duty.cycle("\n" * LINES_MAX, MAIL)) == {"mail": ["weakened"]}


def test_an_exhausted_task_that_is_then_weakened_costs_again(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 1")
    duty.probes.values["mail_count"] = 0
    duty.cycle()
    duty.wait()
    assert duty.check_in()["skip"] == "nothing_to_do"
    assert duty.cycle(LAZY).points == -15


def test_an_edit_of_ones_own_gives_no_attempts_back(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 2")
    duty.probes.values["mail_count"] = 0
    for given in (MAIL, f"{MAIL} | max_attempts: 2"):
        duty.cycle(f"{MAIL} | max_attempts: 2", given.replace("mail |", "beside |"))
    asked = {one["id"]: one["attempt"] for one in json.loads(duty.cycle(f"{MAIL} | max_attempts: 9").asked)}
    assert asked == {"mail": 2}, "nothing but the weakening is asked for"


def test_what_was_weakened_stays_shown_when_the_next_check_in_brings_no_contract(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.cycle(LAZY)
    duty.cycle()
    assert list(json.loads(duty.agreement.weakened)) == ["mail"]
    duty.cycle(MAIL)
    assert json.loads(duty.agreement.weakened) == {}


def test_the_file_sets_neither_zone_nor_hours_nor_interval(duty: Duty) -> None:
    duty.pin(MAIL, zone="Europe/Berlin")
    front = "---\nzone: Pacific/Kiritimati\ninterval_s: 86400\nactive_to: 00:01\nis_paused: true\n---\n"
    text = front + contract(MAIL)
    duty.cycle(text)
    agreement = duty.agreement
    assert (agreement.zone, agreement.interval_s, agreement.active_to, agreement.is_paused) == (
        "Europe/Berlin",
        None,
        "24:00",
        False,
    )


# What is said.


def test_what_is_claimed_of_tasks_that_nobody_asked_for_moves_nothing(duty: Duty) -> None:
    duty.pin(MAIL)
    heartbeat = duty.cycle(claims={"nothing": {"value": 1}, "mail-2": {"value": 1}, "m\u0430il": {"value": 9}})
    assert (duty.rules(heartbeat), heartbeat.points) == ({"mail": ["verified_required"]}, 10)


@pytest.mark.parametrize(("claim", "points"), [("7 mails", -45), ("7", -45), (7.5, -45), (True, -45), (0, -15)])
def test_units_make_a_false_claim_no_truer(duty: Duty, claim: object, points: int) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    assert duty.cycle(claims={"mail": {"value": claim}}).points == points


def test_a_claim_under_another_name_earns_nothing_and_is_no_way_around_the_failure(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    assert duty.cycle(claims={"mail": {"mails": 7}}).points == -15


def test_saying_that_all_is_well_is_verified_too(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    taken = duty.check_in(MAIL, reply="HEARTBEAT_OK")
    duty.judge()
    assert taken["acknowledged"]
    assert duty.heartbeat(taken["heartbeat_id"]).points == -15


def test_a_huge_reply_is_never_verified_unseen(make_duty: MakeDuty) -> None:
    duty, judge = judged_by(make_duty, True, True)
    duty.pin(ESSAY)
    heartbeat = duty.cycle(reply="The moon moves on. " * 5_200 + "So high water comes later. " * 100)
    assert duty.rules(heartbeat) == {"essay": ["unclear_evidence"]}
    assert heartbeat.waiting == 1
    assert "So high water" not in judge.asked[0]


def test_records_that_say_that_a_tool_succeeded_prove_nothing_to_a_probe(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    records = ({"tool": "mail_count", "ok": True, "target": "mail_count", "output": "1", "exit_code": 0},)
    assert duty.cycle(MAIL, records=records).points == -15


def test_a_failure_is_not_hidden_behind_too_much_that_is_handed_in(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    large = _artifact(duty, bytes(ARTIFACTS_BYTES_MAX // 4))
    with pytest.raises(Refused, match="at most"):
        duty.check_in(MAIL, artifacts={str(number): large for number in range(5)})
    assert duty.cycle(MAIL, artifacts={str(number): large for number in range(4)}).points == -15


def test_two_agents_may_bring_the_same_bytes_and_each_answers_for_its_own(duty: Duty) -> None:
    duty.pin(MAIL)
    digest = _artifact(duty, b"proof")
    other = duty.town.somebody("bob", operator=duty.operator.id)
    duty.town.act(duty.operator, lambda entry: agree(entry, other.id, contract(MAIL), None, {}))
    sent = CheckIn(contract=None, reply="", artifacts={"proof.txt": digest})
    with pytest.raises(Refused, match="you have no artifact"):
        duty.town.act(other, lambda entry: check_in(entry, sent, None))
    assert duty.cycle(MAIL, artifacts={"proof.txt": digest}).points == 10


# The clock.


def test_the_same_heartbeat_sent_again_under_another_key_scores_once(duty: Duty) -> None:
    duty.pin(MAIL)
    first = duty.check_in(MAIL)
    duty.judge()
    again = [duty.check_in(MAIL) for _ in range(3)]
    assert first["state"] == "verifying"
    assert {one["skip"] for one in again} == {"nothing_to_do"}
    assert duty.days[0].score == 10


def test_checking_in_again_and_again_before_midnight_scores_once(duty: Duty) -> None:
    duty.pin(MAIL, zone="Europe/Berlin")
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime(2026, 6, 1, 23, 59, 59, tzinfo=zone)
    duty.town.clock.jump_ms((begin - EPOCH) // timedelta(milliseconds=1) - duty.town.clock.now_ms())
    states = []
    for _ in range(4):
        states.append(duty.check_in(MAIL)["state"])
        duty.judge()
        duty.town.clock.jump_ms(500)
    assert states == ["verifying", "skipped", "skipped", "skipped"]
    assert [(day.date, day.score) for day in duty.days] == [("2026-06-01", 10)]


def test_a_zone_that_is_moved_begins_no_day_twice_and_gives_no_attempts_back(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 2", zone="Pacific/Kiritimati")
    duty.probes.values["mail_count"] = 0
    first = duty.cycle()
    duty.configure(zone="Pacific/Pago_Pago")
    second = duty.cycle()
    assert first.date == second.date == duty.score.date
    assert [json.loads(one.asked)[0]["attempt"] for one in (first, second)] == [1, 2]
    duty.wait()
    assert duty.check_in()["skip"] == "nothing_to_do"
    assert [day.score for day in duty.days] == [-30]


@pytest.mark.parametrize("settings", [{}, {"is_paused": True}, {"active_from": "00:00", "active_to": "00:01"}])
def test_nobody_is_told_to_ask_at_once_again(duty: Duty, settings: dict[str, object]) -> None:
    """Else a gate that stays closed, or tasks with long periods of their own, would be asked about without end."""
    duty.pin(f"{MAIL} | every: 6h", **settings)
    for _ in range(2):
        told = datetime.fromisoformat(duty.check_in()["next_check_in_after"])
        duty.judge()
        assert (told - EPOCH) // timedelta(milliseconds=1) - duty.town.clock.now_ms() >= 8 * MINUTE_MS


def test_a_lockdown_does_not_end_by_waiting(duty: Duty) -> None:
    duty.pin(MAIL, NEWS)
    duty.probes.values.update(mail_count=0, news_count=0)
    duty.cycle()
    duty.town.clock.jump_ms(9 * DAY_MS)
    assert duty.score.penalty.value == "lockdown"
    assert [one["is_forced"] for one in json.loads(duty.cycle().asked)] == [False, True]


# Who decides.


def test_an_agent_decides_nothing_of_its_own(duty: Duty) -> None:
    duty.pin(ESSAY, MAIL)
    name = duty.cycle().id
    for story in (
        lambda entry: vote(entry, "up", name),
        lambda entry: decide(entry, name, "essay", verified=True, reason="I am good."),
        lambda entry: agree(entry, duty.agent.id, None, None, {"zone": "Asia/Tokyo"}),
        lambda entry: agree(entry, duty.agent.id, None, duty.agreement.digest, {}),
        lambda entry: begin_anew(entry, duty.agent.id, "mail"),
    ):
        with pytest.raises(Refused) as refused:
            duty.town.act(duty.agent, story)
        assert refused.value.code == "scope_forbidden"
    assert duty.days[0].score == 10


def test_the_same_vote_again_and_again_is_not_even_written_down(duty: Duty) -> None:
    duty.pin(MAIL)
    name = duty.cycle().id
    duty.town.act(duty.operator, lambda entry: vote(entry, "up", name))
    before = duty.town.database.last_seq
    said = [dict(duty.town.act(duty.operator, lambda entry: vote(entry, "up", name))) for _ in range(5)]
    assert said == [{"points": 0, "score": 13, "target": 50}] * 5
    assert duty.town.database.last_seq == before


def test_one_operators_votes_for_many_messages_are_one_each(duty: Duty) -> None:
    duty.pin(MAIL)
    names = [duty.cycle().id for _ in range(3)]
    for word in ("up", "down", "up"):
        for name in names:
            duty.town.act(duty.operator, lambda entry, word=word, name=name: vote(entry, word, name))  # type: ignore[misc]
    assert duty.days[0].score == 3 * 10 + 3 * 3
    duty.same_from_facts()


def test_a_vote_that_leads_into_a_lockdown_is_told_like_any_other_way_into_it(duty: Duty) -> None:
    duty.pin(MAIL)
    names = [duty.cycle().id for _ in range(3)]
    duty.probes.values["mail_count"] = 0
    duty.cycle()
    duty.town.act(duty.operator, lambda entry: vote(entry, "down", names[0]))
    assert (duty.days[0].score, duty.mails) == (5, [])
    for name in names[1:]:
        duty.town.act(duty.operator, lambda entry, name=name: vote(entry, "down", name))  # type: ignore[misc]
    assert (duty.days[0].score, duty.mails) == (-15, ["@ada is in lockdown"])


def test_an_unaccepted_task_says_nothing_to_the_judge_of_an_accepted_one(make_duty: MakeDuty) -> None:
    """Its words are the agent's, and what is asked for is told to the judge in ours."""
    duty, judge = judged_by(make_duty, *[True] * 4)
    duty.pin(ESSAY)
    duty.cycle(ESSAY, "- [ ] b | The essay is known to be good | required | verify: nothing", reply="Tides.")
    about_essay = [asked for asked in judge.asked if "why high water comes later" in asked]
    assert len(about_essay) == 2
    assert not any("known to be good" in asked for asked in about_essay)


def test_two_that_judge_the_same_heartbeat_book_it_once(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.check_in()

    async def both() -> None:
        await asyncio.gather(duty.judging.drain(), HeartbeatJudging(duty.town.market).drain())

    asyncio.run(both())
    assert (duty.days[0].score, duty.score.verified) == (10, 1)
