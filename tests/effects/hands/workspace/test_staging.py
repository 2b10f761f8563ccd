"""Does a workspace change in whole steps only?"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.effects.hands.workspace.changes import Change, conflicting
from earnest.effects.hands.workspace.stage import Stage
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.hands.workspace.tree import EntryKind, TreeLimits, node_at
from earnest.foundation.errors import Broken, Refused

Write = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


def content(folder: Path) -> dict[str, str | None]:
    """Paths with what they hold: text of a file, `-> target` of a link, None for a folder."""
    found: dict[str, str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_text() if path.is_file() else None
    return found


def owners(folder: Path) -> set[int]:
    return {path.stat().st_uid for path in folder.iterdir()}


def hard_links(folder: Path) -> set[int]:
    return {path.stat().st_nlink for path in folder.iterdir()}


async def step(workspace: Workspace, stage_id: str, write: Write) -> tuple[Change, ...]:
    stage = await workspace.stage(stage_id)
    write(stage.folder)
    changes = await stage.changes()
    async with workspace.turn:
        assert workspace.conflicts(stage, changes) == ()
        await workspace.commit(stage, changes)
    assert not stage.folder.exists()
    return changes


def kinds(changes: tuple[Change, ...]) -> dict[str, EntryKind]:
    return {change.path: change.kind for change in changes}


async def test_a_step_enters_the_workspace_as_a_whole(workspace: Workspace, folder: Path) -> None:
    stage = await workspace.stage("s/1")
    (stage.folder / "out").mkdir()
    (stage.folder / "out/a.txt").write_text("a")
    changes = await stage.changes()

    assert content(folder) == {}
    await workspace.commit(stage, changes)
    assert content(folder) == {"out": None, "out/a.txt": "a"}


async def test_changes_name_what_was_made_changed_and_removed(workspace: Workspace, folder: Path) -> None:
    for name in ("same", "changed", "gone"):
        (folder / name).write_text(name)

    def write(stage: Path) -> None:
        (stage / "changed").write_text("CHANGED")
        (stage / "gone").unlink()
        (stage / "new").write_text("new!")

    changes = await step(workspace, "s", write)

    assert kinds(changes) == {"changed": EntryKind.FILE, "gone": EntryKind.GONE, "new": EntryKind.FILE}
    assert [change.digest is None for change in changes] == [False, True, False]
    assert changes[2].size_bytes == 4
    assert content(folder) == {"same": "same", "changed": "CHANGED", "new": "new!"}


async def test_a_file_written_again_with_the_same_bytes_is_no_change(workspace: Workspace, folder: Path) -> None:
    (folder / "a").write_text("a")
    assert await step(workspace, "s", lambda stage: (stage / "a").write_text("a")) == ()


async def test_a_change_that_keeps_size_and_mtime_is_seen(workspace: Workspace, folder: Path) -> None:
    (folder / "a").write_text("one")

    def forge(stage: Path) -> None:
        before = (stage / "a").stat()
        (stage / "a").write_text("two")
        os.utime(stage / "a", ns=(before.st_atime_ns, before.st_mtime_ns))

    assert kinds(await step(workspace, "s", forge)) == {"a": EntryKind.FILE}
    assert content(folder) == {"a": "two"}


async def test_a_stage_keeps_times_and_the_executable_bit(workspace: Workspace, folder: Path) -> None:
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    os.utime(folder / "run", ns=(1_000_000_007, 1_000_000_007))

    stage = await workspace.stage("s")

    assert (stage.folder / "run").stat().st_mtime_ns in {
        1_000_000_006,
        1_000_000_007,
    }  # of a copy, one less: see the next test
    assert os.access(stage.folder / "run", os.X_OK)


async def test_a_write_in_the_tick_in_which_the_stage_was_made_is_seen(workspace: Workspace, folder: Path) -> None:
    (folder / "a").write_text("one")
    stage = await workspace.stage("s")
    (stage.folder / "a").write_text("two")
    os.utime(stage.folder / "a", ns=(0, (folder / "a").stat().st_mtime_ns))
    if stage.lowers:
        assert [change.path for change in await stage.changes()] == ["a"]
        return
    made, now = stage.made["a"], node_at(stage.folder / "a")
    assert made.identity[:2] != now.identity[:2]


async def test_becoming_executable_is_a_change(workspace: Workspace, folder: Path) -> None:
    (folder / "run").write_text("#!/bin/sh\n")
    await step(workspace, "s", lambda stage: (stage / "run").chmod(0o755))
    assert (folder / "run").stat().st_mode & 0o777 == 0o755


async def test_modes_are_normalised(workspace: Workspace, folder: Path) -> None:
    def write(stage: Path) -> None:
        (stage / "d").mkdir(mode=0o700)
        (stage / "d/secret").write_text("")
        (stage / "d/secret").chmod(0o000)
        (stage / "setuid").write_text("")
        (stage / "setuid").chmod(0o6777)
        (stage / "d").chmod(0o000)

    await step(workspace, "s", write)
    assert (folder / "d").stat().st_mode & 0o7777 == 0o755
    assert (folder / "d/secret").stat().st_mode & 0o7777 == 0o644
    assert (folder / "setuid").stat().st_mode & 0o7777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_files_of_another_user_become_those_of_the_workspace(workspace: Workspace, folder: Path) -> None:
    def write(stage: Path) -> None:
        (stage / "a").write_text("a")
        os.chown(stage / "a", 12345, 12345)

    await step(workspace, "s", write)
    assert owners(folder) == {os.geteuid()}


async def test_empty_folders_and_odd_names_are_kept(workspace: Workspace, folder: Path) -> None:
    names = ["ä ö", "日本語", "new\nline", "-rf", "a*b", "e\u0301", "\u00e9", ".hidden"]

    def write(stage: Path) -> None:
        for name in names:
            (stage / name).mkdir()

    await step(workspace, "s", write)
    assert set(content(folder)) == set(names)
    assert await step(workspace, "t", lambda _: None) == ()


async def test_a_folder_is_removed_with_all_it_holds(workspace: Workspace, folder: Path) -> None:
    (folder / "d/e").mkdir(parents=True)
    (folder / "d/e/f").write_text("f")

    def write(stage: Path) -> None:
        (stage / "d/e/f").unlink()
        (stage / "d/e").rmdir()
        (stage / "d").rmdir()

    await step(workspace, "s", write)
    assert content(folder) == {}


async def test_a_file_may_become_a_folder_and_a_folder_a_file(workspace: Workspace, folder: Path) -> None:
    (folder / "file").write_text("f")
    (folder / "dir").mkdir()
    (folder / "dir/x").write_text("x")

    def write(stage: Path) -> None:
        (stage / "file").unlink()
        (stage / "file").mkdir()
        (stage / "file/inner").write_text("i")
        (stage / "dir/x").unlink()
        (stage / "dir").rmdir()
        (stage / "dir").write_text("d")

    await step(workspace, "s", write)
    assert content(folder) == {"file": None, "file/inner": "i", "dir": "d"}


async def test_a_folder_may_become_a_link_to_its_like(workspace: Workspace, folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "x").write_text(name)

    def write(stage: Path) -> None:
        (stage / "a/x").unlink()
        (stage / "a").rmdir()
        (stage / "a").symlink_to("b")

    await step(workspace, "s", write)
    assert (folder / "a").readlink() == Path("b")
    assert (folder / "b/x").read_text() == "b"


async def test_links_that_stay_inside_are_copied_as_links(workspace: Workspace, folder: Path) -> None:
    (folder / "d").mkdir()
    (folder / "d/up").symlink_to("../a")
    (folder / "dangling").symlink_to("nowhere")

    stage = await workspace.stage("s")

    assert (stage.folder / "d/up").readlink() == Path("../a")
    assert await stage.changes() == ()


async def test_hard_links_become_files_of_their_own(workspace: Workspace, folder: Path) -> None:
    def write(stage: Path) -> None:
        (stage / "a").write_text("same")
        for name in ("b", "c"):
            os.link(stage / "a", stage / name)

    await step(workspace, "s", write)
    assert content(folder) == {"a": "same", "b": "same", "c": "same"}
    assert hard_links(folder) == {1}


async def test_a_discarded_stage_leaves_nothing(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    stage = await workspace.stage("s")
    (stage.folder / "a").write_text("a")
    await workspace.discard("s")
    await workspace.discard("never taken")
    assert content(folder) == {}
    assert list((tmp_path / "stages/open").iterdir()) == list((tmp_path / "stages/trash").iterdir()) == []


async def test_a_stage_taken_again_begins_anew(workspace: Workspace) -> None:
    first = await workspace.stage("s")
    (first.folder / "half").write_text("half")
    second = await workspace.stage("s")
    assert await second.changes() == ()


async def test_a_stage_without_a_folder_cannot_be_committed(workspace: Workspace) -> None:
    stage = await workspace.stage("s")
    await workspace.discard("s")
    with pytest.raises(Broken, match="gone"):
        await workspace.commit(stage, ())


async def test_what_is_reserved_for_mounts_is_no_content(opened: Callable[..., Workspace]) -> None:
    workspace = opened(reserved=["source"])

    def write(stage: Path) -> None:
        (stage / "source").mkdir()
        (stage / "source/x").write_text("x")

    assert await step(workspace, "s", write) == ()
    assert workspace._now().entries == {}


async def staged(workspace: Workspace, stage_id: str, write: Write) -> tuple[Stage, tuple[Change, ...]]:
    stage = await workspace.stage(stage_id)
    write(stage.folder)
    return stage, await stage.changes()


async def test_two_stages_that_changed_the_same_path_conflict(workspace: Workspace, folder: Path) -> None:
    (folder / "shared").write_text("0")
    first = await staged(workspace, "1", lambda stage: (stage / "shared").write_text("1"))
    second = await staged(workspace, "2", lambda stage: (stage / "shared").write_text("2"))
    await workspace.commit(*first)
    assert workspace.conflicts(*second) == ("shared",)


async def test_two_stages_that_changed_different_paths_both_enter(workspace: Workspace, folder: Path) -> None:
    (folder / "read").write_text("by both")
    first = await staged(workspace, "1", lambda stage: (stage / "a").write_text("1"))
    second = await staged(workspace, "2", lambda stage: (stage / "b").write_text("2"))
    await workspace.commit(*first)
    assert workspace.conflicts(*second) == ()
    await workspace.commit(*second)
    assert content(folder) == {"read": "by both", "a": "1", "b": "2"}


async def test_a_change_by_somebody_else_conflicts_too(workspace: Workspace, folder: Path) -> None:
    (folder / "a").write_text("1")
    stage, changes = await staged(workspace, "1", lambda stage: (stage / "a").write_text("2"))
    (folder / "a").write_text("user")
    assert workspace.conflicts(stage, changes) == ("a",)


FILE, LINK, DIR, GONE = EntryKind.FILE, EntryKind.LINK, EntryKind.FOLDER, EntryKind.GONE


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [
        ([("a", FILE)], [("b", FILE)], False),
        ([("a", FILE)], [("a", FILE)], True),
        ([("a", GONE)], [("a", FILE)], True),
        ([("a", FILE)], [("a", GONE)], True),
        ([("a", GONE)], [("a", GONE)], False),
        ([("d", DIR), ("d/x", FILE)], [("d", DIR), ("d/y", FILE)], False),
        ([("d", DIR)], [("d", FILE)], True),
        ([("d/x", FILE)], [("d", GONE)], True),
        ([("d/x", FILE)], [("d", LINK), ("d/y", GONE)], True),
        ([("d", GONE), ("d/x", GONE)], [("d/y", FILE)], True),
        ([("d", FILE), ("d/x", GONE)], [("d/e/y", FILE)], True),
        ([("d", GONE), ("d/x", GONE)], [("d/x", GONE)], False),
        ([("d/x", GONE)], [("d", GONE), ("d/x", GONE)], False),
        ([("dd", GONE)], [("d/x", FILE)], False),
    ],
)
def test_changes_conflict_exactly_if_one_would_undo_the_other(
    mine: list[tuple[str, EntryKind]], theirs: list[tuple[str, EntryKind]], conflict: bool
) -> None:
    def changes(pairs: list[tuple[str, EntryKind]]) -> list[Change]:
        return [Change(path=path, kind=kind, digest=None) for path, kind in pairs]

    assert bool(conflicting(changes(mine), changes(theirs))) is conflict


async def test_a_manifest_names_content_not_times(workspace: Workspace, folder: Path) -> None:
    (folder / "a").write_text("a")
    before = workspace._now().entries
    (folder / "a").unlink()
    (folder / "a").write_text("a")
    assert workspace._now().entries == before
    (folder / "a").write_text("b")
    assert workspace._now().entries != before


@pytest.mark.parametrize("size", [0, 1, 300_000, 5_000_000])
async def test_files_of_any_size_are_copied_whole(workspace: Workspace, folder: Path, size: int) -> None:
    data = os.urandom(min(size, 4096)) * (size // 4096 + 1)
    (folder / "big").write_bytes(data[:size])
    stage = await workspace.stage("s")
    assert (stage.folder / "big").read_bytes() == data[:size]


async def test_files_are_copied_where_the_kernel_cannot(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "copy_file_range")
    (folder / "a").write_bytes(b"x" * 3_000_001)
    stage = await workspace.stage("s")
    assert (stage.folder / "a").read_bytes() == b"x" * 3_000_001


async def test_a_workspace_over_its_limits_cannot_be_staged(opened: Callable[..., Workspace], folder: Path) -> None:
    workspace = opened(TreeLimits(size_bytes=10))
    (folder / "a").write_bytes(b"x" * 11)
    with pytest.raises(Refused) as refused:
        await workspace.stage("s")
    assert refused.value.code == "workspace_too_large"


def test_stages_inside_the_workspace_are_refused(folder: Path) -> None:
    with pytest.raises(Refused, match="inside"):
        Workspace(folder, folder / ".stages")


def test_stages_on_another_file_system_are_refused(folder: Path) -> None:
    elsewhere = Path("/dev/shm")
    folder.mkdir()
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == folder.stat().st_dev:
        pytest.skip("there is only one file system")
    place = elsewhere / f"earnest-test-{os.getpid()}"
    try:
        with pytest.raises(Refused, match="file system"):
            Workspace(folder, place)
    finally:
        for path in [*sorted(place.rglob("*"), reverse=True), place]:
            path.rmdir()


async def test_what_could_not_be_removed_is_removed_by_the_next_sweep_and_fails_nothing(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    stage = await workspace.stage("s")
    (stage.folder / "a").write_text("a")
    with monkeypatch.context() as failing:
        failing.setattr("earnest.effects.hands.workspace.tree.remove_tree", fail)
        await workspace.discard("s")
    assert len(list((tmp_path / "stages/trash").iterdir())) == 1
    await workspace.sweep()
    assert list((tmp_path / "stages/trash").iterdir()) == []
