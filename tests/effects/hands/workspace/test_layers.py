"""Are stages that are layers over a large workspace as good as copies?"""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.stage import Stage
from earnest.effects.hands.workspace.staging import LAYERS_MAX, Workspace
from earnest.effects.hands.workspace.tree import TreeLimits
from earnest.foundation.errors import Refused

pytestmark = pytest.mark.parametrize("opened", ["layers"], indirect=True)


async def staged(workspace: Workspace, stage_id: str, path: str, text: str) -> tuple[Stage, tuple[Change, ...]]:
    stage = await workspace.stage(stage_id)
    (stage.folder / path).write_text(text)
    return stage, await stage.changes()


async def test_what_is_committed_beside_a_call_is_seen_by_the_next_one_and_not_by_it(workspace: Workspace) -> None:
    (workspace.folder / "a").write_text("0")
    long = await workspace.stage("long")
    await workspace.commit(*(await staged(workspace, "1", "a", "1")))
    assert (long.folder / "a").read_text() == (workspace.folder / "a").read_text() == "0"

    later, changes = await staged(workspace, "2", "b", "2")
    assert (later.folder / "a").read_text() == "1"
    await workspace.commit(later, changes)
    assert not (workspace.folder / "b").exists()

    await workspace.commit(long, ())
    assert [(workspace.folder / name).read_text() for name in "ab"] == ["1", "2"]


async def test_what_a_waiting_commit_removed_stays_removed(workspace: Workspace) -> None:
    (workspace.folder / "d").mkdir()
    (workspace.folder / "d/x").write_text("x")
    long = await workspace.stage("long")
    first = await workspace.stage("1")
    (first.folder / "d/x").unlink()
    (first.folder / "d").rmdir()
    await workspace.commit(first, await first.changes())
    second = await workspace.stage("2")
    assert not (second.folder / "d").exists()
    (second.folder / "d").mkdir()
    (second.folder / "d/y").write_text("y")
    await workspace.commit(second, await second.changes())
    await workspace.ended(long)
    assert [path.name for path in (workspace.folder / "d").iterdir()] == ["y"]


async def test_calls_beside_each_other_that_change_the_same_path_conflict(workspace: Workspace) -> None:
    long = await workspace.stage("long")
    first, second = [await staged(workspace, name, "a", name) for name in "12"]
    await workspace.commit(*first)
    assert workspace.conflicts(*second) == ("a",)
    await workspace.ended(long)
    assert workspace.conflicts(*second) == ("a",)
    assert workspace.conflicts(*(await staged(workspace, "3", "a", "3"))) == ()


async def test_more_commits_than_there_may_be_layers_wait_for_the_call_that_is_beside_them(
    workspace: Workspace,
) -> None:
    long = await workspace.stage("long")
    for number in range(LAYERS_MAX):
        await workspace.commit(*(await staged(workspace, str(number), str(number), "x")))
    waiting = asyncio.create_task(workspace.stage("one more"))
    await asyncio.sleep(0)
    assert not waiting.done()
    await workspace.ended(long)
    assert len(list((await waiting).folder.iterdir())) == LAYERS_MAX


async def test_what_is_held_to_be_judged_does_not_change_until_it_is_judged(workspace: Workspace) -> None:
    (workspace.folder / "a").write_text("0")
    async with workspace.held() as seen:
        assert seen is not None
        await workspace.commit(*(await staged(workspace, "1", "a", "1")))
        assert (workspace.folder / "a").read_text() == "0"
    assert (workspace.folder / "a").read_text() == "1"


async def test_two_judges_look_at_the_same_time(workspace: Workspace) -> None:
    async with workspace.held() as first:
        async with workspace.held() as second:
            assert first == second is not None
        await workspace.commit(*(await staged(workspace, "1", "a", "1")))
        assert not (workspace.folder / "a").exists()
    assert (workspace.folder / "a").read_text() == "1"


