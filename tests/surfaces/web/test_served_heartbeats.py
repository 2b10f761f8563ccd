"""Heartbeats of a platform in a process of its own: what a kill leaves, and what two at once come to."""

import contextlib
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from earnest.foundation.errors import Unavailable
from earnest.testing.served import GENEROUS, ServedPlatform, served

from .test_served_platform import CUT_OFF, ENDED_S, ENVIRONMENT, MORTAL

MORTAL_SIDECAR = (sys.executable, str(Path(__file__).with_name("mortal_sidecar.py")))
CONTRACT = "## Tasks\n- [ ] mail | Look at the mail | required | verify: fresh\n"
SENT = {"contract": CONTRACT, "reply": "done"}
CHECK_IN = "POST /api/v1/agents/me/heartbeats"
CROWD = 12


@pytest.fixture
def settings(tmp_path: Path) -> str:
    """With a probe that finds what it looks for."""
    (tmp_path / "fresh.txt").write_text("new")
    return f'{GENEROUS}\n[probes.fresh]\nkind = "file"\npath = "{tmp_path / "fresh.txt"}"\nat_most = 86400\n'


def with_contract(platform: ServedPlatform) -> dict[str, str]:
    """An agent whose contract the operator accepted: only then does its probe run."""
    ada: dict[str, str] = platform.agent("ada")
    platform.accept_contract("ada", CONTRACT)
    return ada


def judged(platform: ServedPlatform, key: str) -> list[dict[str, Any]]:
    """All heartbeats, once none of them waits."""

    def none_waits(found: dict[str, Any]) -> bool:
        return bool(found["data"]) and all(one["state"] == "judged" for one in found["data"])

    found: list[dict[str, Any]] = platform.ask_until("/agents/me/heartbeats", none_waits, key=key)["data"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["answer", "within", "after"])
def test_a_kill_in_the_middle_of_a_cycle_loses_and_doubles_nothing(tmp_path: Path, settings: str, killed: str) -> None:
    home = tmp_path / "home"
    program = MORTAL if killed == "answer" else MORTAL_SIDECAR
    environment = {**ENVIRONMENT, "KILLED": killed, "KILLED_AFTER": CHECK_IN}
    with served(home, environment, settings=settings, program=program) as platform:
        platform.become_operator()
        ada = with_contract(platform)
        with contextlib.suppress(*CUT_OFF):
            platform.ask("POST", "/agents/me/heartbeats", SENT, key=ada["hb"], idempotency_key="beat")
        assert platform.process.wait(ENDED_S) == -signal.SIGKILL
    with served(home, ENVIRONMENT) as platform:
        again = platform.ask("POST", "/agents/me/heartbeats", SENT, key=ada["hb"], idempotency_key="beat")
        (only,) = judged(platform, ada["hb"])
        assert (again["heartbeat_id"], only["points"]) == (only["heartbeat_id"], 10)
        score = platform.ask("GET", "/score", key=ada["live"])
        assert (score["today"]["score"], score["lifetime"]["points"], score["today"]["verified"]) == (10, 10, 1)
        events = platform.ask("GET", "/score/events", key=ada["live"])["data"]
        assert [one["points"] for one in events if one["events"]] == [10]


@pytest.mark.slow
def test_of_many_check_ins_at_once_one_counts_and_no_second_process_judges(tmp_path: Path, settings: str) -> None:
    home = tmp_path / "home"
    with served(home, ENVIRONMENT, settings=settings) as platform:
        platform.become_operator()
        ada = with_contract(platform)
        with pytest.raises(Unavailable), served(home, {**ENVIRONMENT, "PYTHONWARNINGS": "ignore"}):
            pass
        with ThreadPoolExecutor(CROWD) as pool:
            answers = list(
                pool.map(
                    lambda _: platform.ask("POST", "/agents/me/heartbeats", SENT, key=ada["hb"]),
                    range(CROWD),
                )
            )
        assert sorted(one["state"] for one in answers) == ["skipped"] * (CROWD - 1) + ["verifying"]
        assert {one["skip"] for one in answers} <= {None, "busy", "nothing_to_do"}
        assert [one["points"] for one in judged(platform, ada["hb"])] == [10]
        assert platform.ask("GET", "/score", key=ada["live"])["today"]["score"] == 10
