"""Does what a runner must know outlive it, and is it one runner's alone?"""

import json
import os
from pathlib import Path

import pytest

from earnest.client.heartbeat import HeartbeatState
from earnest.foundation.errors import Refused
from earnest.runtime.heartbeats.state import TURN_FILE, HeartbeatTurn, RunnerState, wake_runner

TURN = HeartbeatTurn(key="01A", at_ms=5, folder="/f", body={"reply": "x", "artifacts": []})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "agents" / "ada"


def test_what_was_kept_is_there_for_the_next_runner(folder: Path) -> None:
    first = RunnerState(folder)
    first.keep(turn=TURN, failures=3)
    first.keep_pace(HeartbeatState(last_heartbeat_at_ms=2_000, consecutive_error_count=3))
    first.release()
    second = RunnerState(folder)
    assert (second.kept.turn, second.kept.failures, second.kept.last) == (TURN, 3, None)
    assert second.pace.consecutive_error_count == 3
    second.keep(turn=None)
    second.release()
    assert RunnerState(folder).kept.turn is None


def test_the_seeds_file_has_the_seeds_members_and_nobody_else_reads_it(folder: Path) -> None:
    state = RunnerState(folder)
    state.keep_pace(HeartbeatState(last_heartbeat_at_ms=1_777_833_000_000))
    state.keep(turn=TURN)
    assert json.loads((folder / "heartbeat.json").read_text()) == {
        "last_heartbeat_at": "2026-05-03T18:30:00Z",
        "last_home_response_hash": "",
        "consecutive_no_action_count": 0,
        "consecutive_error_count": 0,
    }
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes == {"ada": 0o700, "heartbeat.json": 0o600, TURN_FILE: 0o600, "heartbeat.lock": 0o600}


def test_a_second_runner_is_refused_and_the_first_goes_on(folder: Path) -> None:
    first = RunnerState(folder)
    with pytest.raises(Refused, match=f"pid {os.getpid()}") as refused:
        RunnerState(folder)
    assert refused.value.code == "data_directory_in_use"
    first.keep(failures=1)


HANDED_IN = {"key": "01A", "at_ms": 5, "folder": "/f", "body": {}, "heartbeat_id": ""}
WHOLE = {"turn": HANDED_IN, "last": None, "failures": 0}
DAMAGED = [
    "",
    "{",
    "[]",
    "null",
    "[" * 100_000,
    '{"turn": null}',
    json.dumps({**WHOLE, "failures": -1}),
    json.dumps({**WHOLE, "failures": "1"}),
    json.dumps({**WHOLE, "last": 1}),
    json.dumps({**WHOLE, "turn": {"key": "01A"}}),
    json.dumps({**WHOLE, "turn": {**HANDED_IN, "key": "../x"}}),
    json.dumps({**WHOLE, "turn": {**HANDED_IN, "key": ""}}),
    json.dumps({**WHOLE, "turn": {**HANDED_IN, "body": []}}),
    json.dumps({**WHOLE, "turn": {**HANDED_IN, "body": {}}}),
    json.dumps({**WHOLE, "turn": {**HANDED_IN, "more": 1}}),
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_turn_that_is_damaged_is_refused_and_the_lock_given_back(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / TURN_FILE).write_text(text)
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            RunnerState(folder)
        assert refused.value.code == "heartbeat_state_damaged"


@pytest.mark.parametrize("text", ['{"last_heartbeat_at": "yesterday"}', "[" * 100_000, ""])
def test_a_pace_that_is_damaged_is_refused(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "heartbeat.json").write_text(text)
    with pytest.raises(Refused, match="no heartbeat state"):
        RunnerState(folder)


def test_a_turn_begins_in_an_empty_folder_and_those_before_it_go(folder: Path) -> None:
    state = RunnerState(folder)
    first = state.fresh_folder("01A")
    (first / "x").touch()
    assert list(state.fresh_folder("01B").iterdir()) == []
    assert not first.exists()


def test_nobody_is_woken_where_no_runner_works(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            wake_runner(folder)
        assert refused.value.code == "heartbeat_not_running"
        folder.mkdir(parents=True, exist_ok=True)
        RunnerState(folder).release()
