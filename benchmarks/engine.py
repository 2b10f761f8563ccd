"""What does a promise cost over the bare work, and how long is the way back after a kill? Prints medians as JSON.

`warm_overhead_ms`: a playbook of one subtask in an open platform, less the same tool call alone; both interleaved.
`cold_run_s`: `earnest run` of it as a process of its own, in a new data directory, self-test included.
`resume_s`: `earnest run --resume` of a run that was killed in its second of two steps, less what that step takes.
"""

import asyncio
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from earnest.app.platform import Platform, open_platform
from earnest.app.readers import order_of
from earnest.app.settings import read_settings
from earnest.effects.hands.sandbox.api import Sandbox
from earnest.effects.hands.tools.api import ToolPlace
from earnest.effects.hands.tools.record import ToolCall
from earnest.effects.hands.workspace.staging import Workspace
from earnest.runtime.order import Grants

ROUNDS = 20
COLD_ROUNDS = 5
RESUMED_STEP_S = 0.5
COMMAND = "echo kept > word.txt"
ONE = """
format: earnest-playbook-v1
intent: Write a word
task_class: one_word
subtasks:
  - id: word
    intent: Write it
    criteria: [{text: the word is there, check: {kind: files, required: [{path: word.txt, contains: kept}]}}]
    approaches: [{id: echo, steps: [{tool: shell, args: {command: "%s"}}]}]
"""
TWO = """
format: earnest-playbook-v1
intent: Write a word twice
task_class: two_words
subtasks:
  - id: first
    sequence: 1
    intent: Write it
    criteria: [{text: the word is there, check: {kind: files, required: [{path: word.txt}]}}]
    approaches: [{id: echo, steps: [{tool: shell, args: {command: "echo kept > word.txt"}}]}]
  - id: second
    sequence: 2
    intent: Write it again, slowly
    criteria: [{text: the word is there, check: {kind: files, required: [{path: again.txt}]}}]
    approaches: [{id: sleep, steps: [{tool: shell, args: {command: "touch /tmp/x; sleep %s; cp word.txt again.txt"}}]}]
"""


async def bare(platform: Platform, sandbox: Sandbox, folder: Path) -> float:
    workspace = Workspace(folder / "workspace", folder / "stages")
    started = time.perf_counter()
    stage = await workspace.stage("one")
    place = ToolPlace(folder=stage.folder, sandbox=sandbox, stage=stage)
    record = await platform.toolbox.perform(ToolCall(tool="shell", args={"command": COMMAND}), place)
    spent = time.perf_counter() - started
    assert record.ok, record
    return spent


async def worked(platform: Platform, playbook: Path) -> float:
    order = order_of(playbook, Grants())
    started = time.perf_counter()
    result = await platform.runs.work(await platform.runs.begin(order))
    spent = time.perf_counter() - started
    assert result.directive == "accept", result
    return spent


async def warm(home: Path, playbook: Path) -> Mapping[str, float]:
    alone, whole = [], []
    async with open_platform(read_settings({"EARNEST_HOME": str(home)})) as platform:
        for number in range(ROUNDS + 2):
            alone.append(await bare(platform, platform.sandbox, home / f"bare{number}"))
            whole.append(await worked(platform, playbook))
    bare_ms, run_ms = (1000 * statistics.median(times[2:]) for times in (alone, whole))
    return {"bare_call_ms": bare_ms, "run_ms": run_ms, "warm_overhead_ms": run_ms - bare_ms}


def earnest(home: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "EARNEST_HOME": str(home)}
    program = [str(Path(sys.executable).with_name("earnest")), *arguments]
    return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True)


def cold(home: Path, playbook: Path) -> float:
    started = time.perf_counter()
    process = earnest(home, "run", str(playbook), "--quiet")
    process.communicate()
    spent = time.perf_counter() - started
    assert process.returncode == 0
    return spent


def resumed(home: Path, playbook: Path) -> float:
    process = earnest(home, "run", str(playbook))
    assert process.stdout is not None
    with contextlib.closing(process.stdout) as lines:
        for line in lines:
            if "first" in line and "matched" in line:
                break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    listed = earnest(home, "runs", "--json")
    run_id = json.loads(listed.communicate()[0])["run"]
    started = time.perf_counter()
    process = earnest(home, "run", "--resume", run_id, "--quiet")
    process.communicate()
    spent = time.perf_counter() - started
    assert process.returncode == 0
    return spent - RESUMED_STEP_S


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        one, two = folder / "one.yaml", folder / "two.yaml"
        one.write_text(ONE % COMMAND, encoding="utf-8")
        two.write_text(TWO % RESUMED_STEP_S, encoding="utf-8")
        measured = dict(asyncio.run(warm(folder / "warm", one)))
        measured["cold_run_s"] = statistics.median(cold(folder / f"cold{n}", one) for n in range(COLD_ROUNDS))
        measured["resume_s"] = statistics.median(resumed(folder / f"resume{n}", two) for n in range(COLD_ROUNDS))
        print(json.dumps({name: round(value, 3) for name, value in measured.items()}))


if __name__ == "__main__":
    main()
