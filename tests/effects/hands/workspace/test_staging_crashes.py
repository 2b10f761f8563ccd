"""Does a workspace survive its process, killed at any moment?"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.staging import Workspace
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json

STEPS = ("rename", "replace", "unlink", "rmdir", "mkdir", "link", "symlink", "chmod", "chown", "open", "utime")
"""Everything by which a move touches the disk."""


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(call: int) -> Iterator[None]:
    """Let the process die before its `call`-th step on the disk, counted from 0."""
    left = call

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **options: object) -> object:
            nonlocal left
            if left <= 0:
                raise Killed
            left -= 1
            return real(*args, **options)

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, dying(getattr(os, name)))
        yield


def survives(action: Callable[[], object], call: int) -> bool:
    """False if the process died on the way."""
    try:
        with killed_at(call):
            action()
    except Killed:
        return False
    return True


def fill(folder: Path) -> None:
    (folder / "dir/deep").mkdir(parents=True)
    (folder / "dir/deep/gone").write_text("gone")
    (folder / "dir/x").write_text("x")
    (folder / "other").mkdir()
    (folder / "other/x").write_text("not mine")
    (folder / "changed").write_text("old")
    (folder / "file").write_text("file")
    (folder / "becomes-link").mkdir()
    (folder / "becomes-link/x").write_text("l")


def edit(stage: Path) -> None:
    (stage / "changed").write_text("new")
    (stage / "made/deep").mkdir(parents=True)
    (stage / "made/deep/a").write_text("a")
    os.link(stage / "made/deep/a", stage / "made/b")
    (stage / "dir/deep/gone").unlink()
    (stage / "dir/deep").rmdir()
    (stage / "dir/x").unlink()
    (stage / "dir").rmdir()
    (stage / "dir").write_text("was a folder")
    (stage / "file").unlink()
    (stage / "file").mkdir()
    (stage / "file/inner").write_text("i")
    (stage / "becomes-link/x").unlink()
    (stage / "becomes-link").rmdir()
    (stage / "becomes-link").symlink_to("other")


def listing(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): f"-> {path.readlink()}"
        if path.is_symlink()
        else (path.read_text() if path.is_file() else "/")
        for path in sorted(folder.rglob("*"))
    }


def stage_one(root: Path) -> tuple[Workspace, tuple[Change, ...], dict[str, str], dict[str, str]]:
    """A workspace with one recorded step waiting to be moved in, and what it holds before and after it."""
    workspace = Workspace(root / "workspace", root / "stages")
    fill(workspace.folder)
    before = listing(workspace.folder)

    async def prepare() -> tuple[Change, ...]:
        await workspace.checkpoint("before")
        stage = await workspace.stage("step")
        edit(stage.folder)
        after.update(listing(stage.folder))
        return await stage.changes()

    after: dict[str, str] = {}
    return workspace, asyncio.run(prepare()), before, after


@pytest.mark.slow
def test_a_move_killed_at_any_point_is_finished_by_the_next_start(tmp_path: Path) -> None:
    call, done = 0, False
    while not done:
        workspace, changes, before, after = stage_one(tmp_path / str(call))
        done = survives(partial(workspace._move_in, "step", changes), call)

        halfway = listing(workspace.folder)
        assert halfway["changed"] in {"old", "new"}
        assert halfway["other/x"] == "not mine"
        again = Workspace(workspace.folder, tmp_path / str(call) / "stages")
        asyncio.run(again.finish("step", changes))

        assert listing(workspace.folder) == after, call
        assert {path.stat().st_nlink for path in workspace.folder.rglob("*") if path.is_file()} == {1}
        assert asyncio.run(again.finish("step", changes)) is False
        asyncio.run(again.restore("before"))
        assert listing(workspace.folder) == before, call
        call += 1
    assert call > 30


@pytest.mark.slow
def test_a_return_killed_at_any_point_is_completed_by_the_next_start(tmp_path: Path) -> None:
    call, done = 0, False
    while not done:
        workspace, changes, before, _ = stage_one(tmp_path / str(call))
        workspace._move_in("step", changes)
        done = survives(partial(workspace._restore, "before", None), call)

        again = Workspace(workspace.folder, tmp_path / str(call) / "stages")
        asyncio.run(again.restore("before"))

        assert listing(workspace.folder) == before, call
        call += 1
    assert call > 30


@pytest.mark.slow
def test_a_stage_killed_at_any_point_leaves_the_workspace_as_it_was(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace", tmp_path / "stages")
    fill(workspace.folder)
    before = listing(workspace.folder)
    call = 0
    while not survives(partial(workspace._stage, "step"), call):
        assert listing(workspace.folder) == before
        call += 1
    again = Workspace(workspace.folder, tmp_path / "stages")
    assert listing(asyncio.run(again.stage("step")).folder) == before
    assert call > 10


def test_a_staged_file_that_is_not_what_was_recorded_is_never_moved_in(tmp_path: Path) -> None:
    workspace, changes, before, _ = stage_one(tmp_path)
    staged = next((tmp_path / "stages/open").iterdir()) / "upper"
    (staged / "changed").write_text("cut by a power failure")
    with pytest.raises(Broken, match="changed"):
        asyncio.run(workspace.finish("step", changes))
    assert listing(workspace.folder) == before


VICTIM = """
import asyncio, json, os, signal, sys
from pathlib import Path
from earnest.effects.hands.workspace.staging import Workspace

async def main(root):
    workspace = Workspace(root / "workspace", root / "stages")
    stage = await workspace.stage("step")
    for number in range(20):
        (stage.folder / f"{number}").write_text(str(number))
    changes = await stage.changes()
    (root / "changes.json").write_text(json.dumps([change.to_json() for change in changes]))
    real, left = os.rename, 10
    def rename(*args, **options):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*args, **options)
    os.rename = rename
    await workspace.commit(stage, changes)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_process_that_is_really_killed_loses_nothing(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", VICTIM, str(tmp_path)], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "workspace").iterdir())) == 10

    workspace = Workspace(tmp_path / "workspace", tmp_path / "stages")
    changes = [from_json(Change, item) for item in json.loads((tmp_path / "changes.json").read_text())]
    assert asyncio.run(workspace.finish("step", changes)) is True

    assert listing(tmp_path / "workspace") == {str(number): str(number) for number in range(20)}
    assert list((tmp_path / "stages/open").iterdir()) == []
