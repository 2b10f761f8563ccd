"""Applying and taking back a run's change of the user's files."""

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.engine.gradient.cascade import MacroState
from earnest.foundation.errors import Refused, Unavailable

from .scene import PROJECT, RUN, Scene, content, lay_out, mended

STEPS = (
    *("rename", "replace", "unlink", "rmdir", "mkdir", "open", "fsync"),
    *("chmod", "fchmod", "chown", "utime", "setxattr", "copy_file_range", "pwrite", "ftruncate"),
)
"""Everything by which applying touches the disk."""
ANYBODY = 0xFFFFFFFF


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    lay_out(tmp_path / "calc", PROJECT)
    (tmp_path / "calc" / "keep.txt").chmod(0o600)
    return Scene(home=tmp_path / "home", original=tmp_path / "calc")


def test_an_accepted_change_takes_the_place_of_the_originals_and_back(scene: Scene) -> None:
    before = content(scene.original)
    scene.work(mended)
    assert content(scene.original) == before, "nothing of it before somebody applies it"
    assert scene.apply() > 0
    assert content(scene.original) == {
        "calc/calc.py": ("def add(a, b):\n    return a + b\n", 0o755),
        "calc/docs": ("now a file\n", 0o644),
        "calc/keep.txt": (PROJECT["keep.txt"], 0o600),
        "calc/src/new/tool.sh": ("echo\n", 0o644),
    }
    scene.undo()
    assert content(scene.original) == before
    assert not (scene.original / "src").exists()


