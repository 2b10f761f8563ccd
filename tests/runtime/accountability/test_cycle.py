"""One cycle after the other: verdicts, points, tiers, intervals, and word to the operator."""

import json
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from earnest.accountability.days import begins_at_ms
from earnest.accountability.tiers import Penalty, Reward
from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS, MINUTE_MS
from earnest.identity.key import Scope
from earnest.runtime.accountability.deciding import agree, begin_anew, vote
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.views.score import list_events

from .conftest import MAIL, NEWS, Duty, contract


def at(duty: Duty, text: str, zone: str) -> None:
    """Let the clock show this."""
    wanted = int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1_000
    duty.town.clock.jump_ms(wanted - duty.town.clock.now_ms())


def test_what_was_done_is_verified_by_the_probe_that_the_hint_names(duty: Duty) -> None:
    duty.pin(MAIL, NEWS)
    heartbeat = duty.cycle(MAIL, NEWS)
    assert duty.rules(heartbeat) == {"mail": ["verified_required"], "news": ["verified_optional"]}
    assert (heartbeat.points, duty.days[0].score, duty.days[0].verified) == (15, 15, 2)
    outcome = json.loads(heartbeat.outcome)
    assert (outcome["score"], outcome["target"], outcome["penalty"]) == (15, 50, "none")
    duty.same_from_facts()


