"""Does Ctrl+C end a run at once, with every process of it, and with its state written?"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .lives import Nursery, World
from .processes import any_with, eventually

CLI = "from earnest.surfaces.cli.main import main; main()"
END_S_MAX = 2.0

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

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        self.mark = f"86400.{time.time_ns()}"
        self.world = World.made(folder, SLEEPER.replace("MARK", self.mark), nursery)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLI, "run", str(folder / "playbook.yaml"), "--json"],
            env={**os.environ, "EARNEST_HOME": str(self.world.home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_every_process_of_it(number: signal.Signals, sleeping: Sleeping) -> None:
    sleeping.send(number)
    output, seconds = sleeping.ended()
    assert not any_with(sleeping.mark)
    assert seconds < END_S_MAX
    result = json.loads(output)
    assert (result["directive"], result["cause"], result["exit_code"]) == ("abandon", "user", 1)
    assert (sleeping.process.returncode, result["done"], result["not_done"]) == (1, ["quick"], ["slow"])
    (run_id,) = sleeping.world.started()
    assert sleeping.world.has_ended(run_id)
    assert (Path(result["workspace"]) / "kept").exists()
    assert not sleeping.world.faults()


def test_an_impatient_second_signal_leaves_no_process_and_books_that_hold(sleeping: Sleeping) -> None:
    sleeping.send(signal.SIGINT)
    sleeping.send(signal.SIGINT)
    _, seconds = sleeping.ended()
    assert seconds < END_S_MAX
    assert sleeping.process.returncode in {1, 130}
    assert eventually(lambda: not any_with(sleeping.mark))
    assert not sleeping.world.faults()


def test_a_killed_run_leaves_no_process_behind(sleeping: Sleeping) -> None:
    sleeping.send(signal.SIGKILL)
    sleeping.ended()
    assert eventually(lambda: not any_with(sleeping.mark))
