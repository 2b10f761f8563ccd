"""Does a home say what of an agent's promises only its operator can settle, for as long as it holds?"""

from collections.abc import Mapping
from typing import Any, cast

from earnest.foundation.instants import DAY_MS, MINUTE_MS
from earnest.market.homes.home import build
from earnest.runtime.accountability.deciding import decide
from earnest.views.home import read_home

from .conftest import MAIL, NEWS, Duty

CALL = "- [ ] call | Call grandmother | required | verify: human"


def home(duty: Duty) -> Mapping[str, Any]:
    market, now_ms = duty.town.market, duty.town.clock.now_ms()
    read = duty.town.database.read_sync(lambda reader: read_home(reader, duty.agent.id, now_ms))
    return cast("Mapping[str, Any]", build(read, now_ms, market.terms).body)


def settled_by_a_person(duty: Duty) -> set[str]:
    return {one["code"] for one in home(duty)["human_attention"]}


def test_without_a_contract_nothing_of_it_is_shown(duty: Duty) -> None:
    assert home(duty)["accountability"] is None
    assert settled_by_a_person(duty) == set()


def test_a_contract_that_nobody_has_accepted_is_shown_until_somebody_does(duty: Duty) -> None:
    duty.cycle(MAIL)
    assert "contract_not_accepted" in settled_by_a_person(duty)
    duty.pin(MAIL)
    assert "contract_not_accepted" not in settled_by_a_person(duty)


def test_a_weakened_contract_is_shown_until_it_is_accepted_or_taken_back(duty: Duty) -> None:
    duty.pin(MAIL, NEWS)
    duty.cycle(MAIL)
    assert settled_by_a_person(duty) == set(), "an optional task may go"
    duty.cycle(NEWS)
    assert "contract_weakened" in settled_by_a_person(duty)
    duty.cycle(MAIL, NEWS)
    assert "contract_weakened" not in settled_by_a_person(duty)


def test_a_verdict_that_waits_is_shown_until_it_is_given(duty: Duty) -> None:
    duty.pin(CALL)
    name = duty.cycle().id
    assert settled_by_a_person(duty) == {"verdict_waits"}
    duty.town.act(duty.operator, lambda entry: decide(entry, name, "call", verified=True, reason="She says so."))
    assert settled_by_a_person(duty) == set()


def test_an_exhausted_task_is_shown_for_the_rest_of_the_day(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 1")
    duty.probes.values["mail_count"] = 0
    duty.cycle()
    assert settled_by_a_person(duty) == {"task_exhausted", "lockdown"}
    duty.town.clock.jump_ms(DAY_MS)
    assert settled_by_a_person(duty) == {"lockdown"}


def test_an_exhausted_task_that_is_edited_with_leave_is_exhausted_no_more(duty: Duty) -> None:
    duty.pin(f"{MAIL} | max_attempts: 1", f"{NEWS} | max_attempts: 1")
    duty.probes.values.update(mail_count=0, news_count=0)
    duty.cycle(claims={"news": {}})
    duty.pin(f"{MAIL} | max_attempts: 2", f"{NEWS} | max_attempts: 1")
    (told,) = [one["text"] for one in home(duty)["human_attention"] if one["code"] == "task_exhausted"]
    assert told == "No attempts are left today for: news."


def test_what_the_operator_changes_about_the_hours_is_heard_on_the_same_day(duty: Duty) -> None:
    duty.pin(MAIL, interval_s=3_600, active_from="20:00", active_to="24:00")
    duty.cycle()
    assert settled_by_a_person(duty) == {"target_out_of_reach"}
    duty.configure(active_from="14:00")
    assert settled_by_a_person(duty) == set()


def test_a_target_that_no_whole_day_can_reach_is_shown(duty: Duty) -> None:
    duty.pin(MAIL, interval_s=3_600, active_from="08:00", active_to="12:00")
    assert duty.agreement.possible == 40
    assert settled_by_a_person(duty) == {"target_out_of_reach"}
    duty.configure(active_to="14:00")
    assert settled_by_a_person(duty) == set()


def test_the_tiers_word_stands_in_home_and_nothing_else_there_moves(duty: Duty) -> None:
    before = home(duty)
    duty.pin(MAIL)
    duty.probes.values["mail_count"] = 0
    duty.cycle()
    after = home(duty)
    told = after["accountability"]
    assert (told["score"], told["target"], told["penalty"], told["interval_s"]) == (-15, 50, "lockdown", 480)
    assert told["message"].startswith("Lockdown")
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"accountability", "human_attention", "next_check_in_after", "state_hash", "your_account"}
    one, other = (dict(each["your_account"]) for each in (before, after))
    assert {name for name in one if one[name] != other[name]} == {"heartbeat"}
    assert after["actions"] == before["actions"]
    duty.town.clock.jump_ms(8 * MINUTE_MS)
    assert home(duty)["actions"] == before["actions"], "a wake that is due is no action of the market's"
