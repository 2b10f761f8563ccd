"""Is a badge given, kept and lost by the published rule, and is availability what it must be?"""

from dataclasses import replace
from typing import Any

import pytest

from earnest.foundation.errors import Refused
from earnest.market.capabilities.availability import Availability, WeeklyHours, read_availability
from earnest.market.capabilities.badge import after_tests, after_time, after_work
from earnest.market.capabilities.capability import (
    Capability,
    CapabilityForm,
    CapabilityState,
    Trial,
    declared,
    edited,
    lapsed,
    revoked,
    with_wake,
)
from earnest.market.terms import DAY_S, Terms

DAY_MS = DAY_S * 1_000
NOW_MS = 1_780_000_000_000
TERMS = Terms()
FORM = CapabilityForm(
    category="code-generation",
    task_class="objective",
    availability=Availability(max_concurrent=2).text(),
    floor_micro=0,
    currency="USD",
    model_fingerprint="m1",
)
DECLARED = declared("cap_1", "act_1", FORM, NOW_MS - 400 * DAY_MS)
VERIFIED = with_wake(
    replace(
        DECLARED,
        state=CapabilityState.VERIFIED,
        verified_at_ms=NOW_MS - 10 * DAY_MS,
        lapses_at_ms=NOW_MS + 170 * DAY_MS,
    )
)


def trial(state: str = "passed", generator: str = "output-prediction", days_ago: int = 1, **other: Any) -> Trial:
    started_ms = NOW_MS - days_ago * DAY_MS
    values: dict[str, Any] = {
        "id": f"job_test_{state}",
        "account_id": "act_1",
        "capability_id": "cap_1",
        "category": "code-generation",
        "task_class": "objective",
        "generator": generator,
        "hidden": generator == "rule-program",
        "state": state,
        "question": "{}",
        "secret": "{}",
        "commitment": "",
        "model_fingerprint": "m1",
        "amount_micro": 10_000,
        "currency": "AID",
        "started_at_ms": started_ms,
        "expires_at_ms": started_ms + 1_800_000,
    }
    return Trial(**(values | other))


HIDDEN, SHOWN = "rule-program", "output-prediction"
ENOUGH = [trial(generator=HIDDEN), trial(generator=SHOWN), trial(generator=SHOWN)]


@pytest.mark.parametrize(
    ("trials", "state"),
    [
        ([], "declared"),
        ([trial(generator=HIDDEN), trial()], "declared"),
        (ENOUGH, "verified"),
        ([trial(), trial(), trial()], "probation"),
        ([trial(generator=HIDDEN)] * 3, "probation"),
        ([*ENOUGH, trial("failed")], "probation"),
        ([*ENOUGH, trial(), trial("failed")], "verified"),
        ([*ENOUGH, trial(), trial("expired")], "verified"),
        ([*ENOUGH, trial("expired")], "probation"),
        ([*ENOUGH, *[trial()] * 5, trial("failed"), trial("failed")], "verified"),
        ([*ENOUGH, *[trial()] * 4, trial("failed"), trial("failed")], "probation"),
        ([*ENOUGH, trial("running")], "verified"),
        ([trial("failed", generator=HIDDEN), trial(), trial(), trial(), trial()], "probation"),
        ([replace(each, started_at_ms=NOW_MS - 90 * DAY_MS) for each in ENOUGH], "verified"),
        ([replace(each, started_at_ms=NOW_MS - 90 * DAY_MS - 1_000) for each in ENOUGH], "declared"),
        ([*ENOUGH[:2], replace(ENOUGH[2], started_at_ms=NOW_MS - 91 * DAY_MS)], "declared"),
        ([replace(each, model_fingerprint="m2") for each in ENOUGH], "declared"),
        ([*ENOUGH[1:], replace(ENOUGH[0], model_fingerprint="m2")], "declared"),
        ([replace(each, capability_id="cap_2") for each in ENOUGH], "declared"),
        # Failures stay, whatever the capability is called or declared for since; those of others do not count.
        ([*ENOUGH, trial("failed", capability_id="cap_2")], "probation"),
        ([*ENOUGH, trial("expired", capability_id="cap_2", model_fingerprint="m2")], "probation"),
        ([*ENOUGH, trial("failed", task_class="subjective")], "probation"),
        ([*ENOUGH, trial("failed", model_fingerprint="m2")], "probation"),
        ([*ENOUGH, trial("failed", account_id="act_2")], "verified"),
        ([*ENOUGH, trial("failed", category="data-analysis")], "verified"),
    ],
)
def test_a_capability_is_verified_by_the_whole_rule_only(trials: list[Trial], state: str) -> None:
    after = after_tests(DECLARED, trials, NOW_MS, TERMS)
    assert after.state == state
    if state == "verified":
        assert (after.verified_at_ms, after.lapses_at_ms) == (NOW_MS, NOW_MS + 180 * DAY_MS)
        assert after.wake_ms == after.lapses_at_ms
    else:
        assert after.wake_ms is None


