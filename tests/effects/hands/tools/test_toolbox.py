"""Does every call end in a record, whatever happened in it?"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Mount,
    Profile,
    SelfTest,
)
from earnest.effects.hands.tools.api import ToolPlace
from earnest.effects.hands.tools.files import READ_BYTES_MAX, WRITE_BYTES_MAX, ReadFile
from earnest.effects.hands.tools.glob import RESULTS_MAX, Pattern
from earnest.effects.hands.tools.record import RawResult, ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.hands.workspace.tree import TreeLimits
from earnest.foundation.canonical import JsonObject
from earnest.foundation.failures import FailureClass

Act = Callable[[Path], ExecutionReport]


class ScriptedSandbox:
    """Does in the work folder what the test says, and remembers what it was asked."""

    description = "scripted"

    def __init__(self, act: Act) -> None:
        self.asked: list[Execution] = []
        self._act = act

    async def run(self, execution: Execution) -> ExecutionReport:
        self.asked.append(execution)
        assert isinstance(execution.work, Path)
        return self._act(execution.work)

    async def self_test(self, _max_age_ms: int = 0, /) -> SelfTest:
        return SelfTest(provider="scripted", at_ms=0, probes=())

    async def close(self) -> None: ...


def done(exit_code: int = 0, stdout: bytes = b"", stderr: bytes = b"") -> ExecutionReport:
    return ExecutionReport(
        status=ExecutionStatus.DONE, exit_code=exit_code, stdout=stdout, stderr=stderr, sandbox="scripted"
    )


class Bench:
    """A workspace, an input `source` and a toolbox."""

    def __init__(self, root: Path) -> None:
        self.source = root / "input"
        self.source.mkdir()
        self.workspace = Workspace(root / "workspace", root / "stages", reserved=["source"])
        self.folder = self.workspace.folder
        self.toolbox = Toolbox(VirtualClock())
        self.sandbox = ScriptedSandbox(lambda _: done())
        self._calls = 0

    async def call(
        self, tool: str, args: JsonObject, act: Act | None = None, writable: tuple[Path, ...] = (), **granted: object
    ) -> ToolRecord:
        self._calls += 1
        if act is not None:
            self.sandbox = ScriptedSandbox(act)
        stage = await self.workspace.stage(str(self._calls))
        place = ToolPlace(
            folder=stage.folder,
            stage=stage,
            sandbox=self.sandbox,
            inputs=(Mount(source=self.source, target="source"),),
            writable=writable,
        )
        record = await self.toolbox.perform(ToolCall(tool=tool, args=args, **granted), place)  # type: ignore[arg-type]
        if record.changed:
            await self.workspace.commit(stage, record.changed)
        return record


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def failure_of(record: ToolRecord) -> tuple[FailureClass | None, str]:
    assert not record.ok
    assert record.failure is not None
    return record.failure.failure_class, record.failure.code


async def test_a_command_runs_in_the_work_profile_within_its_own_time(bench: Bench) -> None:
    record = await bench.call("shell", {"command": "wc  -l\n x"}, lambda _: done(stdout=b"3 x"), timeout_ms=7_000)

    asked = bench.sandbox.asked[0]
    assert (asked.profile, asked.network, asked.limits.wall_ms) == (Profile.WORK, False, 7_000)
    assert asked.argv[-1] == "wc  -l\n x"
    assert (record.ok, record.exit_code, record.output_excerpt) == (True, 0, "3 x")
    assert (record.tool_ids, record.target) == (frozenset({"shell:wc", "shell:x"}), "wc -l x")
    assert record.sandbox == "scripted"


async def test_only_what_was_granted_reaches_the_sandbox(bench: Bench) -> None:
    granted = (Path("/people/me/out"),)
    await bench.call(
        "shell", {"command": "make"}, network=True, writes=("/people/me/out", "/people/me"), writable=granted
    )
    asked = bench.sandbox.asked[0]
    assert asked.network
    assert [(mount.target, mount.writable) for mount in asked.mounts] == [("source", False), ("/people/me/out", True)]


async def test_what_a_command_wrote_is_in_the_record_even_if_it_failed(bench: Bench) -> None:
    def act(work: Path) -> ExecutionReport:
        (work / "out").write_text("x")
        return done(exit_code=3)

    record = await bench.call("shell", {"command": "x"}, act)
    assert failure_of(record) == (FailureClass.LOGICAL, "exit_code")
    assert [change.path for change in record.changed] == ["out"]
    assert (bench.folder / "out").read_text() == "x"


async def test_a_command_that_was_ended_by_a_limit_changed_nothing(bench: Bench) -> None:
    def act(work: Path) -> ExecutionReport:
        (work / "half").write_text("x")
        return ExecutionReport(status=ExecutionStatus.KILLED, timed_out=True, exit_code=None)

    record = await bench.call("shell", {"command": "x"}, act)
    assert failure_of(record) == (FailureClass.ENVIRONMENTAL, "timeout")
    assert record.changed == ()


@pytest.mark.parametrize(
    ("attack", "expected"),
    [
        (lambda work: os.mkfifo(work / "pipe"), (FailureClass.LOGICAL, "workspace_special_file")),
        (lambda work: (work / "l").symlink_to("/etc"), (FailureClass.LOGICAL, "workspace_link")),
        (lambda work: os.truncate(_made(work / "huge"), 1 << 40), (FailureClass.ENVIRONMENTAL, "workspace_too_large")),
    ],
)
async def test_a_command_that_left_what_may_not_enter_has_failed(
    bench: Bench, attack: Callable[[Path], object], expected: tuple[FailureClass, str]
) -> None:
    def act(work: Path) -> ExecutionReport:
        attack(work)
        return done(stdout=b"fine")

    record = await bench.call("shell", {"command": "x"}, act)
    assert failure_of(record) == expected
    assert (record.changed, record.exit_code, record.output_excerpt) == ((), 0, "fine")


def _made(path: Path) -> Path:
    path.touch()
    return path


async def test_an_absent_sandbox_is_a_fault_of_our_own(bench: Bench) -> None:
    refused = ExecutionReport(status=ExecutionStatus.REFUSED, reason="install bubblewrap")
    assert failure_of(await bench.call("shell", {"command": "x"}, lambda _: refused)) == (None, "sandbox_refused")


async def test_a_broken_tool_is_a_record_not_the_end(bench: Bench) -> None:
    def act(_: Path) -> ExecutionReport:
        raise ZeroDivisionError("oops")

    record = await bench.call("shell", {"command": "x"}, act)
    assert failure_of(record) == (None, "broken_tool")


async def test_a_writing_tool_never_acts_outside_a_stage(bench: Bench) -> None:
    place = ToolPlace(folder=bench.folder, sandbox=bench.sandbox)
    record = await bench.toolbox.perform(ToolCall(tool="write_file", args={"path": "a", "content": ""}), place)
    assert failure_of(record) == (None, "no_stage")
    assert list(bench.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("nope", {}),
        ("shell", {}),
        ("shell", {"command": 1}),
        ("shell", {"command": " "}),
        ("shell", {"command": "a\0b"}),
        ("shell", {"command": "x" * 70_000}),
        ("shell", {"command": "x", "cwd": "/"}),
        ("read_file", {"path": "../x"}),
        ("read_file", {"path": "/etc/passwd"}),
        ("read_file", {"path": "a/../../x"}),
        ("read_file", {"path": "/work/../etc/passwd"}),
        ("read_file", {"path": ""}),
        ("read_file", {"path": "."}),
        ("read_file", {"path": "\ud800"}),
        ("write_file", {"path": "a"}),
        ("write_file", {"path": "a", "content": "x" * (WRITE_BYTES_MAX + 1)}),
        ("write_file", {"path": "a", "content": float("nan")}),
        ("write_file", {"path": "a", "content": 2**60}),
        ("glob", {"pattern": "../*"}),
        ("glob", {"pattern": "/etc/*"}),
    ],
)
async def test_arguments_with_faults_are_refused_before_anything_runs(
    bench: Bench, tool: str, args: JsonObject
) -> None:
    assert bench.toolbox.faults(tool, args)
    record = await bench.call(tool, args)
    assert failure_of(record) == (FailureClass.LOGICAL, "bad_args")
    assert bench.sandbox.asked == []
    assert ToolRecord.from_json(record.to_json()) == record


async def test_all_faults_are_named() -> None:
    assert len(Toolbox(VirtualClock()).faults("write_file", {"path": 1, "extra": 2})) == 3


async def test_a_written_file_can_be_read_back(bench: Bench) -> None:
    written = await bench.call("write_file", {"path": "/work/d/./e/ä.txt", "content": "héllo\n"})
    assert (written.ok, written.target, written.tool_ids) == (True, "d/e/ä.txt", frozenset({"write_file"}))
    assert [change.path for change in written.changed] == ["d", "d/e", "d/e/ä.txt"]
    read = await bench.call("read_file", {"path": "d/e/ä.txt"})
    assert (read.output_excerpt, read.output_bytes, read.changed) == ("héllo\n", 7, ())


async def test_a_tool_that_only_reads_needs_no_stage(bench: Bench) -> None:
    (bench.folder / "a").write_text("a")
    place = ToolPlace(folder=bench.folder, sandbox=bench.sandbox)
    assert (await bench.toolbox.perform(ToolCall(tool="read_file", args={"path": "a"}), place)).output_excerpt == "a"


async def test_inputs_can_be_read_but_not_written(bench: Bench) -> None:
    (bench.source / "lib").mkdir()
    (bench.source / "lib/a.py").write_text("a")
    assert (await bench.call("read_file", {"path": "source/lib/a.py"})).output_excerpt == "a"
    assert (await bench.call("glob", {"pattern": "*.py"})).output_excerpt == "source/lib/a.py"
    record = await bench.call("write_file", {"path": "source/lib/a.py", "content": "b"})
    assert failure_of(record) == (FailureClass.ENVIRONMENTAL, "erofs")
    assert (bench.source / "lib/a.py").read_text() == "a"


@pytest.mark.parametrize(
    ("make", "path", "expected"),
    [
        (lambda root: None, "a", (FailureClass.ENVIRONMENTAL, "enoent")),
        (lambda root: (root / "a").mkdir(), "a", (FailureClass.LOGICAL, "eisdir")),
        (lambda root: (root / "a").write_text(""), "a/b", (FailureClass.LOGICAL, "enotdir")),
        (lambda root: os.mkfifo(root / "a"), "a", (FailureClass.LOGICAL, "einval")),
        (lambda root: (root / "a").symlink_to("/etc/passwd"), "a", (FailureClass.LOGICAL, "exdev")),
        (lambda root: (root / "a").symlink_to("/etc"), "a/passwd", (FailureClass.LOGICAL, "exdev")),
        (lambda root: (root / "a").symlink_to("../workspace"), "a", (FailureClass.LOGICAL, "exdev")),
        (lambda root: (root / "a").symlink_to("a"), "a", (FailureClass.LOGICAL, "eloop")),
        (lambda root: (root / "a").symlink_to("."), "a", (FailureClass.LOGICAL, "eisdir")),
        (
            lambda root: _made(root / "a").write_bytes(b"x" * (READ_BYTES_MAX + 1)),
            "a",
            (FailureClass.LOGICAL, "too_large"),
        ),
    ],
)
async def test_reading_never_leaves_the_folder(
    bench: Bench, make: Callable[[Path], object], path: str, expected: tuple[FailureClass, str]
) -> None:
    make(bench.source)
    assert failure_of(await bench.call("read_file", {"path": f"source/{path}"})) == expected


async def test_links_inside_a_folder_are_followed(bench: Bench) -> None:
    (bench.source / "d").mkdir()
    (bench.source / "real").write_text("real")
    (bench.source / "d/up").symlink_to("..")
    (bench.source / "latest").symlink_to("d/up/./d/../real")
    assert (await bench.call("read_file", {"path": "source/latest"})).output_excerpt == "real"


async def test_writing_never_follows_a_link_out_of_the_stage(bench: Bench, tmp_path: Path) -> None:
    stage = await bench.workspace.stage("s")
    for target in ("/etc", "..", str(tmp_path)):
        (stage.folder / "l").unlink(missing_ok=True)
        (stage.folder / "l").symlink_to(target)
        place = ToolPlace(folder=stage.folder, stage=stage, sandbox=bench.sandbox)
        record = await bench.toolbox.perform(ToolCall(tool="write_file", args={"path": "l/x", "content": "x"}), place)
        assert failure_of(record) == (FailureClass.LOGICAL, "exdev")
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "stages/open/x").exists()


def test_a_folder_swapped_for_a_link_while_we_look_is_not_followed(tmp_path: Path) -> None:
    from earnest.effects.ground import beneath

    (tmp_path / "d").mkdir()
    real = beneath._link_target

    def swap(name: str, folder: int) -> str | None:
        answer = real(name, folder)
        if name == "d":
            (tmp_path / "d").rmdir()
            (tmp_path / "d").symlink_to("/etc")
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beneath, "_link_target", swap)
        with pytest.raises(OSError, match=r"Not a directory|symbolic"), beneath.opened_beneath(tmp_path, "d/passwd", 0):
            pass


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", "a.py d/b.py d/e/c.py"),
        ("d/*.py", "d/b.py"),
        ("d/**/*.py", "d/b.py d/e/c.py"),
        ("**/e/*", "d/e/c.py"),
        ("**", "a.py d/b.py d/e/c.py d/link d/x.txt"),
        ("d/**", "d/b.py d/e/c.py d/link d/x.txt"),
        ("?.py", "a.py d/b.py d/e/c.py"),
        ("[ab].py", "a.py d/b.py"),
        ("/work/a.py", "a.py"),
        ("d", ""),
        ("none", ""),
        ("[", ""),
    ],
)
async def test_glob_finds_files_by_pattern(bench: Bench, pattern: str, found: str) -> None:
    (bench.folder / "d/e").mkdir(parents=True)
    for name in ("a.py", "d/b.py", "d/x.txt", "d/e/c.py"):
        (bench.folder / name).touch()
    (bench.folder / "d/link").symlink_to("e")
    record = await bench.call("glob", {"pattern": pattern})
    assert record.ok
    assert record.output_excerpt.split() == found.split()


@pytest.mark.slow
async def test_glob_says_when_it_stopped(bench: Bench) -> None:
    for number in range(RESULTS_MAX + 1):
        (bench.source / str(number)).touch()
    record = await bench.call("glob", {"pattern": "source/*"})
    assert record.ok
    assert "not complete" in record.output_excerpt


async def test_a_name_with_a_new_line_cannot_pass_for_two(bench: Bench) -> None:
    (bench.folder / "a\nb").touch()
    assert (await bench.call("glob", {"pattern": "*"})).output_excerpt == '"a\\nb"'


def test_no_pattern_is_slow() -> None:
    pattern = Pattern("/".join(["**", "a"] * 100))
    states = pattern.start
    for _ in range(1_000):
        states = pattern.step(states, "a")
    assert not pattern.accepts(pattern.step(states, "b"))


async def test_time_is_that_of_the_clock(bench: Bench) -> None:
    record = await bench.call("glob", {"pattern": "*"})
    assert (record.started_at_ms, record.duration_ms) == (VirtualClock().now_ms(), 0)


async def test_a_toolbox_can_hold_other_tools() -> None:
    changing = {"apply_patch", "delete", "edit_file", "move", "shell", "write_file"}
    assert set(Toolbox(VirtualClock()).tools) == {"glob", "read_file"} | changing
    assert set(Toolbox(VirtualClock(), [ReadFile()]).tools) == {"read_file"}


def test_an_identity_is_told_of_calls_with_faults_too() -> None:
    toolbox = Toolbox(VirtualClock())
    bad = ToolCall(tool="shell", args={"command": float("inf")})
    assert (toolbox.tool_ids(bad), toolbox.target(bad)) == (frozenset({"shell"}), "")
    assert toolbox.digest(bad) != toolbox.digest(ToolCall(tool="shell", args={"command": float("nan")}))
    assert toolbox.tool_ids(ToolCall(tool="shell", args={"command": "$X"})) == {"shell"}


def test_defaults_are_bounded() -> None:
    assert RawResult().complete
    assert ExecutionLimits().wall_ms > 0
    assert TreeLimits().entries == 10_000
