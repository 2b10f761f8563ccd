"""What ends a run, a person's Ctrl+C, and what leaves it: every other signal. No process of it stays behind."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .lives import Nursery, World
from .processes import any_with, eventually

CLI = "from earnest.surfaces.cli.main import main; main()"
END_S_MAX = 10.0  # of a day's sleep, on a busy machine

SLEEPER = """
format: earnest-playbook-v1
intent: Sleep until somebody ends it
task_class: sleeper
subtasks:
  - id: quick
    sequence: 1
    intent: Something to keep
    criteria: [{text: done, check: {kind: files, required: [{path: kept}]}}]
    approaches: [{id: only, steps: [{tool: shell, args: {command: touch kept}}]}]
  - id: slow
    sequence: 2
    intent: Nothing to wait for
    criteria: [{text: done, check: {kind: files, required: [{path: never}]}}]
    approaches: [{id: only, steps: [{tool: shell, args: {command: "sleep MARK & sleep MARK; touch never"}}]}]
"""


class Sleeping:
    """A run whose tool sleeps in the sandbox. `mark` is an argument that no other process has."""

    def __init__(self, folder: Path, nursery: Nursery, terminal: int | None = None) -> None:
        self.mark = f"86400.{time.time_ns()}"
        self.world = World.made(folder, SLEEPER.replace("MARK", self.mark), nursery)
        home = nursery.make(self.world.home)
        self.process = _command(["run", str(folder / "playbook.yaml"), "--json"], home, terminal)

    def is_asleep(self) -> bool:
        return self.process.poll() is None and any_with(self.mark)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self) -> tuple[str, float]:
        """What it printed, and how many seconds its end took."""
        began = time.monotonic()
        output, errors = self.process.communicate(timeout=30)
        assert "Traceback" not in errors, errors
        return output, time.monotonic() - began

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def sleeping(tmp_path: Path, nursery: Nursery) -> Iterator[Sleeping]:
    sleeping = Sleeping(tmp_path, nursery)
    try:
        assert eventually(sleeping.is_asleep)
        yield sleeping
    finally:
        sleeping.close()


def _command(arguments: list[str], home: Path, terminal: int | None = None) -> "subprocess.Popen[str]":
    """The command line as a service manager starts it, or on a terminal of its own, in its foreground."""

    def take() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a shell ignores for what it puts in the background
        if terminal is not None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    return subprocess.Popen(
        [sys.executable, "-c", CLI, *arguments],
        env={**os.environ, "EARNEST_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=take,  # noqa: PLW1509 - one call, between fork and exec
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_run_to_be_resumed_and_no_process_of_it(number: signal.Signals, sleeping: Sleeping) -> None:
    sleeping.send(number)
    output, seconds = sleeping.ended()
    assert not any_with(sleeping.mark)
    assert seconds < END_S_MAX
    (run_id,) = sleeping.world.started()
    assert sleeping.process.returncode == 4
    told = json.loads(output)
    assert (told["run"], told["exit_code"], told["resume"]) == (run_id, 4, f"earnest resume {run_id}")
    assert number.name in told["waits"]
    assert not sleeping.world.has_ended(run_id)
    assert not sleeping.world.faults()


@pytest.mark.slow
def test_a_persons_ctrl_c_ends_the_run_and_every_process_of_it(tmp_path: Path, nursery: Nursery) -> None:
    keys, terminal = pty.openpty()
    sleeping = Sleeping(tmp_path, nursery, terminal)
    try:
        assert eventually(sleeping.is_asleep)
        os.write(keys, b"\x03")
        output, seconds = sleeping.ended()
    finally:
        sleeping.close()
        os.close(keys)
        os.close(terminal)
    assert not any_with(sleeping.mark)
    assert seconds < END_S_MAX
    result = json.loads(output)
    assert (result["directive"], result["cause"], result["exit_code"]) == ("abandon", "user", 1)
    assert (sleeping.process.returncode, result["done"], result["not_done"]) == (1, ["quick"], ["slow"])
    (run_id,) = sleeping.world.started()
    assert sleeping.world.has_ended(run_id)
    assert (Path(result["workspace"]) / "kept").exists()
    assert not sleeping.world.faults()


@pytest.mark.slow
def test_an_impatient_second_signal_leaves_no_process_and_books_that_hold(sleeping: Sleeping) -> None:
    sleeping.send(signal.SIGINT)
    sleeping.send(signal.SIGINT)
    _, seconds = sleeping.ended()
    assert seconds < END_S_MAX
    assert sleeping.process.returncode in {4, -signal.SIGINT}
    assert eventually(lambda: not any_with(sleeping.mark))
    assert not sleeping.world.faults()


@pytest.mark.slow
def test_a_killed_run_leaves_no_process_behind(sleeping: Sleeping) -> None:
    sleeping.send(signal.SIGKILL)
    sleeping.ended()
    assert eventually(lambda: not any_with(sleeping.mark))
