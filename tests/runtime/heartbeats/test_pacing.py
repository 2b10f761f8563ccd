"""Does the runner look when it should?"""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.accountability.gate import DailyHours, hours_of, minute_of
from earnest.client.heartbeat import BREAK_MS, LONGEST_MS, SPACING_MS, HeartbeatState
from earnest.foundation.instants import EPOCH, MINUTE_MS, rfc3339_s
from earnest.runtime.heartbeats.pacing import (
    IDLE_LONGEST_MS,
    HeartbeatPace,
    failure_wait_ms,
    first_look_ms,
    next_look_ms,
    opens_ms,
)

NOW = 1_780_000_000_000
QUARTER = 15 * MINUTE_MS


def at_ms(local: str, zone: str = "UTC", fold: int = 0) -> int:
    moment = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return round((moment - EPOCH).total_seconds() * 1_000)


def looked(idle: int = 0) -> HeartbeatState:
    return HeartbeatState(last_heartbeat_at_ms=NOW, consecutive_no_action_count=idle)


@pytest.mark.parametrize(
    ("pace", "idle", "minutes"),
    [
        (HeartbeatPace(), 0, 30),
        (HeartbeatPace(interval_ms=QUARTER), 0, 15),
        (HeartbeatPace(interval_ms=QUARTER, next_wake_ms=NOW + 4 * MINUTE_MS), 0, 4),
        (HeartbeatPace(interval_ms=QUARTER, next_wake_ms=NOW + 20 * MINUTE_MS), 0, 15),
        (HeartbeatPace(interval_ms=QUARTER, next_wake_ms=NOW - 1), 0, 15),
        (HeartbeatPace(interval_ms=QUARTER, next_wake_ms=NOW + 1), 0, 1),
        (HeartbeatPace(interval_ms=1), 0, 1),
        (HeartbeatPace(interval_ms=QUARTER), 9, 15),
        (HeartbeatPace(interval_ms=QUARTER), 10, 30),
        (HeartbeatPace(interval_ms=QUARTER), 11, 60),
        (HeartbeatPace(interval_ms=QUARTER), 10_000, 60),
        (HeartbeatPace(interval_ms=4 * IDLE_LONGEST_MS), 12, 240),
        (HeartbeatPace(interval_ms=QUARTER, next_wake_ms=NOW + 20 * MINUTE_MS), 11, 20),
        (HeartbeatPace(interval_ms=QUARTER, is_penalised=True), 10_000, 15),
    ],
)
def test_the_next_look_is_the_platforms_wake_or_an_interval_or_later_when_idle(
    pace: HeartbeatPace, idle: int, minutes: int
) -> None:
    assert next_look_ms(looked(idle), pace) == NOW + minutes * MINUTE_MS


@given(
    interval_ms=st.integers(MINUTE_MS, LONGEST_MS),
    wake_ms=st.integers(NOW - LONGEST_MS, NOW + 2 * LONGEST_MS),
    idle=st.integers(0, 100),
    is_penalised=st.booleans(),
)
def test_nobody_looks_twice_a_minute_or_sleeps_past_a_wake_and_an_action_never_slows_down(
    interval_ms: int, wake_ms: int, idle: int, is_penalised: bool
) -> None:
    pace = HeartbeatPace(interval_ms=interval_ms, next_wake_ms=wake_ms, is_penalised=is_penalised)
    found = next_look_ms(looked(idle), pace)
    assert NOW + SPACING_MS <= found <= NOW + max(interval_ms, IDLE_LONGEST_MS)
    if wake_ms > NOW:
        assert found <= max(wake_ms, NOW + SPACING_MS)
    assert next_look_ms(looked(0), pace) <= found
    assert not is_penalised or found <= NOW + interval_ms


@pytest.mark.parametrize(
    ("failures", "minutes"),
    [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 60), (6, 120), (7, 240), (9, 960), (10, 1_440), (1_000_000, 1_440)],
)
def test_failures_in_a_row_are_waited_for_longer_and_longer(failures: int, minutes: int) -> None:
    assert failure_wait_ms(failures, LONGEST_MS) == minutes * MINUTE_MS
    assert failure_wait_ms(failures, BREAK_MS) == min(60, minutes) * MINUTE_MS


