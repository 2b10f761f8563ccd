"""Does a checkpoint bring back exactly what was there?"""

import asyncio
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.effects.hands.workspace.changes import Change, Manifest, PathEntry, difference
from earnest.effects.hands.workspace.checkpoints import manifest_from_json, manifest_to_json
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json

PATHS = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "b/c"])
EDITS = st.one_of(
    st.tuples(st.just("write"), PATHS, st.sampled_from(["", "1", "2", "x" * 5000])),
    st.tuples(st.just("mkdir"), PATHS, st.just("")),
    st.tuples(st.just("remove"), PATHS, st.just("")),
    st.tuples(st.just("link"), PATHS, st.sampled_from(["a", "d/e"])),
    st.tuples(st.just("chmod"), PATHS, st.just("")),
)
LABELS = st.integers(0, 3)
ACTIONS = st.one_of(
    st.lists(EDITS, max_size=6),
    st.tuples(st.just("checkpoint"), LABELS),
    st.tuples(st.just("restore"), LABELS),
    st.just("restart"),
)


def apply(folder: Path, edit: tuple[str, str, str]) -> None:
    kind, name, value = edit
    path = folder / name
    with suppress(OSError):
        if kind in {"remove", "link"}:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        if kind == "write":
            path.write_text(value)
        elif kind == "mkdir":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(value)
        elif kind == "chmod" and not path.is_symlink():
            path.chmod(0o755)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(ACTIONS, max_size=12))
def test_any_checkpoint_brings_back_what_was_there_after_any_steps(actions: list[object]) -> None:
    async def play(root: Path) -> None:
        workspace = Workspace(root / "workspace", root / "stages")
        kept: dict[int, Manifest] = {}
        spent: set[int] = set()
        for number, action in enumerate(actions):
            match action:
                case list() as edits:
                    stage = await workspace.stage(str(number))
                    for edit in edits:
                        apply(stage.folder, edit)
                    changes = await stage.changes()
                    await workspace.commit(stage, changes)
                case ("checkpoint", int(label)):
                    await workspace.checkpoint(str(label))
                    if label not in spent:
                        kept.setdefault(label, workspace._now().entries)
                case ("restore", int(label)):
                    expected = kept[label] if label in kept else workspace._now().entries
                    await workspace.restore(str(label))
                    assert workspace._now().entries == expected
                    spent |= {label} & kept.keys()
                    kept.pop(label, None)
                case _:
                    workspace = Workspace(root / "workspace", root / "stages")

    with tempfile.TemporaryDirectory() as root:
        asyncio.run(play(Path(root)))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace", tmp_path / "stages")


async def write(workspace: Workspace, path: str, text: str) -> tuple[Change, ...]:
    stage = await workspace.stage(f"{path}={text}")
    (stage.folder / path).parent.mkdir(parents=True, exist_ok=True)
    (stage.folder / path).write_text(text)
    changes = await stage.changes()
    await workspace.commit(stage, changes)
    return changes


async def test_a_checkpoint_copies_nothing(workspace: Workspace, tmp_path: Path) -> None:
    await write(workspace, "big", "x" * 1_000_000)
    await workspace.checkpoint("c")
    assert sum(path.stat().st_size for path in (tmp_path / "stages").rglob("*") if path.is_file()) < 1_000


async def test_a_label_is_restored_once_so_that_a_replay_undoes_nothing(workspace: Workspace) -> None:
    await write(workspace, "a", "1")
    await workspace.checkpoint("attempt/1")
    await write(workspace, "a", "2")
    assert [change.path for change in await workspace.restore("attempt/1")] == ["a"]
    await write(workspace, "a", "3")

    await workspace.checkpoint("attempt/1")
    assert await workspace.restore("attempt/1") == ()
    assert (workspace.folder / "a").read_text() == "3"


async def test_a_label_taken_twice_remembers_the_first_time(workspace: Workspace) -> None:
    await workspace.checkpoint("c")
    await write(workspace, "a", "1")
    await workspace.checkpoint("c")
    await workspace.restore("c")
    assert list(workspace.folder.iterdir()) == []


async def test_a_failed_attempt_takes_nothing_of_a_parallel_one_with_it(workspace: Workspace) -> None:
    await write(workspace, "mine/old", "old")
    await workspace.checkpoint("attempt")
    changes = await write(workspace, "mine/old", "spoilt") + await write(workspace, "mine/deep/new", "new")
    await write(workspace, "yours", "yours")

    await workspace.restore("attempt", within=[change.path for change in changes])

    assert (workspace.folder / "yours").read_text() == "yours"
    assert (workspace.folder / "mine/old").read_text() == "old"
    assert not (workspace.folder / "mine/deep").exists()


