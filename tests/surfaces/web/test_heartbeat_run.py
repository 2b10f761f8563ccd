"""Does `earnest heartbeat run` keep a contract with any program, on a real platform, whatever is killed on the way?"""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from earnest.client.credentials import Credentials, save_credentials
from earnest.testing.served import GENEROUS, PROGRAM, ServedPlatform, served

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[3] / "examples" / "agents" / "heartbeat.py"
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
DEADLINE_S = 60
NUMBERS = itertools.count(1)
PAUSE = threading.Event()
REPORT = "- [ ] write_report | Write report.md | required | verify: report\n"
DISK = "- [ ] disk_space | Say how much is free | optional | every: 6h | verify: report\n"


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        PAUSE.wait(0.02)


@dataclass
class Agent:
    """An agent with a heartbeat key, a workspace and a data directory of its own."""

    platform: ServedPlatform
    folder: Path
    handle: str
    key: str

    @property
    def state(self) -> Path:
        return self.folder / "home" / "agents" / self.handle

    def command(self, *words: str) -> list[str]:
        return [*PROGRAM, "heartbeat", *words]

    @property
    def environment(self) -> dict[str, str]:
        home = {"EARNEST_HOME": str(self.folder / "home")}
        return {**ENVIRONMENT, **home, "EARNEST_URL": self.platform.url, "EARNEST_KEY": self.key, "MINE": "yes"}

    def run(self, program: str | list[str], *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """The runner until it ends."""
        command = self.command("run", "--json", "--exec", self.words(program), *words)
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )

    def words(self, program: str | list[str]) -> str:
        """What `--exec` takes: words, or a program that is written down first."""
        if isinstance(program, str):
            (self.folder / "program.py").write_text(program)
            program = [sys.executable, str(self.folder / "program.py")]
        return " ".join(program)

    @contextlib.contextmanager
    def running(self, program: str | list[str]) -> Iterator["subprocess.Popen[str]"]:
        """A runner that works until the block ends."""
        command = self.command("run", "--json", "--exec", self.words(program))
        with subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as runner:
            try:
                yield runner
            finally:
                runner.kill()

    def heartbeats(self) -> list[dict[str, Any]]:
        """What the operator sees of them, the newest first."""
        listed = self.platform.ask("GET", "/agents/me/heartbeats", key=self.key)["data"]
        path = "/agents/me/heartbeats"
        return [
            self.platform.ask("GET", f"{path}/{one['heartbeat_id']}", key=self.platform.operator_key) for one in listed
        ]


def report_of(runner: "subprocess.Popen[str]") -> dict[str, Any]:
    assert runner.stdout is not None
    found: dict[str, Any] = json.loads(runner.stdout.readline())
    return found


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlatform]:
    home = tmp_path_factory.mktemp("platform")
    probe = f'[probes.report]\nkind = "file"\npath = "{home}/report.md"\nat_most = 86400\n'
    with served(home, ENVIRONMENT, settings=f"{GENEROUS}\n{probe}") as found:
        found.become_operator()
        yield found


@pytest.fixture
def agent(platform: ServedPlatform, tmp_path: Path) -> Agent:
    handle = f"agent_{next(NUMBERS)}"
    (tmp_path / "HEARTBEAT.md").write_text(f"## Tasks\n\n{REPORT}")
    (platform.home / "report.md").unlink(missing_ok=True)
    heartbeat_key = platform.agent(handle)["hb"]
    platform.accept_contract(handle, (tmp_path / "HEARTBEAT.md").read_text())
    return Agent(platform, tmp_path, handle, heartbeat_key)


def test_the_example_is_verified_twice_in_a_row(agent: Agent, platform: ServedPlatform) -> None:
    both = f"## Tasks\n\n{REPORT}{DISK}"
    with agent.running([sys.executable, str(EXAMPLE), str(platform.home)]) as runner:
        first = report_of(runner)
        platform.accept_contract(agent.handle, both)
        (agent.folder / "HEARTBEAT.md").write_text(both)
        told = subprocess.run(
            agent.command("wake"), env=agent.environment, capture_output=True, text=True, check=True, timeout=DEADLINE_S
        )
        second = report_of(runner)
    assert told.stdout == f"woke {runner.pid}\n"
    assert [(one["outcome"], one["circuit"], one["failures"]) for one in (first, second)] == [
        ("judged", "closed", 0)
    ] * 2
    verdicts = [(task["id"], task["verdict"]) for one in (first, second) for task in one["heartbeat"]["tasks"]]
    assert verdicts == [("write_report", "verified"), ("disk_space", "verified")]
    newest, oldest = agent.heartbeats()
    assert [one["path"] for one in oldest["artifacts"]] == ["report.md"]
    assert "MiB are free" in newest["reply"]
    assert newest["claims"][0]["task"] == "disk_space"


SEES = """
import json, os, pathlib, sys
told = json.load(sys.stdin)
folder = pathlib.Path(os.environ["EARNEST_HEARTBEAT_DIR"])
assert json.loads((folder / "due.json").read_text())["tasks"] == told["tasks"]
assert json.loads((folder / "feedback.json").read_text()) == {"feedback": [], "last": None}
assert (folder / "HEARTBEAT.md").read_text() == told["contract"]
assert (folder / "feedback.md").read_text() == ""
keys = [name for name, text in os.environ.items() if "ern_hb_" in text]
print(sorted(told), told["score"]["today"]["target"], os.environ["MINE"], keys)
"""