def test_a_skipped_task_costs_and_says_why_and_which_attempt_it_was(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    heartbeat = duty.cycle(MAIL, reply="")
    assert duty.rules(heartbeat) == {"mail": ["not_verified"]}
    (said,) = json.loads(heartbeat.outcome)["feedback"]
    assert said.startswith("mail (attempt 1 of 3): not_verified: the probe finds it not met")


def test_a_claim_that_was_measured_to_be_false_costs_45(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    heartbeat = duty.cycle(MAIL, claims={"mail": {"value": 7}})
    assert duty.rules(heartbeat) == {"mail": ["not_verified", "contradiction"]}
    assert (heartbeat.points, duty.days[0].contradictions, duty.days[0].failed) == (-45, 1, 1)


def test_without_a_contract_there_is_nothing_to_do(duty: Duty) -> None:
    taken = duty.check_in()
    assert (taken["state"], taken["skip"]) == ("skipped", "nothing_to_do")
    assert not duty.known


def test_the_first_contract_that_is_shown_holds_until_the_operator_accepts_one(duty: Duty) -> None:
    assert duty.rules(duty.cycle(MAIL)) == {"mail": ["unclear_verifier"]}, "no probe runs for it"
    assert duty.agreement.pinned_by == "first_use"
    duty.cycle(NEWS)
    assert list(json.loads(duty.agreement.weakened)) == ["mail"]
    assert duty.days[0].score == -15
    offered = duty.agreement.offered
    digest = duty.heartbeat(_newest(duty)).contract_digest
    duty.town.act(duty.operator, lambda entry: agree(entry, duty.agent.id, None, digest, {}))
    assert (duty.agreement.text, duty.agreement.pinned_by, duty.agreement.weakened) == (offered, duty.operator.id, "{}")
    assert duty.rules(duty.cycle(NEWS)) == {"news": ["verified_required"]}, "below zero all is required"


def test_only_what_is_offered_now_can_be_accepted_by_its_digest(duty: Duty) -> None:
    duty.cycle(MAIL)
    with pytest.raises(Refused) as refused:
        duty.town.act(duty.operator, lambda entry: agree(entry, duty.agent.id, None, "sha256:" + "0" * 64, {}))
    assert refused.value.code == "etag_mismatch"


def test_tiers_change_the_interval_and_force_optional_tasks(duty: Duty) -> None:
    duty.pin(MAIL, NEWS)
    duty.probes.values.update(mail_count=0, news_count=0)
    first = duty.cycle()
    assert duty.rules(first) == {"mail": ["not_verified"], "news": ["left_optional"]}
    assert (duty.score.penalty, json.loads(first.outcome)["interval_s"]) == (Penalty.LOCKDOWN, 480)
    assert duty.agreement.next_wake_ms == first.at_ms + 8 * MINUTE_MS
    second = duty.cycle()
    assert [one["is_forced"] for one in json.loads(second.asked)] == [False, True]
    assert duty.rules(second) == {"mail": ["not_verified"], "news": ["not_verified"]}
    duty.probes.values.update(mail_count=1, news_count=1)
    assert duty.cycle().points == 20, "what is required earns as much"


def test_the_operator_is_told_once_of_a_lockdown_and_once_of_its_end(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    duty.cycle()
    duty.cycle()
    assert duty.mails == ["@ada is in lockdown"]
    duty.probes.values["mail_count"] = 1
    for _ in range(3):
        duty.cycle()
    assert duty.days[0].score == 0
    assert duty.mails == ["@ada is in lockdown", "@ada has left lockdown"]
    duty.cycle()
    assert len(duty.mails) == 2


def test_the_set_interval_is_used_and_a_penalty_only_shortens_it(duty: Duty) -> None:
    duty.pin(MAIL, interval_s=300)
    assert duty.agreement.next_wake_ms == 0
    heartbeat = duty.cycle()
    assert duty.agreement.next_wake_ms == heartbeat.at_ms + 300_000
    duty.probes.values["mail_count"] = 0
    heartbeat = duty.cycle()
    assert duty.agreement.next_wake_ms == heartbeat.at_ms + 300_000


def test_an_outstanding_day_earns_twenty_minutes(duty: Duty) -> None:
    duty.pin(MAIL, interval_s=60)
    for _ in range(4):
        duty.cycle()
    before = duty.score.reward
    heartbeat = duty.cycle()
    assert (before, duty.score.reward) == (Reward.EXCELLENT, Reward.OUTSTANDING)
    assert duty.agreement.next_wake_ms == heartbeat.at_ms + 20 * MINUTE_MS


def test_an_extra_wake_never_scores(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.cycle()
    for _ in range(3):
        duty.town.clock.jump_ms(MINUTE_MS)
        taken = duty.check_in(MAIL)
        assert (taken["skip"], taken["tasks"]) == ("nothing_to_do", [])
        assert taken["next_check_in_after"] == "2026-05-28T20:41:40Z"
    assert duty.days[0].score == 10
    assert duty.agreement.skip == "nothing_to_do"


def test_a_task_with_a_period_of_its_own_is_scored_once_in_it(duty: Duty) -> None:
    duty.pin(MAIL, f"{NEWS} | every: 6h")
    assert set(duty.rules(duty.cycle())) == {"mail", "news"}
    for _ in range(3):
        assert set(duty.rules(duty.cycle())) == {"mail"}
    duty.town.clock.jump_ms(6 * 60 * MINUTE_MS)
    assert set(duty.rules(duty.cycle())) == {"mail", "news"}


def test_a_heartbeat_that_is_being_judged_keeps_the_next_one_waiting(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.check_in()
    duty.wait()
    assert duty.check_in()["skip"] == "busy"
    duty.judge()
    assert duty.check_in()["state"] == "verifying"


@pytest.mark.parametrize(
    ("settings", "skip"),
    [
        ({"is_enabled": False, "is_paused": True}, "disabled"),
        ({"is_paused": True, "active_from": "00:00", "active_to": "00:01"}, "paused"),
        ({"active_from": "03:00", "active_to": "04:00", "zone": "Europe/Berlin"}, "outside_active_hours"),
    ],
)
def test_each_closed_gate_is_named(duty: Duty, settings: dict[str, object], skip: str) -> None:
    duty.pin(MAIL, **settings)
    assert duty.check_in()["skip"] == skip
    assert duty.agreement.skip == skip
    assert not duty.days


def test_a_turn_across_midnight_belongs_to_the_day_on_which_it_started(duty: Duty) -> None:
    duty.pin(MAIL, zone="Europe/Berlin")
    at(duty, "2026-06-01T23:59:50", "Europe/Berlin")
    duty.check_in()
    duty.town.clock.jump_ms(MINUTE_MS)
    duty.judge()
    assert [(day.date, day.score) for day in duty.days] == [("2026-06-01", 10)]
    duty.cycle()
    assert [(day.date, day.score) for day in duty.days] == [("2026-06-02", 10), ("2026-06-01", 10)]


def test_a_vote_after_midnight_and_a_verdict_of_the_day_before_both_count(duty: Duty) -> None:
    duty.pin(MAIL, zone="Europe/Berlin")
    at(duty, "2026-06-01T23:59:50", "Europe/Berlin")
    name = duty.check_in()["heartbeat_id"]
    duty.town.clock.jump_ms(MINUTE_MS)
    duty.town.act(duty.operator, lambda entry: vote(entry, "up", name))
    duty.judge()
    assert [(day.date, day.score) for day in duty.days] == [("2026-06-02", 3), ("2026-06-01", 10)]
    assert duty.score.points == 13
    duty.same_from_facts()


def test_a_clock_that_goes_back_never_rolls_the_day(duty: Duty) -> None:
    duty.pin(MAIL)
    duty.cycle()
    date = duty.days[0].date
    duty.town.clock.jump_ms(-2 * DAY_MS)
    duty.town.act(duty.operator, lambda entry: vote(entry, "up", _newest(duty)))
    assert [(day.date, day.score) for day in duty.days] == [(date, 13)]
    assert duty.check_in()["skip"] == "nothing_to_do"


@pytest.mark.parametrize(
    ("zone", "date", "hours"),
    [
        ("Europe/Berlin", "2026-07-01", 24),
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("America/Santiago", "2026-09-06", 23),
        ("America/Santiago", "2026-04-04", 25),
    ],
)
def test_a_day_on_which_clocks_change_is_one_day_and_earns_what_its_hours_let_it(
    duty: Duty, zone: str, date: str, hours: int
) -> None:
    """Also where it is midnight that is left out or comes twice."""
    duty.town.clock.jump_ms(begins_at_ms(date, zone) - duty.town.clock.now_ms())
    duty.pin(MAIL, zone=zone, interval_s=3_600)
    dates = [duty.cycle().date for _ in range(hours)]
    assert set(dates) == {date}
    assert (duty.days[0].score, duty.days[0].possible) == (10 * hours, 10 * hours)
    assert duty.cycle().date > date


def test_a_restart_in_the_middle_of_a_cycle_loses_and_doubles_nothing(duty: Duty) -> None:
    duty.pin(MAIL)
    name = duty.check_in()["heartbeat_id"]
    duty.judging = HeartbeatJudging(duty.town.market)
    duty.judge()
    duty.judging = HeartbeatJudging(duty.town.market)
    duty.judge()
    assert (duty.heartbeat(name).points, duty.days[0].score) == (10, 10)


def test_a_vote_replaces_the_one_before_and_a_loop_of_votes_moves_nothing(duty: Duty) -> None:
    duty.pin(MAIL)
    name = duty.cycle().id
    found = [
        dict(duty.town.act(duty.operator, lambda entry, word=word: vote(entry, word, name)))  # type: ignore[misc]
        for word in ("up", "up", "down", "down", "up")
    ]
    assert [one["points"] for one in found] == [3, 0, -13, 0, 13]
    assert [one["score"] for one in found] == [13, 13, 0, 0, 13]
    assert (duty.days[0].verified, duty.days[0].failed) == (1, 0)


def test_only_an_operator_votes_and_only_for_a_message_that_was_sent(duty: Duty) -> None:
    duty.pin(MAIL)
    name = duty.cycle().id
    for caller, message, code in (
        (duty.agent, name, "scope_forbidden"),
        (duty.town.with_scope(duty.agent, Scope.HEARTBEAT), name, "heartbeat_scope_forbidden"),
        (duty.operator, "hbt_NOBODY", "not_found"),
    ):
        with pytest.raises(Refused) as refused:
            duty.town.act(caller, lambda entry, message=message: vote(entry, "up", message))  # type: ignore[misc]
        assert refused.value.code == code


def test_an_exhausted_task_is_not_asked_for_or_charged_again_that_day_and_the_operator_is_told(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 2")
    duty.probes.values["mail_count"] = 0
    assert [duty.cycle().points for _ in range(2)] == [-15, -15]
    assert duty.agreement.exhausted_on(duty.days[0].date) == ["mail"]
    assert duty.mails == ["@ada is in lockdown", "@ada has used up its attempts"]
    duty.wait()
    assert duty.check_in()["skip"] == "nothing_to_do"
    assert duty.days[0].score == -30
    duty.town.clock.jump_ms(DAY_MS)
    (asked,) = json.loads(duty.cycle().asked)
    assert (asked["attempt"], asked["max_attempts"]) == (1, 2)


def test_the_operator_or_an_accepted_edit_lets_an_exhausted_task_begin_anew(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 1")
    duty.probes.values["mail_count"] = 0
    duty.cycle()
    duty.wait()
    assert duty.check_in()["skip"] == "nothing_to_do"
    duty.town.act(duty.operator, lambda entry: begin_anew(entry, duty.agent.id, "mail"))
    assert duty.check_in()["state"] == "verifying"
    duty.judge()
    duty.pin(f"{MAIL} | max_attempts: 2")
    assert duty.cycle().points == -15


def test_a_success_gives_all_attempts_back(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 2")
    for value, points in ((0, -15), (1, 10), (0, -15), (1, 10)):
        duty.probes.values["mail_count"] = value
        assert duty.cycle().points == points


def test_each_number_is_explained_by_its_facts(duty: Duty) -> None:
    duty.pin(MAIL, NEWS)
    name = duty.cycle(claims={"mail": {"value": 9}}).id
    duty.town.act(duty.operator, lambda entry: vote(entry, "down", name))
    events = duty.town.database.read_sync(lambda reader: list_events(reader, duty.agent.id, "", 100))
    booked = [(part["rule"], part["points"]) for one in reversed(events) for part in cast("Any", one["events"])]
    assert booked == [("not_verified", -15), ("contradiction", -30), ("verified_optional", 5), ("vote_down", -10)]
    assert sum(points for _, points in booked) == duty.days[0].score == duty.score.points


def test_the_most_that_a_day_can_earn_is_counted_in_due_periods(duty: Duty) -> None:
    duty.pin(MAIL, f"{NEWS} | every: 6h", interval_s=3_600)
    assert duty.agreement.possible == 24 * 10 + 4 * 5
    duty.configure(active_from="08:00", active_to="20:00")
    assert duty.agreement.possible == 12 * 10 + 2 * 5


def test_settings_that_make_no_sense_are_refused(duty: Duty) -> None:
    for settings in ({"zone": "Mars/Base"}, {"active_from": "8"}):
        with pytest.raises(Refused):
            duty.pin(MAIL, **settings)
    with pytest.raises(Refused):
        duty.town.act(duty.agent, lambda entry: agree(entry, duty.agent.id, contract(MAIL), None, {}))


def _newest(duty: Duty) -> str:
    sql = "SELECT id FROM heartbeats ORDER BY id DESC LIMIT 1"
    return str(duty.town.database.read_sync(lambda reader: reader.execute(sql).fetchone()[0]))


@pytest.mark.parametrize(
    ("interval_s", "begin", "end", "times"),
    [
        (900, "08:00", "08:20", 2),
        (7 * 3_600, "00:00", "24:00", 4),
        (5_400, "22:00", "02:00", 4),
        (3_600, "22:00", "22:00", 24),
    ],
)
def test_no_day_earns_more_than_what_is_said_to_be_possible(
    duty: Duty, interval_s: int, begin: str, end: str, times: int
) -> None:
    """Periods that the day, or its active hours, cut short are due all the same."""
    at(duty, "2026-07-01T00:00", "UTC")
    duty.pin(MAIL, interval_s=interval_s, active_from=begin, active_to=end)
    for _ in range(24 * 12):
        if duty.check_in()["heartbeat_id"]:
            duty.judge()
        duty.town.clock.jump_ms(5 * MINUTE_MS)
    assert (duty.days[0].score, duty.days[0].possible) == (10 * times, 10 * times)
