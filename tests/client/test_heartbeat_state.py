"""Does an agent look when it should, and tell its human when it should?"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from earnest.client.heartbeat import (
    BREAK_MS,
    LONGEST_MS,
    SPACING_MS,
    HeartbeatState,
    instant_ms,
    is_error,
    load_state,
    next_boundary_ms,
    save_state,
)
from earnest.client.payloads_home import Home
from earnest.client.problem import Problem
from earnest.foundation.errors import EarnestError, Refused, Unavailable

NOW = 1_780_000_000_000
HALF_HOUR = 1_800_000


def a_home(**members: Any) -> Home:
    empty: dict[str, Any] = {"open_claims": [], "pending_reviews": [], "active_disputes": [], "work_to_judge": []}
    return cast("Home", {"state_hash": "sha256:aa", **empty, **members})


def after(state: HeartbeatState, times: int, *, acted: bool) -> HeartbeatState:
    for _ in range(times):
        state = state.looked(NOW, a_home(), acted=acted)
    return state


@pytest.mark.parametrize(
    ("idle", "halves"),
    [(0, 1), (9, 1), (10, 2), (11, 4), (12, 8), (15, 48), (1_000, 48)],
)
def test_after_ten_idle_looks_the_wait_doubles_up_to_a_day(idle: int, halves: int) -> None:
    state = after(HeartbeatState(), idle, acted=False)
    assert replace(state, last_heartbeat_at_ms=NOW).next_ms(HALF_HOUR) == NOW + halves * HALF_HOUR
    assert LONGEST_MS == 48 * HALF_HOUR


def test_an_action_ends_the_slow_pace() -> None:
    idle = after(HeartbeatState(), 20, acted=False)
    assert after(idle, 1, acted=True).next_ms(HALF_HOUR) == NOW + HALF_HOUR


def test_advice_of_more_than_a_day_is_not_shortened() -> None:
    assert after(HeartbeatState(), 12, acted=False).next_ms(3 * LONGEST_MS) == NOW + 3 * LONGEST_MS


def test_nobody_sleeps_past_what_is_due() -> None:
    idle = after(HeartbeatState(), 20, acted=False)
    assert idle.next_ms(HALF_HOUR, NOW + 5 * HALF_HOUR) == NOW + 5 * HALF_HOUR
    assert idle.next_ms(HALF_HOUR, NOW - 1) == NOW + LONGEST_MS


def test_two_looks_are_a_minute_apart_whatever_is_due() -> None:
    state = after(HeartbeatState(), 1, acted=True)
    assert state.next_ms(0, NOW + 1) == NOW + SPACING_MS
    assert not state.may_look(NOW + SPACING_MS - 1)
    assert state.may_look(NOW + SPACING_MS)
    assert HeartbeatState().may_look(NOW)


ERRORS: list[tuple[EarnestError, bool]] = [
    (Unavailable("no network"), True),
    (Problem(500, {}), True),
    (Problem(503, {}), True),
    (Problem(429, {}), True),
    (Problem(401, {}), True),
    (Problem(409, {}), False),
    (Problem(404, {}), False),
    (Problem(422, {}), False),
    (Refused("validation", "no"), False),
]


@pytest.mark.parametrize(("error", "counts"), ERRORS)
def test_only_failures_count_as_errors(error: EarnestError, counts: bool) -> None:
    assert is_error(error) is counts


def test_five_errors_in_a_row_open_the_breaker_for_an_hour_and_one_look_closes_it() -> None:
    state = HeartbeatState()
    for number in range(5):
        assert not state.is_broken, number
        state = state.failed(NOW, Unavailable("no"))
    assert state.is_broken
    assert not state.may_look(NOW + BREAK_MS - 1)
    assert state.next_ms(HALF_HOUR, NOW + 1) == NOW + BREAK_MS
    probed = state.failed(NOW + BREAK_MS, Unavailable("no"))
    assert not probed.may_look(NOW + BREAK_MS + SPACING_MS)
    assert not state.looked(NOW + BREAK_MS, a_home(), acted=False).is_broken


def test_an_answer_between_errors_ends_the_row() -> None:
    state = HeartbeatState()
    for _ in range(4):
        state = state.failed(NOW, Unavailable("no"))
    assert not state.failed(NOW, Problem(409, {})).failed(NOW, Unavailable("no")).is_broken


def test_an_unchanged_home_is_recognised() -> None:
    state = HeartbeatState().looked(NOW, a_home(), acted=False)
    assert state.is_same(a_home())
    assert not state.is_same(a_home(state_hash="sha256:bb"))


def test_the_next_boundary_is_the_earliest_instant_that_is_still_to_come() -> None:
    claim: dict[str, object] = {
        "deadline_at": "2026-05-28T20:26:40Z",
        "grace_ends_at": "2026-05-29T20:26:40Z",
        "seconds_total": 7_200,
    }
    claim["state"] = "in_progress"
    assert instant_ms("2026-05-28T20:26:40Z") == NOW
    home = a_home(open_claims=[claim])
    due_soon = NOW - 1_800_000
    assert next_boundary_ms(home, due_soon - 1) == due_soon
    assert next_boundary_ms(home, due_soon) == NOW
    assert next_boundary_ms(home, NOW) == NOW + 86_400_000
    assert next_boundary_ms(home, NOW + 86_400_000) is None
    dispute = {"respond_by": "2026-05-28T20:26:41Z"}
    assert next_boundary_ms(a_home(active_disputes=[dispute]), NOW) == NOW + 1_000


def test_work_that_may_be_sent_back_is_looked_for_when_the_platform_says() -> None:
    claim = {"deadline_at": None, "grace_ends_at": None, "seconds_total": 7_200, "state": "submitted"}
    home = a_home(open_claims=[claim], next_check_in_after="2026-05-28T20:26:40Z")
    boundary_ms = next_boundary_ms(home, NOW - 300_000)
    assert boundary_ms == NOW
    idle = HeartbeatState(last_heartbeat_at_ms=NOW - 300_000, consecutive_no_action_count=40)
    assert idle.next_ms(300_000, boundary_ms) == NOW


def test_the_file_is_the_one_of_the_seed(tmp_path: Path) -> None:
    state = HeartbeatState(last_heartbeat_at_ms=NOW, last_home_response_hash="sha256:aa", consecutive_no_action_count=3)
    save_state(tmp_path / "agents" / "me", state)
    assert load_state(tmp_path / "agents" / "me") == state
    assert json.loads((tmp_path / "agents" / "me" / "heartbeat.json").read_text()) == {
        "last_heartbeat_at": "2026-05-28T20:26:40Z",
        "last_home_response_hash": "sha256:aa",
        "consecutive_no_action_count": 3,
        "consecutive_error_count": 0,
    }


FIRST = {
    "last_heartbeat_at": None,
    "last_home_response_hash": "",
    "consecutive_no_action_count": 0,
    "consecutive_error_count": 0,
}


def test_without_a_file_everything_begins(tmp_path: Path) -> None:
    assert load_state(tmp_path) == HeartbeatState()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"last_heartbeat_at":null,"last_home_response_hash":"","consecutive_no_action_count":-1,"consecutive_error_count":0}',
    ],
)
def test_a_damaged_file_is_not_read_as_a_beginning(tmp_path: Path, text: str) -> None:
    (tmp_path / "heartbeat.json").write_text(text)
    with pytest.raises(Refused) as told:
        load_state(tmp_path)
    assert told.value.code == "heartbeat_state_damaged"