def test_a_single_file_is_edited_in_its_place(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("a\n")
    note.chmod(0o640)
    scene = Scene(home=tmp_path / "home", original=note)
    scene.work(lambda copy: copy.write_text("b\n"))
    scene.apply()
    assert content(note) == {"note.txt": ("b\n", 0o640)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "note.txt"]


def as_file(copy: Path) -> None:
    shutil.rmtree(copy)
    copy.write_text("a file now\n")


@pytest.mark.parametrize("change", [shutil.rmtree, as_file])
def test_a_whole_folder_that_went_comes_back(scene: Scene, change: Callable[[Path], object]) -> None:
    before = content(scene.original)
    scene.work(change)
    scene.apply()
    assert not scene.original.is_dir()
    scene.undo()
    assert content(scene.original) == before
    assert sorted(path.name for path in scene.original.parent.iterdir()) == ["calc", "home"]


def as_folder(copy: Path) -> None:
    copy.unlink()
    lay_out(copy, {"inner/b.txt": "b\n"})


def test_a_file_that_became_a_folder_comes_back(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("a\n")
    scene = Scene(home=tmp_path / "home", original=note)
    scene.work(as_folder)
    scene.apply()
    assert (note / "inner" / "b.txt").read_text() == "b\n"
    scene.undo()
    assert note.read_text() == "a\n"


def write(place: Path) -> None:
    place.write_text("mended\n")


@pytest.mark.parametrize("change", [write, Path.unlink])
def test_a_file_keeps_its_attributes_and_its_list_of_who_may(scene: Scene, change: Callable[[Path], object]) -> None:
    place = scene.original / "calc.py"
    entries = (
        (1, 6, ANYBODY),
        (2, 6, 1),
        (4, 0, ANYBODY),
        (16, 6, ANYBODY),
        (32, 0, ANYBODY),
    )  # user 1 may, groups not
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    kept = {"user.origin": b"the harbour", "system.posix_acl_access": access}
    try:
        for name, value in kept.items():
            os.setxattr(place, name, value)
    except OSError as error:
        pytest.skip(f"this file system keeps none: {error}")
    scene.work(lambda copy: change(copy / "calc.py"))
    for step in (scene.apply, scene.undo):
        step()
        assert not place.exists() or {name: os.getxattr(place, name) for name in kept} == kept
    assert place.read_text() == PROJECT["calc.py"]


def test_what_was_applied_is_not_applied_again_and_what_was_taken_back_may_be(scene: Scene) -> None:
    scene.work(mended)
    with pytest.raises(Refused, match="not applied"):
        scene.undo()
    scene.apply()
    with pytest.raises(Refused, match="is applied"):
        scene.apply()
    scene.undo()
    assert scene.apply() > 0


def test_what_no_verdict_accepted_is_applied_only_by_that_name(scene: Scene) -> None:
    scene.work(mended, MacroState.ABANDON)
    before = content(scene.original)
    with pytest.raises(Refused, match="add adds"):
        scene.apply()
    assert content(scene.original) == before
    assert scene.apply(unverified=True) > 0


@pytest.mark.parametrize("path", ["calc.py", "docs/old.md", "src/new/tool.sh"])
def test_a_file_that_somebody_changed_meanwhile_keeps_everything_as_it_is(scene: Scene, path: str) -> None:
    scene.work(mended)
    lay_out(scene.original, {path: "mine\n"})
    before = content(scene.original)
    with pytest.raises(Refused) as refused:
        scene.apply()
    assert refused.value.code == "edit_conflict"
    assert path in str(refused.value)
    assert content(scene.original) == before


def test_a_file_that_became_a_link_meanwhile_is_a_conflict(scene: Scene, tmp_path: Path) -> None:
    scene.work(mended)
    outside = tmp_path / "outside.py"
    shutil.move(scene.original / "calc.py", outside)
    (scene.original / "calc.py").symlink_to(outside)
    with pytest.raises(Refused, match=r"calc\.py"):
        scene.apply()
    assert outside.read_text() == PROJECT["calc.py"]


def test_a_folder_that_became_a_link_meanwhile_is_not_written_through(scene: Scene, tmp_path: Path) -> None:
    scene.work(lambda copy: (copy / "docs" / "old.md").write_text("new\n"))
    shutil.move(scene.original / "docs", tmp_path / "outside")
    (scene.original / "docs").symlink_to(tmp_path / "outside")
    with pytest.raises(Refused, match=r"old\.md"):
        scene.apply()
    assert (tmp_path / "outside" / "old.md").read_text() == "old\n"


def test_the_same_change_made_by_the_user_meanwhile_is_no_conflict(scene: Scene) -> None:
    scene.work(lambda copy: lay_out(copy, {"calc.py": "same\n", "docs/old.md": "new\n"}))
    lay_out(scene.original, {"calc.py": "same\n"})
    assert scene.apply() == 1
    scene.undo()
    assert (scene.original / "calc.py").read_text() == "same\n", "that was the user's own"


def test_both_changes_of_a_text_are_joined_on_request(scene: Scene) -> None:
    lines = PROJECT["keep.txt"].splitlines(keepends=True)
    scene.work(lambda copy: (copy / "keep.txt").write_text("".join(["first\n", *lines[1:]])))
    (scene.original / "keep.txt").write_text("".join([*lines[:-1], "last\n"]))
    with pytest.raises(Refused):
        scene.apply()
    scene.apply(merge=True)
    assert (scene.original / "keep.txt").read_text() == "".join(["first\n", *lines[1:-1], "last\n"])
    scene.undo()
    assert (scene.original / "keep.txt").read_text() == "".join([*lines[:-1], "last\n"])


def test_changes_that_touch_each_other_are_not_joined(scene: Scene) -> None:
    scene.work(lambda copy: lay_out(copy, {"calc.py": "theirs\n", "docs/old.md": "new\n"}))
    lay_out(scene.original, {"calc.py": "mine\n"})
    with pytest.raises(Refused, match=r"calc\.py"):
        scene.apply(merge=True)
    assert (scene.original / "docs" / "old.md").read_text() == "old\n"


def test_a_link_that_a_run_made_is_not_applied(scene: Scene) -> None:
    scene.work(lambda copy: (copy / "link").symlink_to("calc.py"))
    with pytest.raises(Refused, match="link"):
        scene.apply()


def test_undo_leaves_alone_what_was_changed_since(scene: Scene) -> None:
    scene.work(mended)
    scene.apply()
    lay_out(scene.original, {"calc.py": "mine\n"})
    after = content(scene.original)
    with pytest.raises(Refused, match=r"calc\.py"):
        scene.undo()
    assert content(scene.original) == after


def test_a_failing_disk_leaves_everything_as_it_was(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.work(mended)
    before = content(scene.original)
    real, calls = Path.replace, []

    def failing(self: Path, target: Path) -> Path:
        if self.name.startswith(".earnest-"):
            calls.append(self)
            if len(calls) == 2:
                raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(Unavailable, match="nothing was changed"):
        scene.apply()
    assert content(scene.original) == before
    monkeypatch.undo()
    assert scene.apply() > 0


def _dies_in_child(act: Callable[[], object], call: int) -> bool:
    """Do it in a child process that dies before its `call`-th step on the user's disk; True if it died of that."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WEXITSTATUS(status) in {0, 9}, "the child failed otherwise"
        return os.WEXITSTATUS(status) == 9
    left = call
    for name in STEPS:
        real = getattr(os, name)

        def step(*args: object, _real: Callable[..., object] = real, **options: object) -> object:
            nonlocal left
            if left <= 0:
                os._exit(9)
            left -= 1
            return _real(*args, **options)

        setattr(os, name, step)
    try:
        act()
    except BaseException:
        os._exit(1)
    os._exit(0)


def _tell(place: Path, value: bytes) -> None:
    try:
        os.setxattr(place, "user.origin", value)
    except OSError as error:
        pytest.skip(f"this file system keeps none: {error}")


def _all_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every path below a folder with its permission bits, what is told of it and what it holds."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            {name: os.getxattr(path, name) for name in os.listxattr(path)},
            path.read_bytes() if path.is_file() else None,
        )
        for path in folder.rglob("*")
    }


@pytest.mark.slow
@pytest.mark.parametrize("what", ["apply", "undo"])
def test_killed_at_any_step_all_of_it_or_nothing_is_there_after_the_next_start(
    scene: Scene, tmp_path: Path, what: str
) -> None:
    lay_out(scene.original, {"private/old.key": "secret\n", "private/older.key": "secret\n"})
    told = {"calc.py": b"mended", "docs/old.md": b"gone", "docs/inner": b"gone", "private/old.key": b"gone"}
    for name, value in told.items():
        _tell(scene.original / name, value)
    (scene.original / "private").chmod(0o700)

    def changed(project: Path) -> None:
        mended(project)
        shutil.rmtree(project / "private")

    scene.work(changed)
    if what == "undo":
        scene.apply()
    start = tmp_path / "start"
    shutil.copytree(tmp_path / "home", start / "home")
    shutil.copytree(scene.original, start / "calc")
    at_start = _all_of(scene.original)
    call, ends = 0, {}
    while True:
        for name in ("home", "calc"):
            shutil.rmtree(tmp_path / name)
            shutil.copytree(start / name, tmp_path / name)
        died = _dies_in_child(getattr(scene, what), call)
        scene.recover()
        found = _all_of(scene.original)
        ends[call] = found
        assert not list(scene.original.rglob(".earnest-*"))
        if not died:
            break
        call += 1
    assert call > 20
    whole = ends[call]
    assert whole != at_start
    assert all(found in (at_start, whole) for found in ends.values())
    assert at_start in ends.values()


@pytest.mark.slow
def test_what_a_killed_process_left_is_taken_back_where_somebody_else_went_on(scene: Scene, tmp_path: Path) -> None:
    scene.work(mended)
    before = content(scene.original)
    for call in range(200):
        assert _dies_in_child(scene.apply, call), "it never stopped in the middle"
        if content(scene.original) != before:
            break
    lay_out(scene.original, {"docs/old.md": "mine\n"} if (scene.original / "docs").is_dir() else {"docs": "mine\n"})
    scene.recover()
    found = content(scene.original)
    assert "mine\n" in {text for text, _ in found.values()}
    assert found["calc/calc.py"] == before["calc/calc.py"]


def test_former_content_that_was_tampered_with_is_not_brought_back(scene: Scene) -> None:
    scene.work(mended)
    scene.apply()
    after = content(scene.original)
    for kept in (scene.runs / RUN / "undo").iterdir():
        kept.write_bytes(b"other")
    with pytest.raises(Unavailable, match="nothing was changed"):
        scene.undo()
    assert content(scene.original) == after
