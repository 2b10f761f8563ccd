"""Are files changed exactly as was asked, all of it or nothing, and never outside the workspace?"""

from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.api import Mount
from earnest.effects.hands.sandbox.available import UnavailableSandbox
from earnest.effects.hands.tools.api import Tool, ToolPlace
from earnest.effects.hands.tools.apply_patch import ApplyPatch
from earnest.effects.hands.tools.files import Delete, EditFile, MoveFile, ReadFile
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.foundation.canonical import JsonObject

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\none\n")
    return folder


async def made(tool: Tool, work: Path, **args: object) -> RawResult:
    call = ToolCall(tool=tool.name, args=args)  # type: ignore[arg-type]
    assert tool.args_faults(call.args) == []
    place = ToolPlace(
        folder=work, sandbox=UnavailableSandbox("none", VirtualClock()), inputs=(Mount(source=work, target="given"),)
    )
    return await tool.run(call, place)


async def test_a_text_that_stands_once_is_replaced(work: Path) -> None:
    assert (await made(EditFile(), work, path="a.txt", old="two", new="zwei")).failure is None
    assert (work / "a.txt").read_text() == "one\nzwei\none\n"


@pytest.mark.parametrize(("old", "count"), [("one", 2), ("three", 0), ("", 0)])
async def test_any_other_number_changes_nothing_and_is_told(work: Path, old: str, count: int) -> None:
    failure = (await made(EditFile(), work, path="a.txt", old=old, new="x")).failure
    assert failure is not None
    assert f"stands {count} times" in failure.message
    assert (work / "a.txt").read_text() == "one\ntwo\none\n"


async def test_all_of_them_are_replaced_when_that_is_asked_for(work: Path) -> None:
    await made(EditFile(), work, path="a.txt", old="one", new="1", all="yes")
    assert (work / "a.txt").read_text() == "1\ntwo\n1\n"


async def test_a_patch_is_applied_and_finds_lines_that_have_moved(work: Path) -> None:
    (work / "a.txt").write_text("zero\none\ntwo\n")
    assert (await made(ApplyPatch(), work, patch=PATCH)).failure is None
    assert (work / "a.txt").read_text() == "zero\none\nzwei\n"


async def test_a_patch_makes_and_removes_files(work: Path) -> None:
    new = "--- /dev/null\n+++ b/sub/n.txt\n@@ -0,0 +1,1 @@\n+new\n"
    gone = "--- a/a.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-one\n"
    assert (await made(ApplyPatch(), work, patch=new + gone)).failure is None
    assert (work / "sub/n.txt").read_text() == "new\n"
    assert not (work / "a.txt").exists()


async def test_a_patch_of_which_one_file_does_not_fit_changes_none(work: Path) -> None:
    (work / "b.txt").write_text("other\n")
    failure = (await made(ApplyPatch(), work, patch=PATCH + PATCH.replace("a.txt", "b.txt"))).failure
    assert failure is not None
    assert "b.txt: the lines of hunk 1, from 'one' on, stand there 0 times" in failure.message
    assert (work / "a.txt").read_text() == "one\ntwo\none\n"


@pytest.mark.parametrize("patch", ["", "hello", "@@ -1 +1 @@\n-a\n+b\n", PATCH.rpartition("+zwei")[0]])
def test_what_is_no_patch_is_refused_with_the_reason(patch: str) -> None:
    assert (
        "patch" in ApplyPatch().args_faults({"patch": patch})[0]
        or "diff" in ApplyPatch().args_faults({"patch": patch})[0]
    )


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (EditFile(), {"path": "given/a.txt", "old": "one", "new": "x"}),
        (Delete(), {"path": "given/a.txt"}),
        (MoveFile(), {"path": "a.txt", "to": "given/b.txt"}),
        (ApplyPatch(), {"patch": PATCH.replace("a.txt", "given/a.txt")}),
    ],
)
async def test_inputs_are_never_changed(work: Path, tool: Tool, args: JsonObject) -> None:
    failure = (await made(tool, work, **args)).failure
    assert failure is not None
    assert failure.code == "erofs"


async def test_nothing_is_moved_over_anything_nor_through_a_link(work: Path, tmp_path: Path) -> None:
    (work / "b.txt").write_text("b")
    (tmp_path / "outside").mkdir()
    (work / "out").symlink_to(tmp_path / "outside")
    for to in ("b.txt", "out/x.txt"):
        assert (await made(MoveFile(), work, path="a.txt", to=to)).failure is not None
    assert (await made(MoveFile(), work, path="a.txt", to="new/c.txt")).failure is None
    assert (work / "new/c.txt").exists()
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_folder_is_deleted_and_what_is_missing_is_said_to_be(work: Path) -> None:
    (work / "d").mkdir()
    assert (await made(Delete(), work, path="d")).failure is None
    assert (await made(Delete(), work, path="d")).failure is not None


async def test_lines_are_read_with_their_numbers(work: Path) -> None:
    call: JsonObject = {"path": "a.txt", "from": 2, "to": 9}
    assert (await made(ReadFile(), work, **call)).stdout == b"2\ttwo\n3\tone\n"
    assert (await made(ReadFile(), work, path="a.txt")).stdout == b"one\ntwo\none\n"


@pytest.mark.parametrize("path", ["~", "~/a.txt", "$HOME/a.txt", "${HOME}/a", "sub/$HOME/a", "/etc/passwd", "../a"])
@pytest.mark.parametrize("tool", [ReadFile(), Delete(), EditFile()])
def test_a_path_outside_is_refused_with_the_reason_and_never_made(tool: Tool, path: str) -> None:
    more = {"old": "a", "new": "b"} if tool.name == "edit_file" else {}
    (fault,) = tool.args_faults({"path": path, **more})
    assert "outside the workspace" in fault or "leads out of /work" in fault
