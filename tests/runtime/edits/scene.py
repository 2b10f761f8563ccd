"""A run over a user's project that has ended, without the engine: its facts, its workspace, its change."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.edits.taking import EDIT_LIMITS
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.codec import encode
from earnest.engine.facts import FINISHED, STARTED
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.messages import Budget, FinalResult, UnmetCriterion, Usage
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.runtime.edits.applying import Edits
from earnest.runtime.edits.taking import TAKEN, history_mounts, take_in_edits
from earnest.runtime.order import Grants, request_order

RUN = "run_1"
PROJECT = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "docs/old.md": "old\n",
    "docs/inner/note.md": "note\n",
    "keep.txt": "".join(f"line {number}\n" for number in range(30)),
}


def lay_out(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def content(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file below a folder, its content and permission bits; of a file itself under its own name."""
    paths = [folder] if folder.is_file() else [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder.parent)): (path.read_text(), path.stat().st_mode & 0o777) for path in paths}


def ended(directive: MacroState = MacroState.ACCEPT) -> FinalResult:
    accepted = directive is MacroState.ACCEPT
    unmet = () if accepted else (UnmetCriterion(scope="task", text="add adds", reason="it subtracts"),)
    return FinalResult(
        directive=directive,
        cause=None if accepted else AbandonCause.USER,
        summary="done",
        output="",
        loss=None,
        gradient=0.0,
        loss_gradient=0.0,
        round=1,
        replans=0,
        previous="init",
        done=(),
        not_done=(),
        unmet=unmet,
        next_moves=(),
        elapsed_ms=1,
        usage=Usage(),
    )


@dataclass
class Scene:
    """A data directory with one run over `original`."""

    home: Path
    original: Path

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    def open(self) -> Database:
        return Database.open(self.home / "books.sqlite3", SystemClock())

    def edits(self, database: Database) -> Edits:
        return Edits(home=self.home, runs=self.runs, lock=self.home / "lock", database=database, clock=SystemClock())

    def work(self, change: Callable[[Path], object], directive: MacroState = MacroState.ACCEPT) -> None:
        """Take the original in, change the copy, end the run."""
        asyncio.run(self._work(change, directive))

    async def _work(self, change: Callable[[Path], object], directive: MacroState) -> None:
        database = self.open()

        async def record(kind: str, body: JsonObject) -> None:
            fact = Fact(kind=kind, subject=RUN, at_ms=1, body=body)
            await database.write(lambda transaction: transaction.record(fact))

        order = request_order("mend add", Budget(time_ms=1_000), self.home, Grants())
        order = replace(order, edits={self.original.name: self.original})
        await record(STARTED, order.to_json())
        folder = self.runs / RUN
        reserved = [mount.target for mount in history_mounts(order.edits, folder)]
        workspace = Workspace(folder / "workspace", folder / "stages", EDIT_LIMITS, reserved)
        await take_in_edits(order.edits, workspace, folder, lambda body: record(TAKEN, body))
        stage = await workspace.stage("s")
        change(stage.folder / self.original.name)
        changes = await stage.changes()
        await workspace.commit(stage, changes)
        await record(FINISHED, {"result": encode(ended(directive))})
        database.close()

    def apply(self, **options: bool) -> int:
        return asyncio.run(self._act(lambda edits: edits.apply(RUN, **options)))

    def undo(self) -> int:
        return asyncio.run(self._act(lambda edits: edits.undo(RUN)))

    def recover(self) -> None:
        asyncio.run(self._act(lambda edits: edits.recover()))

    async def _act(self, act: Callable[[Edits], object]) -> int:
        database = self.open()
        try:
            parts = await act(self.edits(database))  # type: ignore[misc]
        finally:
            database.close()
        return sum(len(part.steps) for part in parts or ())


def mended(project: Path) -> None:
    """Change, add, remove; a folder comes and one goes."""
    (project / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (project / "calc.py").chmod(0o755)
    shutil.rmtree(project / "docs")
    lay_out(project, {"src/new/tool.sh": "echo\n", "docs": "now a file\n"})
