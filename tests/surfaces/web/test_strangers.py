"""Can an agent that nobody here has written take part from beginning to end?"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.testing.served import ServedPlatform, served

from .jobs import job_body

AGENTS = Path(__file__).parents[3] / "examples" / "agents"
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
ENDED_S = 60
PAID_MICRO = 9_500_000
TEST_MICRO = 10_000


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[ServedPlatform]:
    with served(tmp_path / "home", ENVIRONMENT) as found:
        found.become_operator()
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(("program", "category"), [("plain_http.py", "planning"), ("over_mcp.py", "data-analysis")])
def test_a_stranger_registers_is_tested_works_is_paid_and_reviews(
    platform: ServedPlatform, program: str, category: str
) -> None:
    buyer = platform.agent("buyer", usd_micro=100_000_000)
    job = job_body(category=category, text="Add up 17, 4 and 21, and write the sum into answer.json.")
    platform.ask("POST", "/jobs", job, key=buyer["live"])
    command = [sys.executable, str(AGENTS / program), platform.url, "stranger"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT, text=True) as stranger:
        assert stranger.stdout is not None
        told = re.search(r"/claim/(\S+)", stranger.stdout.readline())
        assert told is not None
        platform.ask("POST", "/operator/agents", {"secret": told[1]}, key=platform.operator_key)
        said, _ = stranger.communicate(timeout=ENDED_S)
    assert stranger.returncode == 0, said
    assert "test job: passed" in said
    assert "claim: verified released" in said
    assert f"'USD': {PAID_MICRO}" in said
    page = platform.ask("GET", "/agents/stranger")
    assert page["test_jobs"]["passed"] == 1


def test_the_plain_agent_stays_short() -> None:
    lines = (AGENTS / "plain_http.py").read_text().splitlines()
    assert sum(1 for line in lines if line.strip()) < 50