def test_a_failed_test_job_takes_no_badge_away() -> None:
    assert after_tests(VERIFIED, [trial("failed")] * 5, NOW_MS, TERMS) == VERIFIED


def test_a_badge_is_renewed_where_the_rule_is_met_again() -> None:
    after = after_tests(VERIFIED, ENOUGH, NOW_MS, TERMS)
    assert (after.verified_at_ms, after.lapses_at_ms) == (VERIFIED.verified_at_ms, NOW_MS + 180 * DAY_MS)


@pytest.mark.parametrize(("later_ms", "state"), [(-1_000, "verified"), (0, "lapsed"), (DAY_MS, "lapsed")])
def test_a_badge_ends_at_its_day_and_not_before(later_ms: int, state: str) -> None:
    at_ms = (VERIFIED.lapses_at_ms or 0) + later_ms
    after = after_time(VERIFIED, at_ms)
    assert after.state == state
    assert (after.wake_ms is None) == (state == "lapsed")


def test_what_was_shown_before_a_badge_ended_counts_no_more() -> None:
    fallen = lapsed(VERIFIED, NOW_MS)
    assert after_tests(fallen, ENOUGH, NOW_MS + 1_000, TERMS).state is CapabilityState.LAPSED
    fresh = [replace(each, started_at_ms=NOW_MS + 1_000) for each in ENOUGH]
    assert after_tests(fallen, fresh, NOW_MS + 2_000, TERMS).state is CapabilityState.VERIFIED
    doubtful = after_tests(fallen, [*fresh, replace(fresh[0], state="failed")], NOW_MS + 2_000, TERMS)
    assert doubtful.state is CapabilityState.PROBATION
    assert after_tests(doubtful, ENOUGH, NOW_MS + 3_000, TERMS).state is CapabilityState.PROBATION


def test_a_revoked_capability_stays_revoked() -> None:
    gone = revoked(VERIFIED)
    assert gone.wake_ms is None
    assert after_tests(gone, ENOUGH, NOW_MS, TERMS) == gone
    assert after_time(gone, NOW_MS + 999 * DAY_MS) == gone
    assert after_work(gone, 0.0, 99, NOW_MS) == gone
    assert edited(gone, replace(FORM, model_fingerprint="m2"), NOW_MS).state is CapabilityState.REVOKED


@pytest.mark.parametrize(
    ("before", "bound", "ended", "state"),
    [
        (VERIFIED, 0.49, 4, "lapsed"),
        (VERIFIED, 0.5, 4, "verified"),
        (VERIFIED, 0.05, 0, "verified"),
        (VERIFIED, 0.2, 3, "verified"),
        (VERIFIED, 0.0, 1_000, "lapsed"),
        (DECLARED, 0.0, 1_000, "declared"),
    ],
)
def test_a_badge_lapses_where_real_work_fails_too_often(
    before: Capability, bound: float, ended: int, state: str
) -> None:
    assert after_work(before, bound, ended, NOW_MS).state == state


