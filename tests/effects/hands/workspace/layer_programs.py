"""What must hold of layers for root and for an ordinary user alike; a program, so that it can be started as either."""

import asyncio
import os
import sys
from pathlib import Path

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import Execution, Profile, SandboxSettings
from earnest.effects.hands.sandbox.available import UnavailableSandbox, open_sandbox
from earnest.effects.hands.workspace import known
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.runtime.layers import OverLayers, laying

COMMAND = """set -e
echo new > changed
rm gone
rm -r folder; mkdir folder; echo new > folder/made
mkdir -p deep/er; echo new > deep/er/still
echo new > linked; ln linked other
chmod 755 tool
mv moved there
rm becomes; mkdir becomes; echo in > becomes/in
mkdir secret; echo hidden > secret/x; chmod 0 secret
"""
CHANGED = {
    "becomes": EntryKind.FOLDER,
    "becomes/in": EntryKind.FILE,
    "changed": EntryKind.FILE,
    "deep/er/still": EntryKind.FILE,
    "folder/below": EntryKind.GONE,
    "folder/made": EntryKind.FILE,
    "gone": EntryKind.GONE,
    "linked": EntryKind.FILE,
    "moved": EntryKind.GONE,
    "moved/x": EntryKind.GONE,
    "other": EntryKind.FILE,
    "secret": EntryKind.FOLDER,
    "secret/x": EntryKind.FILE,
    "there": EntryKind.FOLDER,
    "there/x": EntryKind.FILE,
    "tool": EntryKind.FILE,
}
BELOW = ("changed", "gone", "folder/below", "deep/er/other", "moved/x", "becomes", "kept", "tool")


def fill(folder: Path) -> None:
    for name in BELOW:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("old")


async def main(root: Path) -> None:
    vars(known)["LARGE_ENTRIES"] = 0
    sandbox = await open_sandbox(SandboxSettings(), SystemClock())
    if isinstance(sandbox, UnavailableSandbox):
        print("SKIP", (await sandbox.self_test()).problem)
        return
    workspace = Workspace(root / "workspace", root / "stages", lays=laying(sandbox))
    fill(workspace.folder)
    before = {path: path.stat().st_ino for path in workspace.folder.rglob("*") if path.is_file()}
    stage = await workspace.stage("s")
    if workspace.copies_because:
        print("SKIP", workspace.copies_because)
        return
    (stage.folder / "written").write_text("by our own process")
    report = await OverLayers(sandbox, stage, workspace).run(
        Execution(profile=Profile.WORK, argv=("sh", "-c", COMMAND + "cat written kept"), work=stage.folder)
    )
    assert (report.exit_code, report.stdout) == (0, b"by our own processold"), report
    assert {path: path.stat().st_ino for path in before} == before, "what lies below a layer was changed"
    changes = await stage.changes()
    assert {change.path: change.kind for change in changes} == CHANGED | {"written": EntryKind.FILE}, changes
    await workspace.commit(stage, changes)
    found = workspace.folder
    assert (found / "deep/er/other").read_text() == (found / "kept").read_text() == "old"
    assert (found / "there/x").read_text() == "old"
    assert (found / "secret/x").read_text() == "hidden\n"
    assert not (found / "folder/below").exists()
    assert {path.stat().st_uid for path in found.rglob("*")} == {os.geteuid()}
    assert {path.stat().st_nlink for path in found.rglob("*") if path.is_file()} == {1}
    again = Workspace(root / "workspace", root / "stages")
    assert workspace._now() == again._now()
    await workspace.sweep()
    assert list((root / "stages/open").iterdir()) == list((root / "stages/trash").iterdir()) == []
    workspace.close()
    await sandbox.close()
    print("all kept")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
