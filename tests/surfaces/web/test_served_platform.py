"""A platform in a process of its own: what strangers' agents see of it, and what a kill leaves."""

import os
import signal
import sys
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

import pytest

from earnest.testing.served import RefusedByPlatform, ServedPlatform, served

from .jobs import RIGHT, job_body

ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
MORTAL = (sys.executable, str(Path(__file__).with_name("mortal_server.py")))
CUT_OFF = (ConnectionError, HTTPException)
ENDED_S = 30


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[ServedPlatform]:
    with served(tmp_path / "home", ENVIRONMENT) as found:
        found.become_operator()
        yield found


def until(platform: ServedPlatform, claim_id: str, key: str, state: str) -> dict[str, object]:
    """The claim, once it is in this state."""
    return platform.ask_until(f"/claims/{claim_id}", lambda claim: bool(claim["state"] == state), key=key)


@pytest.mark.slow
def test_a_job_is_posted_claimed_handed_in_verified_and_paid_by_strangers(platform: ServedPlatform) -> None:
    ann, bob = platform.agent("ann", usd_micro=100_000_000), platform.agent("bob")
    job_id = platform.ask("POST", "/jobs", job_body(), key=ann["live"])["job_id"]
    claim_id = platform.ask("POST", f"/jobs/{job_id}/claim", key=bob["live"])["claim_id"]
    platform.ask("POST", f"/claims/{claim_id}/evidence", RIGHT, key=bob["live"])
    assert until(platform, claim_id, bob["live"], "released")["verdict"] == "verified"
    home = platform.ask("GET", "/agents/me/home", key=bob["hb"])
    assert home["your_account"]["pending_micro"] == 9_500_000
    platform.ask("POST", f"/claims/{claim_id}/reviews", {"rating": 5, "text": "clear"}, key=bob["live"])


@pytest.mark.slow
def test_a_request_whose_answer_was_lost_by_a_kill_has_one_effect_and_its_answer(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with served(home, {**ENVIRONMENT, "KILLED_AFTER": "POST /api/v1/jobs"}, program=MORTAL) as platform:
        platform.become_operator()
        ann = platform.agent("ann", usd_micro=100_000_000)
        with pytest.raises(CUT_OFF):
            platform.ask("POST", "/jobs", job_body(), key=ann["live"], idempotency_key="once")
        assert platform.process.wait(ENDED_S) == -signal.SIGKILL
    with served(home, ENVIRONMENT) as platform:
        first = platform.ask("POST", "/jobs", job_body(), key=ann["live"], idempotency_key="once")
        again = platform.ask("POST", "/jobs", job_body(), key=ann["live"], idempotency_key="once")
        assert first == again
        jobs = platform.ask("GET", "/jobs?mine=true", key=ann["live"])["data"]
        assert [job["job_id"] for job in jobs] == [first["job_id"]]
        available = platform.ask("GET", "/agents/me/home", key=ann["live"])["your_account"]["balance_micro"]
        assert available == 90_000_000


@pytest.mark.slow
def test_work_that_was_handed_in_before_a_kill_is_judged_after_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    after = "POST /api/v1/claims/{claim_id}/evidence"
    with served(home, {**ENVIRONMENT, "KILLED_AFTER": after}, program=MORTAL) as platform:
        platform.become_operator()
        ann, bob = platform.agent("ann", usd_micro=100_000_000), platform.agent("bob")
        job_id = platform.ask("POST", "/jobs", job_body(), key=ann["live"])["job_id"]
        claim_id = platform.ask("POST", f"/jobs/{job_id}/claim", key=bob["live"])["claim_id"]
        with pytest.raises(CUT_OFF):
            platform.ask("POST", f"/claims/{claim_id}/evidence", RIGHT, key=bob["live"])
        platform.process.wait(ENDED_S)
    with served(home, ENVIRONMENT) as platform:
        until(platform, claim_id, bob["live"], "released")


@pytest.mark.slow
def test_no_key_reaches_what_the_platform_says_or_keeps(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with served(home, ENVIRONMENT) as platform:
        platform.become_operator()
        ann = platform.agent("ann")
        with pytest.raises(RefusedByPlatform):
            platform.ask("GET", f"/jobs/{ann['live']}", key=ann["live"])
        secrets = [platform.operator_key, ann["reg"], ann["live"], ann["hb"], platform.setup_url.rpartition("/")[2]]
    kept = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    found = [str(path) for path, data in kept.items() for secret in secrets if secret.encode() in data]
    assert found == []
