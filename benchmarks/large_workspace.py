"""What does a tool call cost in a workspace of 50,000 files against an empty one, and taking such a folder in?

Everything in one run, kinds in turn: medians of wall and of CPU time in milliseconds, and their ratios, as JSON.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.edits.taking import EDIT_LIMITS
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.tools.api import ToolPlace
from earnest.effects.hands.tools.record import ToolCall
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.runtime.edits.taking import edit_bases, take_in_edits
from earnest.runtime.layers import OverLayers, laying
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer

FILES = 50_000
SIZE_BYTES = 1024**3
A_FOLDER = 500
ROUNDS = 11
CHANGES = "for n in 1 2 3 4 5 6 7 8; do echo {} > made$n; done; cat made1"


def fill(folder: Path, files: int) -> None:
    block = os.urandom(SIZE_BYTES // FILES)
    for number in range(files):
        place = folder / f"{number // A_FOLDER}"
        if number % A_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"{number}.txt").write_bytes(number.to_bytes(4, "little") + block[4:])


def cp_ms(source: Path, target: Path) -> float:
    """What a copy by `cp` takes, which is then removed."""
    start_ns = time.perf_counter_ns()
    subprocess.run(["/bin/cp", "-a", "--reflink=auto", source, target], check=True)
    took_ms = (time.perf_counter_ns() - start_ns) / 1e6
    shutil.rmtree(target)
    return took_ms


def manifests(root: Path) -> dict[str, int]:
    """The size in bytes of each checkpoint that is kept in files."""
    return {path.name: path.stat().st_size for path in (root / "stages" / "checkpoints").glob("*.json")}


async def timed(work: Awaitable[object]) -> float:
    start_ns = time.perf_counter_ns()
    await work
    return (time.perf_counter_ns() - start_ns) / 1e6


async def call(workspace: Workspace, toolbox: Toolbox, sandbox: Sandbox, stage_id: str) -> None:
    """A shell command that changes eight files, as a run makes it: staged, run, weighed, committed."""
    stage = await workspace.stage(stage_id)
    place = ToolPlace(
        folder=stage.folder, sandbox=OverLayers(sandbox, stage, workspace) if stage.lowers else sandbox, stage=stage
    )
    record = await toolbox.perform(ToolCall(tool="shell", args={"command": CHANGES.format(stage_id)}), place)
    assert record.ok, record.failure
    assert len(record.changed) == 8, record.changed
    async with workspace.turn:
        assert not workspace.conflicts(stage, record.changed)
        await workspace.commit(stage, record.changed)


async def opened(root: Path, source: Path, sandbox: Sandbox) -> Workspace:
    workspace = Workspace(root / "workspace", root / "stages", EDIT_LIMITS, lays=laying(sandbox))

    async def record(_body: object) -> None:
        """Nobody keeps it."""

    await take_in_edits({"project": source}, workspace, root, record)
    return workspace


async def checkpoints(workspace: Workspace, root: Path, toolbox: Toolbox, sandbox: Sandbox) -> dict[str, float]:
    """What later checkpoints cost, each after a call."""
    first = manifests(root)
    cpu_ms = []
    for number in range(3):
        await call(workspace, toolbox, sandbox, f"s{ROUNDS + number}")
        start_ns = time.process_time_ns()
        await workspace.checkpoint(f"c{number}")
        cpu_ms.append((time.process_time_ns() - start_ns) / 1e6)
    later_bytes = max(size for name, size in manifests(root).items() if name not in first)
    return {
        "checkpoint_cpu_ms": round(statistics.median(cpu_ms), 1),
        "checkpoint_percent": round(100 * later_bytes / max(first.values()), 2),
    }


async def main(files: int, folder: Path) -> None:
    sandbox = await open_sandbox(SandboxSettings(), SystemClock())
    await sandbox.self_test()
    toolbox = Toolbox(SystemClock())
    source = folder / "source"
    fill(source, files)
    (nothing := folder / "nothing").mkdir()
    taken: dict[str, list[float]] = {"cp": [], "take_in": []}
    large, root = None, folder
    for number in range(3):
        taken["cp"].append(cp_ms(source, folder / f"copy{number}"))
        root = folder / f"large{number}"
        start_ns = time.perf_counter_ns()
        large = await opened(root, source, sandbox)
        taken["take_in"].append((time.perf_counter_ns() - start_ns) / 1e6)
        if number < 2:
            shutil.rmtree(root)
    assert large is not None
    small = await opened(folder / "small", nothing, sandbox)
    calls: dict[str, list[float]] = {"large": [], "empty": []}
    for number in range(ROUNDS):
        for kind, workspace in (("large", large), ("empty", small)):
            calls[kind].append(await timed(call(workspace, toolbox, sandbox, f"s{number}")))
    verifier = Verifier(registry=Registry(), sandbox=sandbox, clock=SystemClock())
    criterion = Criterion(
        id="c1",
        text="it is there",
        check=CheckSpec(kind="command", config={"command": "grep -q s made1 && rm -r project && echo 2 > made1"}),
    )

    async def judge() -> None:
        async with large.held() as seen:
            verdict = await verifier.verify(
                [criterion],
                large.folder,
                bases=edit_bases({"project": source}, large),
                trusted_workspace=True,
                seen=seen,
            )
        assert verdict.criteria[0].answer is Answer.VERIFIED, verdict

    judged = [await timed(judge()) for _ in range(3)]
    medians = {kind: statistics.median(times) for kind, times in (calls | taken).items()}
    result = {f"{kind}_ms": round(median, 1) for kind, median in medians.items()} | {
        "files": files,
        "copies_because": large.copies_because or "",
        "first_call_ms": round(calls["large"][0], 1),
        "call_ratio": round(medians["large"] / medians["empty"], 2),
        "take_in_ratio": round(medians["take_in"] / medians["cp"], 2),
        "judge_ms": round(statistics.median(judged), 1),
        **await checkpoints(large, root, toolbox, sandbox),
    }
    print(json.dumps(result, indent=2))
    for workspace in (large, small):
        await workspace.sweep()
        workspace.close()
    await sandbox.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="earnest-bench-", ignore_cleanup_errors=True) as place:
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else FILES, Path(place)))