async def test_content_is_kept_only_while_a_checkpoint_needs_it(workspace: Workspace, tmp_path: Path) -> None:
    kept = tmp_path / "stages/checkpoints/kept"
    await write(workspace, "a", "1")
    await workspace.checkpoint("c")
    await write(workspace, "a", "2")
    await write(workspace, "a", "3")
    assert [path.read_text() for path in kept.iterdir()] == ["1"]
    workspace.checkpoints.spend("c")
    assert list(kept.iterdir()) == []
    assert await workspace.restore("c") == ()


async def test_content_that_was_changed_from_outside_is_reported_lost(workspace: Workspace) -> None:
    await write(workspace, "a", "1")
    await workspace.checkpoint("c")
    (workspace.folder / "a").unlink()
    await write(workspace, "b", "2")
    with pytest.raises(Broken, match="lost"):
        await workspace.restore("c")
    assert (workspace.folder / "b").read_text() == "2"


async def test_kept_content_that_was_tampered_with_is_never_brought_back(workspace: Workspace, tmp_path: Path) -> None:
    await write(workspace, "a", "1")
    await workspace.checkpoint("c")
    await write(workspace, "a", "2")
    next((tmp_path / "stages/checkpoints/kept").iterdir()).write_text("forged")
    with pytest.raises(Broken):
        await workspace.restore("c")
    assert (workspace.folder / "a").read_text() == "2"


async def test_a_restored_file_is_a_file_of_its_own(workspace: Workspace) -> None:
    await write(workspace, "a", "1")
    await workspace.checkpoint("one")
    await workspace.checkpoint("two")
    await write(workspace, "a", "2")
    await workspace.restore("one")
    assert (workspace.folder / "a").stat().st_nlink == 1
    with (workspace.folder / "a").open("a") as file:
        file.write("by hand")
    await workspace.restore("two")
    assert (workspace.folder / "a").read_text() == "1"


async def test_labels_may_be_any_text(workspace: Workspace) -> None:
    label = "run/1/../../é" + "x" * 5_000
    await workspace.checkpoint(label)
    await write(workspace, "a", "1")
    await workspace.restore(label)
    assert workspace._now().entries == {}


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=20)
ENTRIES = st.builds(
    PathEntry,
    kind=st.sampled_from([EntryKind.FILE, EntryKind.LINK, EntryKind.FOLDER]),
    digest=st.just("sha256:" + "0" * 64),
    size_bytes=st.integers(0, 2**50),
    executable=st.booleans(),
)


@pytest.mark.slow
@given(st.dictionaries(NAMES, ENTRIES), st.dictionaries(NAMES, ENTRIES))
def test_manifests_and_changes_come_back_from_json(before: dict[str, PathEntry], after: dict[str, PathEntry]) -> None:
    assert manifest_from_json(manifest_to_json(after)) == after
    changes = difference(before, after)
    assert tuple(from_json(Change, change.to_json()) for change in changes) == changes
    assert {change.path for change in changes if change.digest is None} == before.keys() - after.keys()


@pytest.mark.parametrize("value", [None, {}, {"path": 1}, [], {"a": ["gone"]}, {"a": ["nothing", "", 0, False]}])
def test_what_is_not_ours_is_never_read_as_a_change_or_manifest(value: object) -> None:
    with pytest.raises(Broken):
        from_json(Change, value)
    if value != {}:
        with pytest.raises(Broken):
            manifest_from_json(value)  # type: ignore[arg-type]


async def test_a_checkpoint_names_what_differs_from_the_last_whole_one(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace", tmp_path / "stages")
    folder, notes = workspace.folder, tmp_path / "stages" / "checkpoints"
    for number in range(200):
        (folder / f"f{number}").write_text(str(number))
    await workspace.checkpoint("whole")
    whole = sum(path.stat().st_size for path in notes.glob("*.json"))
    (folder / "f7").write_text("seven")
    (folder / "f8").unlink()
    await workspace.checkpoint("second")
    wanted = workspace._now().entries
    assert sum(path.stat().st_size for path in notes.glob("*.json")) - whole < whole / 20
    workspace.checkpoints.spend("whole")
    workspace.close()
    workspace = Workspace(tmp_path / "workspace", tmp_path / "stages")
    (folder / "f7").write_text("gone")
    (folder / "f8").write_text("back")
    assert workspace.checkpoints.find("second") == wanted
    assert len(wanted) == 199
    workspace.close()
    for path in notes.glob("*.spent"):
        path.unlink()
    with pytest.raises(Broken, match="on which another one rests"):
        Workspace(tmp_path / "workspace", tmp_path / "stages")
