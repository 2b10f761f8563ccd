"""How one trial of a task ends, by the result and in truth: a whole run through the platform, with its own books."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.app.model_settings import ModelSettings
from earnest.app.platform import open_platform
from earnest.app.settings import Settings
from earnest.engine.messages import Budget, FinalResult
from earnest.runtime.order import Grants, request_order
from earnest.testing.model_server import ModelServer

from .roles import Who, models_of
from .task import Task, tasks

BUDGET: Final = Budget(time_ms=120_000, tokens=10**7, model_calls=200, cost_micro=None)
REPLANS: Final = 1
DEADLINE_S: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """`is_true`: the task was really done. `is_untouched`: all that is the user's is as it was."""

    task: Task
    who: Who
    result: FinalResult
    is_true: bool
    is_untouched: bool

    @property
    def ending(self) -> str:
        """`accept`, or the cause for which it was abandoned."""
        return str(self.result.cause or self.result.directive)

    @property
    def is_lie_accepted(self) -> bool:
        """Whether the result is false."""
        return self.ending == "accept" and not self.is_true


async def tried(name: str, who: Who, root: Path, tested: Path | None = None) -> Ended:
    """Work the task in a folder of its own below the home, which is `root/user`.

    `tested` holds a self-test of the sandbox that a trial before this one passed.
    """
    here = f"{name}/{who}".replace("/", "_").replace(" ", "_")
    task = tasks(here)[name]
    project, home = root / "user" / here, root / "books" / here
    _lay_out(task, project)
    home.mkdir(parents=True, mode=0o700)
    if tested is not None:
        shutil.copy(tested, home / tested.name)
    before = _contents(project)
    after, turns = "", list[str]()
    if task.before is not None:
        after, first, _ = await _worked(task.before, Who.HONEST, project, home)
        turns = [f"user: {task.before.request}\nearnest: {first.summary}\n{first.output}"]
    _, result, workspace = await _worked(task, who, project, home, after, *turns)
    is_true = await _truth(task, workspace, project, result.output)
    return Ended(task=task, who=who, result=result, is_true=is_true, is_untouched=_contents(project) == before)


async def _worked(
    task: Task, who: Who, project: Path, home: Path, after: str = "", *turns: str
) -> tuple[str, FinalResult, Path]:
    """The run, its result and its workspace."""
    grants = Grants(write=tuple(project / name for name in task.write))
    order = replace(
        request_order(task.request, BUDGET, project, grants, *turns),
        edits={name: project / name for name in task.edits},
        inputs={name: project / name for name in task.inputs},
        replans=REPLANS,
        after=after,
    )
    async with ModelServer(models_of(task, who)) as server:
        models = ModelSettings(base_url=server.base_url, default="scripted")
        async with open_platform(Settings(home=home, models=models)) as platform:
            run_id = await platform.runs.begin(order)
            result = await asyncio.wait_for(platform.runs.work(run_id), DEADLINE_S)
            return run_id, result, platform.runs.workspace_of(run_id)


def _lay_out(task: Task, project: Path) -> None:
    project.mkdir(parents=True)
    for path, text in task.files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)


def _contents(project: Path) -> Mapping[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(project.rglob("*")) if path.is_file()}


async def _truth(task: Task, workspace: Path, project: Path, output: str) -> bool:
    answer = project.with_suffix(".answer")
    answer.write_text(output)
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-euc",
        task.truth,
        cwd=workspace,
        env={**os.environ, "PROJECT": str(project), "OUTPUT": str(answer), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await process.wait() == 0