@pytest.mark.parametrize(("options", "keys"), [((), "[]"), (("--pass-key",), "['EARNEST_KEY']")])
def test_a_program_sees_its_work_and_no_key_unless_it_is_passed(
    agent: Agent, options: tuple[str, ...], keys: str
) -> None:
    ended = agent.run(SEES, "--once", *options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (beat,) = agent.heartbeats()
    assert (
        beat["reply"]
        == f"['contract', 'feedback', 'last', 'message', 'score', 'tasks', 'what_to_do_next'] 50 yes {keys}"
    )


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('no ern_hb_abc mail today')", "it ended with exit code 1: no … mail today"),
        ("import time; time.sleep(600)", "it was not done within 2 s"),
        ("print('x' * 10_000_000)", "it wrote more than 1048576 bytes to stdout"),
        ("print('{\"reply\": 1}')", "its answer's reply is no text"),
        ('print(\'{"reply": "", "claims": [{}]}\')', "the platform will not take it: validation"),
        (["/no/such/program"], "it cannot be started"),
    ],
)
def test_a_program_that_fails_hands_nothing_in_and_is_told_of(
    agent: Agent, program: str | list[str], reason: str
) -> None:
    ended = agent.run(program, "--once", "--timeout", "2")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["outcome"], told["failures"]) == (1, "failed", 1), ended.stderr
    assert reason in told["reason"]
    assert agent.heartbeats() == []
    again = json.loads(agent.run(program, "--once").stdout)
    assert (again["outcome"], again["reason"]) == ("skipped", "back_pressure")


def test_garbage_on_stdout_is_the_reply_as_it_stands(agent: Agent) -> None:
    ended = agent.run("import sys; sys.stdout.buffer.write(bytes(range(256)) * 40)", "--once")
    assert json.loads(ended.stdout)["outcome"] == "judged", ended.stdout
    (beat,) = agent.heartbeats()
    assert beat["tasks"][0]["verdict"] == "not_verified"
    assert len(beat["reply"]) > 10_000


def test_a_runner_that_is_killed_before_the_answer_hands_in_once(agent: Agent, platform: ServedPlatform) -> None:
    stops = f"import os; print('done'); os.kill({platform.process.pid}, {signal.SIGSTOP.value})"
    turn = agent.state / "heartbeat-turn.json"
    try:
        with agent.running(stops) as runner:
            until(lambda: turn.exists() and json.loads(turn.read_text())["turn"])
            runner.kill()
            runner.wait(DEADLINE_S)
        kept = json.loads(turn.read_text())["turn"]
    finally:
        platform.process.send_signal(signal.SIGCONT)
    assert kept["heartbeat_id"] == ""
    with agent.running("raise SystemExit('nobody asks me')") as runner:
        told = report_of(runner)
    assert told["outcome"] == "judged", told
    assert [one["reply"] for one in agent.heartbeats()] == ["done"]
    assert json.loads(turn.read_text())["turn"] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_runner_that_is_stopped_ends_its_program_and_keeps_its_state(agent: Agent, number: signal.Signals) -> None:
    begun = agent.folder / "begun"
    with agent.running(
        f"import os, time; open({str(begun)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    ) as runner:
        until(lambda: begun.exists() and begun.read_text())
        runner.send_signal(number)
        _, said = runner.communicate(timeout=DEADLINE_S)
    assert (runner.returncode, said) == (130, "earnest: stopped\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
    assert agent.heartbeats() == []
    assert json.loads(agent.run("print('done')", "--once").stdout)["outcome"] == "judged"


def test_a_second_runner_is_refused(agent: Agent) -> None:
    with agent.running("import time; time.sleep(600)") as first:
        lock = agent.state / "heartbeat.lock"
        until(lambda: lock.exists() and lock.read_text())
        second = agent.run("print('done')", "--once")
        assert first.poll() is None
    assert (second.returncode, second.stdout) == (3, "")
    assert f"in use by the process with pid {first.pid}" in second.stderr


def test_a_platform_that_is_away_is_told_of_and_waited_for(agent: Agent) -> None:
    nowhere = Credentials(handle=agent.handle, url="http://127.0.0.1:9", key=agent.key)
    save_credentials(agent.folder / "home", nowhere)
    ended = agent.run("print('done')", "--once", "--as", agent.handle, EARNEST_URL="")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["outcome"], told["failures"]) == (3, "unanswered", 1), ended.stderr
    assert "cannot be reached" in told["reason"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--exec", "'"), "cannot be split"),
        (("--exec", ""), "names no program"),
        (("--exec", "x", "--zone", "Mars/Base"), "no IANA time zone"),
        (("--exec", "x", "--active-hours", "8-22"), "active hours are like"),
        (("--exec", "x", "--timeout", "0"), "--timeout"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    environment = {**ENVIRONMENT, "EARNEST_HOME": str(tmp_path), "EARNEST_KEY": "ern_hb_x"}
    ended = subprocess.run(
        [*PROGRAM, "heartbeat", "run", *options], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, message in ended.stderr) == (3, True), ended.stderr


def test_nobody_is_woken_where_no_runner_works(agent: Agent) -> None:
    ended = subprocess.run(
        agent.command("wake"), env=agent.environment, capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )
    assert (ended.returncode, "no runner works on" in ended.stderr) == (3, True), ended.stderr


def test_the_example_stays_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 40
