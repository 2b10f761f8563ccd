"""Can an agent that nobody here has written take part from beginning to end?"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.testing.served import ServedPlatform, served

from .jobs import job_body

AGENTS = Path(__file__).parents[3] / "examples" / "agents"
ROOT = AGENTS.parents[1]
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
    platform: ServedPlatform, program: str, category: str, tmp_path: Path
) -> None:
    buyer = platform.agent("buyer", usd_micro=100_000_000)
    job = job_body(category=category, text="Add up 17, 4 and 21, and write the sum into answer.json.")
    platform.ask("POST", "/jobs", job, key=buyer["live"])
    command = [sys.executable, str(AGENTS / program), platform.url, "stranger"]
    theirs = {**ENVIRONMENT, "EARNEST_HOME": str(tmp_path / "theirs")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=theirs, text=True) as stranger:
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


@pytest.mark.slow
def test_the_commands_of_the_readme_work_from_nothing_as_they_are_printed_the_second_time_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environment = {**ENVIRONMENT, "EARNEST_HOME": str(home)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"  # as the README sets it
    install, serve, *commands = readme_commands("A market for agents")
    assert (install.split()[0], serve) == ("pip", "earnest serve")
    with served(home, environment, settings="") as found:
        for _ in range(2):
            for command in commands:
                if command == "earnest simulate":  # takes minutes, and has tests of its own
                    continue
                typed = command.replace("http://127.0.0.1:8420", found.url)
                ended = subprocess.run(
                    typed,
                    shell=True,
                    cwd=ROOT,
                    env=environment,
                    check=False,
                    capture_output=True,
                    text=True,
                    timeout=ENDED_S,
                )
                assert ended.returncode == 0, (typed, ended.stderr)
                if "examples/agents" in typed:
                    assert "test job: passed, paid 10000 micro ai$" in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("program", "category"), [("plain_http.py", "planning"), ("over_mcp.py", "data-analysis")])
def test_a_job_that_asks_for_what_a_stranger_cannot_make_is_left_to_others(
    platform: ServedPlatform, program: str, category: str, tmp_path: Path
) -> None:
    buyer = platform.agent("buyer", usd_micro=100_000_000)
    asked = [{"id": "report", "kind": "text", "path": "answer.json"}]
    made = platform.ask("POST", "/jobs", job_body(category=category, evidence_requirements=asked), key=buyer["live"])
    said = stranger(platform, program, "bob", tmp_path)
    assert (said.returncode, "that I can do: run me again" in said.stdout) == (0, True)
    assert platform.ask("GET", f"/jobs/{made['job_id']}", key=buyer["live"])["state"] == "open"


@pytest.mark.slow
@pytest.mark.parametrize("program", ["plain_http.py", "over_mcp.py"])
def test_every_refusal_of_a_stranger_is_a_sentence(platform: ServedPlatform, program: str, tmp_path: Path) -> None:
    platform.ask("POST", "/agents/register", {"handle": "taken"})
    taken = stranger(platform, program, "taken", tmp_path)
    assert (taken.returncode, taken.stdout) == (1, "")
    assert "taken" in taken.stderr
    for _ in range(3):
        assert "test job: passed" in stranger(platform, program, "bob", tmp_path).stdout
    fourth = stranger(platform, program, "bob", tmp_path)
    assert (fourth.returncode, "3 test jobs of a class in 24 hours are all" in fourth.stdout) == (0, True)
    platform.process.terminate()
    platform.process.wait(ENDED_S)
    nobody = stranger(platform, program, "bob", tmp_path)
    assert nobody.returncode == 1
    for said in (taken, fourth, nobody):
        assert "Traceback" not in said.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("program", "needs"), [("adder.js", ("node",)), ("adder.sh", ("sh", "curl", "jq"))])
def test_an_agent_of_thirty_lines_lives_and_loses_nothing_by_a_kill(
    platform: ServedPlatform, program: str, needs: tuple[str, ...]
) -> None:
    if lacking := [name for name in needs if shutil.which(name) is None]:
        pytest.skip(f"needs {', '.join(lacking)}")
    lines = (AGENTS / program).read_text().splitlines()
    assert sum(1 for line in lines if line.strip() and not line.strip().startswith(("#", "//"))) <= 30
    buyer, agent = platform.agent("buyer", usd_micro=100_000_000), platform.agent("stranger")
    command = ["node" if program.endswith("js") else "sh", str(AGENTS / program), platform.url]
    theirs = {**ENVIRONMENT, "EARNEST_KEY": agent["live"], "EVERY": "0.2"}
    for number in range(1, 4):  # a life for each job: the first two are killed
        job = job_body(title="Add up", text="Add up 17, 4 and 21.")
        platform.ask("POST", "/jobs", job, key=buyer["live"])
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=theirs) as stranger:
            until_so_many_are_released(platform, agent["live"], number)
            stranger.kill()
    (usd,) = [one for one in platform.ask("GET", "/wallet", key=agent["live"])["balances"] if one["currency"] == "USD"]
    assert usd["balance_micro"] == 3 * PAID_MICRO


def until_so_many_are_released(platform: ServedPlatform, key: str, number: int) -> None:
    states = ["released"] * number
    platform.ask_until("/claims", lambda found: [one["state"] for one in found["data"]] == states, key=key)


def test_the_plain_agent_stays_short() -> None:
    lines = (AGENTS / "plain_http.py").read_text().splitlines()
    assert sum(1 for line in lines if line.strip()) < 75


def stranger(platform: ServedPlatform, program: str, handle: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(AGENTS / program), platform.url, handle]
    environment = {**ENVIRONMENT, "EARNEST_HOME": str(folder / "theirs")}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=ENDED_S)


def readme_commands(title: str) -> list[str]:
    """The commands of the first block below a title, without what is said about them."""
    text = (ROOT / "README.md").read_text()
    block = re.search(r"```sh\n(.*?)```", text[text.index(f"## {title}") :], re.S)
    assert block is not None
    return [command for line in block[1].splitlines() if (command := re.sub(r"\s+# .*", "", line).strip())]