async def test_a_return_waits_for_the_calls_beside_it(workspace: Workspace) -> None:
    (workspace.folder / "a").write_text("0")
    await workspace.checkpoint("before")
    await workspace.commit(*(await staged(workspace, "1", "a", "1")))
    long, changes = await staged(workspace, "long", "b", "b")
    returning = asyncio.create_task(workspace.restore("before", {"a"}))
    await asyncio.sleep(0)
    await workspace.commit(long, changes)
    await returning
    assert [(workspace.folder / name).read_text() for name in "ab"] == ["0", "b"]


async def test_commits_that_wait_when_the_process_dies_are_finished_by_the_next_one(
    opened: Callable[..., Workspace], tmp_path: Path
) -> None:
    workspace = opened()
    (workspace.folder / "a").write_text("0")
    await workspace.stage("long")
    recorded = []
    for name in "12":
        stage, changes = await staged(workspace, name, "a", name)
        recorded.append((name, changes))
        await workspace.commit(stage, changes)
    assert (workspace.folder / "a").read_text() == "0"

    again = Workspace(tmp_path / "workspace", tmp_path / "stages")
    for name, changes in recorded:
        assert await again.finish(name, changes)
    await again.sweep()
    assert (workspace.folder / "a").read_text() == "2"
    assert list((tmp_path / "stages/open").iterdir()) == []


@pytest.mark.slow
async def test_a_commit_of_a_layer_killed_at_any_point_is_finished_by_the_next_start(
    opened: Callable[..., Workspace], tmp_path: Path
) -> None:
    call, done = 0, False
    while not done:
        workspace = opened()
        (workspace.folder / "d").mkdir(exist_ok=True)
        for name in ("gone", "changed", "d/x"):
            (workspace.folder / name).write_text("old")
        stage = await workspace.stage("s")
        (stage.folder / "gone").unlink()
        (stage.folder / "changed").write_text("new")
        (stage.folder / "d/x").unlink()
        (stage.folder / "d").rmdir()
        (stage.folder / "d").write_text("was a folder")
        changes = await stage.changes()
        workspace.seal(stage)
        with killed_at(call) as killed:
            workspace._move_in("s", changes)
        done = not killed
        again = Workspace(tmp_path / "workspace", tmp_path / "stages")
        await again.finish("s", changes)
        found = {path.name: path.read_text() for path in workspace.folder.iterdir()}
        assert found == {"changed": "new", "d": "was a folder"}, call
        (workspace.folder / "d").unlink()
        call += 1
    assert call > 5


@contextmanager
def killed_at(call: int) -> Iterator[list[int]]:
    """The process dies before its `call`-th change of a name; tells whether it did."""

    class Killed(BaseException):
        pass

    left = [call]
    killed: list[int] = []

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **options: object) -> object:
            if left[0] == 0:
                killed.append(call)
                raise Killed
            left[0] -= 1
            return real(*args, **options)

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in ("rename", "unlink", "rmdir", "chmod"):
            patch.setattr(os, name, dying(getattr(os, name)))
        with suppress(Killed):
            yield killed


async def test_limits_count_what_lies_below(opened: Callable[..., Workspace]) -> None:
    workspace = opened(TreeLimits(entries=5, size_bytes=10))
    for name in "abc":
        (workspace.folder / name).write_text("xx")
    more = await workspace.stage("more")
    for name in "def":
        (more.folder / name).touch()
    with pytest.raises(Refused, match="over 5 files"):
        await more.changes()
    larger = await workspace.stage("larger")
    (larger.folder / "a").write_text("x" * 7)
    with pytest.raises(Refused, match="over 10 bytes"):
        await larger.changes()
    in_place_of = await workspace.stage("instead")
    (in_place_of.folder / "a").unlink()
    (in_place_of.folder / "d").write_text("x" * 6)
    assert len(await in_place_of.changes()) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such a device")
@pytest.mark.parametrize("mark", ["user.overlay.redirect", "user.overlay.metacopy", "user.overlay.whiteout"])
async def test_a_mark_that_nothing_of_ours_makes_is_refused(workspace: Workspace, mark: str) -> None:
    stage = await workspace.stage("s")
    (stage.upper / "d").mkdir()
    os.setxattr(stage.upper / "d", mark, b"/etc")
    with pytest.raises(Refused) as refused:
        await stage.changes()
    assert refused.value.code == "workspace_special_file"