@pytest.mark.parametrize(
    ("before", "state"),
    [
        (VERIFIED, "lapsed"),
        (replace(DECLARED, state=CapabilityState.PROBATION), "declared"),
        (DECLARED, "declared"),
        (lapsed(VERIFIED, NOW_MS - DAY_MS), "lapsed"),
    ],
)
def test_another_model_has_shown_nothing(before: Capability, state: str) -> None:
    after = edited(before, replace(FORM, model_fingerprint="m2"), NOW_MS)
    assert (after.state, after.revision) == (state, 2)
    assert after_tests(after, ENOUGH, NOW_MS + 1_000, TERMS).state == state


def test_an_edit_that_says_nothing_new_changes_nothing() -> None:
    assert edited(VERIFIED, FORM, NOW_MS) is VERIFIED
    assert edited(VERIFIED, replace(FORM, floor_micro=5), NOW_MS) == replace(VERIFIED, floor_micro=5, revision=2)


@pytest.mark.parametrize("other", [replace(FORM, category="writing"), replace(FORM, task_class="subjective")])
def test_a_badge_cannot_be_carried_over_to_other_work(other: CapabilityForm) -> None:
    with pytest.raises(Refused) as caught:
        edited(VERIFIED, other, NOW_MS)
    assert caught.value.code == "validation"


HOURS = {"days": ["fri", "mon"], "from": "09:00", "to": "24:00", "tz": "Europe/Berlin"}


def test_an_availability_is_read_whole() -> None:
    read = read_availability({"max_concurrent": 3, "paused": True, "hours": [HOURS]}, 100)
    hours = WeeklyHours(days=("mon", "fri"), begin="09:00", end="24:00", tz="Europe/Berlin")
    assert read == Availability(max_concurrent=3, paused=True, hours=(hours,))
    assert read_availability({"max_concurrent": 1}, 100) == Availability(max_concurrent=1)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "/max_concurrent"),
        ({"max_concurrent": -1}, "/max_concurrent"),
        ({"max_concurrent": 101}, "/max_concurrent"),
        ({"max_concurrent": True}, "/max_concurrent"),
        ({"max_concurrent": 1.0}, "/max_concurrent"),
        ({"max_concurrent": 1, "paused": 1}, "/paused"),
        ({"max_concurrent": 1, "hours": {}}, "/hours"),
        ({"max_concurrent": 1, "hours": [HOURS] * 51}, "/hours"),
        ({"max_concurrent": 1, "more": 1}, ""),
        ({"max_concurrent": 1, "hours": [None]}, "/hours/0"),
        ({"max_concurrent": 1, "hours": [HOURS, {**HOURS, "more": 1}]}, "/hours/1"),
        ({"max_concurrent": 1, "hours": [{**HOURS, "days": []}]}, "/hours/0/days"),
        ({"max_concurrent": 1, "hours": [{**HOURS, "days": ["mon", "mon"]}]}, "/hours/0/days"),
        ({"max_concurrent": 1, "hours": [{**HOURS, "days": ["Mon"]}]}, "/hours/0/days"),
        ({"max_concurrent": 1, "hours": [{**HOURS, "days": [["mon"]]}]}, "/hours/0/days"),
        *(({"max_concurrent": 1, "hours": [{**HOURS, "from": bad}]}, "/hours/0/from") for bad in ("9:00", "25:00", "")),
        *(({"max_concurrent": 1, "hours": [{**HOURS, "from": bad}]}, "/hours/0/from") for bad in ("09:60", "09:00\n")),
        *(
            ({"max_concurrent": 1, "hours": [{**HOURS, "to": bad}]}, "/hours/0/to")
            for bad in ("24:01", "09:00", "08:59")
        ),
        *(
            ({"max_concurrent": 1, "hours": [{**HOURS, "tz": bad}]}, "/hours/0/tz")
            for bad in ("", "Mars/Base", "../../etc/passwd", "/etc/localtime", "Europe", "CET+99/x", "Europe/Berlin\n")
        ),
    ],
)
def test_an_availability_that_means_nothing_is_refused_at_its_place(given: dict[str, Any], place: str) -> None:
    with pytest.raises(Refused) as caught:
        read_availability(given, 100)
    assert caught.value.code == "validation"
    errors: Any = caught.value.details["errors"]
    assert [error["pointer"] for error in errors] == [f"/availability{place}"]