@pytest.mark.parametrize(
    ("asked_ms", "waited_ms"),
    [(None, MINUTE_MS), (3_000, MINUTE_MS), (300_000, 300_000), (90 * 86_400_000, LONGEST_MS)],
)
def test_a_platform_is_given_the_time_that_it_asks_for_up_to_a_day(asked_ms: int | None, waited_ms: int) -> None:
    assert failure_wait_ms(1, BREAK_MS, asked_ms) == waited_ms


@pytest.mark.parametrize(
    ("last_ms", "errors", "failures", "first_ms"),
    [
        (0, 0, 0, NOW),
        (0, 9, 9, NOW),
        (NOW - SPACING_MS, 0, 0, NOW),
        (NOW - 1_000, 0, 0, NOW + 59_000),
        (NOW - 1_000, 4, 4, NOW + 59_000),
        (NOW - 1_000, 5, 0, NOW + BREAK_MS - 1_000),
        (NOW - 1_000, 6, 6, NOW + 2 * BREAK_MS - 1_000),
        (NOW - BREAK_MS, 5, 5, NOW),
        (NOW + LONGEST_MS, 5, 5, NOW),
    ],
)
def test_a_restart_is_no_way_round_a_pause(last_ms: int, errors: int, failures: int, first_ms: int) -> None:
    state = HeartbeatState(last_heartbeat_at_ms=last_ms, consecutive_error_count=errors)
    assert first_look_ms(state, failures, NOW) == first_ms


BERLIN = "Europe/Berlin"
HOURS = [
    ("08:00", "22:00", "UTC", "2026-11-22T07:59:59", "2026-11-22T08:00:00"),
    ("08:00", "22:00", "UTC", "2026-11-22T08:00:00", "2026-11-22T08:00:00"),
    ("08:00", "22:00", "UTC", "2026-11-22T21:59:59", "2026-11-22T21:59:59"),
    ("08:00", "22:00", "UTC", "2026-11-22T22:00:00", "2026-11-23T08:00:00"),
    ("22:00", "06:00", "UTC", "2026-11-22T23:30:00", "2026-11-22T23:30:00"),
    ("22:00", "06:00", "UTC", "2026-11-22T05:59:00", "2026-11-22T05:59:00"),
    ("22:00", "06:00", "UTC", "2026-11-22T06:00:00", "2026-11-22T22:00:00"),
    ("24:00", "06:00", "UTC", "2026-11-22T23:59:30", "2026-11-23T00:00:00"),
    ("00:00", "24:00", "UTC", "2026-11-22T23:59:59", "2026-11-22T23:59:59"),
    ("09:00", "09:00", "UTC", "2026-11-22T03:00:00", "2026-11-22T03:00:00"),
    ("08:00", "22:00", BERLIN, "2026-03-28T23:00:00", "2026-03-29T08:00:00"),  # a night of 8 hours
    ("08:00", "22:00", BERLIN, "2026-10-24T23:00:00", "2026-10-25T08:00:00"),  # of 10
    ("02:30", "04:00", BERLIN, "2026-03-29T01:59:00", "2026-03-29T03:00:00"),  # 02:00 to 03:00 is left out
    ("02:10", "02:50", BERLIN, "2026-03-29T01:59:00", "2026-03-30T02:10:00"),  # all of it is
]


@pytest.mark.parametrize(("begin", "end", "zone", "now", "opens"), HOURS)
def test_active_hours_begin_by_the_clocks_of_their_zone(begin: str, end: str, zone: str, now: str, opens: str) -> None:
    found = opens_ms(at_ms(now, zone), hours_of(begin, end), zone)
    assert rfc3339_s(found) == rfc3339_s(at_ms(opens, zone))


def test_hours_that_come_twice_in_a_night_are_open_twice() -> None:
    hours, first_end = hours_of("02:10", "02:50"), at_ms("2026-10-25T02:50:00", BERLIN)
    assert opens_ms(first_end, hours, BERLIN) == at_ms("2026-10-25T02:10:00", BERLIN, fold=1)


@given(
    now_ms=st.integers(at_ms("2026-01-01T00:00"), at_ms("2027-01-01T00:00")),
    begin=st.integers(0, 1_439),
    end=st.integers(0, 1_440),
    zone=st.sampled_from(["UTC", BERLIN, "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"]),
)
def test_what_opens_is_open_and_was_closed_until_then(now_ms: int, begin: int, end: int, zone: str) -> None:
    hours = DailyHours(begin=begin, end=end)
    found = opens_ms(now_ms, hours, zone)
    assert hours.hold(minute_of(found, zone))
    assert found == now_ms or not hours.hold(minute_of(found - 1, zone))
