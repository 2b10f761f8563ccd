"""Do the tools hold in the real sandbox?"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import Mount, Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.tools.api import ToolPlace
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.foundation.failures import FailureClass


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    sandbox = await open_sandbox(SandboxSettings(pool=0), SystemClock())
    try:
        if not (tested := await sandbox.self_test()).green:
            pytest.skip(tested.reason)
        yield sandbox
    finally:
        await sandbox.close()


@pytest.mark.slow
async def test_commands_change_the_workspace_in_whole_steps(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "input/lib").mkdir(parents=True)
    (tmp_path / "input/lib/a.py").write_text("1\n2\n")
    workspace = Workspace(tmp_path / "workspace", tmp_path / "stages", reserved=["source"])
    toolbox = Toolbox(SystemClock())
    calls = 0

    async def shell(command: str, timeout_ms: int = 10_000) -> ToolRecord:
        nonlocal calls
        calls += 1
        stage = await workspace.stage(str(calls))
        inputs = (Mount(source=tmp_path / "input", target="source"),)
        place = ToolPlace(folder=stage.folder, stage=stage, sandbox=sandbox, inputs=inputs)
        record = await toolbox.perform(ToolCall(tool="shell", args={"command": command}, timeout_ms=timeout_ms), place)
        async with workspace.turn:
            assert workspace.conflicts(stage, record.changed) == ()
            await workspace.commit(stage, record.changed)
        return record

    counted = await shell("find source -name '*.py' -exec wc -l {} + > counts.txt")
    assert counted.ok, counted.failure
    assert [change.path for change in counted.changed] == ["counts.txt"]
    assert (workspace.folder / "counts.txt").read_text() == "2 source/lib/a.py\n"

    edited = await shell("echo more >> counts.txt; mkdir -p a/b; ln -s ../../counts.txt a/b/c; chmod +x counts.txt")
    assert [change.path for change in edited.changed] == ["a", "a/b", "a/b/c", "counts.txt"]
    assert (workspace.folder / "a/b/c").read_text().endswith("more\n")

    removed = await shell("rm -r a; chmod 000 counts.txt")
    assert [change.path for change in removed.changed] == ["a", "a/b", "a/b/c", "counts.txt"]

    assert (await shell("cat counts.txt source/lib/a.py")).ok
    assert (await shell("true")).changed == ()

    missing = await shell("cat nowhere")
    assert missing.failure is not None
    assert (missing.failure.failure_class, missing.failure.code) == (FailureClass.ENVIRONMENTAL, "enoent")
    assert (await shell("false | true")).exit_code == 1
    assert (await shell("no-such-program")).failure is not None
    assert not (await shell("echo x > source/new")).ok

    late = await shell("echo half > half; sleep 60", timeout_ms=300)
    assert late.failure is not None
    assert (late.failure.code, late.changed) == ("timeout", ())
    assert sorted(path.name for path in workspace.folder.iterdir()) == ["counts.txt"]
    assert list((tmp_path / "input").rglob("new")) == []
