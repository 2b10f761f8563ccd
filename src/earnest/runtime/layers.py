"""Layers over a large workspace: how a sandbox comes to write into one, and whether this machine has them at all."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionReport,
    ExecutionStatus,
    Layers,
    Profile,
    Sandbox,
    SelfTest,
)
from earnest.effects.hands.workspace.known import KnownContent
from earnest.effects.hands.workspace.overlay import changes_in
from earnest.effects.hands.workspace.stage import Stage, entry_of
from earnest.effects.hands.workspace.staging import Workspace
from earnest.effects.hands.workspace.tree import EntryKind, TreeLimits, remove_tree
from earnest.effects.hands.workspace.views import UPPER, Views
from earnest.foundation.errors import EarnestError

_BELOW: Final = {"kept": "kept", "changed": "old", "gone": "gone", "folder/below": "below"}
_TRIAL: Final = (
    "set -e; cat kept; echo new > changed; rm gone; rm -r folder; mkdir folder; echo new > folder/made; chmod 700 kept"
)
_CHANGED: Final = {
    "changed": EntryKind.FILE,
    "folder/below": EntryKind.GONE,
    "folder/made": EntryKind.FILE,
    "gone": EntryKind.GONE,
    "kept": EntryKind.FILE,
}
_LIMITS: Final = TreeLimits()


class OverLayers:
    """A sandbox in which /work is the layer of one stage, whoever names its folder."""

    def __init__(self, sandbox: Sandbox, stage: Stage, workspace: Workspace) -> None:
        self._sandbox = sandbox
        self._stage = stage
        self._workspace = workspace
        self.description = sandbox.description

    async def run(self, execution: Execution) -> ExecutionReport:
        """See `Sandbox`."""
        if execution.work == self._stage.folder:
            await asyncio.to_thread(self._workspace.seal, self._stage)
            layers = Layers(lowers=self._stage.lowers, folder=self._stage.upper.parent)
            execution = replace(execution, work=layers)
        return await self._sandbox.run(execution)

    async def self_test(self, max_age_ms: int = 0, /) -> SelfTest:
        """See `Sandbox`."""
        return await self._sandbox.self_test(max_age_ms)

    async def close(self) -> None:
        """Whoever opened it closes it."""


def laying(sandbox: Sandbox) -> Callable[[Path], Awaitable[str]]:
    """What tells a workspace why nothing can be laid over a folder beside its stages; empty if something can.

    It is tried: by this process and in the sandbox, with everything that a stage is promised.
    """

    async def lays(stages: Path) -> str:
        place = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="trial-", dir=stages))
        try:
            return await asyncio.to_thread(_from_outside, place) or await _from_inside(place, sandbox)
        except (EarnestError, OSError) as error:
            return str(error)
        finally:
            with suppress(OSError):  # it is tried again by whoever sweeps there
                await asyncio.to_thread(remove_tree, place, stages)

    return lays


def _from_outside(place: Path) -> str:
    """What goes wrong when our own process writes to a layer."""
    lower, layer = place / "lower", place / "layer"
    for name, text in _BELOW.items():
        (lower / name).parent.mkdir(parents=True, exist_ok=True)
        (lower / name).write_text(text)
    layer.mkdir()
    views = Views()
    try:
        view = views.show((lower,), layer)
        if (view / "folder/below").read_text() != "below":
            return "a layer does not show what lies below it"
        (view / "changed").write_text("new")
    finally:
        views.end(layer)
        views.close()
    is_held = (lower / "changed").read_text() == "old" and (layer / UPPER / "changed").read_text() == "new"
    return "" if is_held else "a layer does not hold what is written to it"


async def _from_inside(place: Path, sandbox: Sandbox) -> str:
    """What goes wrong when a command in the sandbox writes to the same one afterwards."""
    lower, layer = place / "lower", place / "layer"
    known = KnownContent(lower, _LIMITS, frozenset())
    below = known.read()
    report = await sandbox.run(
        Execution(profile=Profile.WORK, argv=("sh", "-c", _TRIAL), work=Layers(lowers=(lower,), folder=layer))
    )
    if (report.status, report.exit_code, report.stdout) != (ExecutionStatus.DONE, 0, b"kept"):
        return report.reason or f"a command in a layer failed: {report.stderr.decode(errors='replace').strip()}"
    upper = layer / UPPER
    changes = changes_in(upper, below, _LIMITS, frozenset(), lambda path, node: entry_of(upper, path, node))
    if {change.path: change.kind for change in changes} != _CHANGED:
        return "what a command changes in a layer cannot be told"
    return "" if known.read() == below else "what lies below a layer was changed"
