"""What a run changed in the user's files: which edits, path by path, and how far it has become of the originals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.hands.edits.step import EditStep, links_in, steps_of
from earnest.effects.hands.edits.taking import EDIT_LIMITS
from earnest.effects.hands.edits.text_diff import LineCount, changed_lines, unified
from earnest.effects.hands.workspace.changes import PathEntry
from earnest.effects.hands.workspace.checkpoints import Since, changes_since
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.engine.facts import FINISHED, STARTED
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.messages import FinalResult
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.foundation.shapes import from_json
from earnest.runtime.edits.taking import BASE, TAKEN, history_mounts, left_out_of
from earnest.runtime.order import order_from_json

APPLYING: Final = "edit.applying"
APPLIED: Final = "edit.applied"
ABANDONED: Final = "edit.abandoned"


class ChangeStanding(StrEnum):
    """How far a change has come."""

    KEPT = "kept"
    """It lies in the run's workspace only."""
    APPLYING = "applying"
    """A process began to apply it, or to take it back, and did not say how that ended."""
    APPLIED = "applied"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditChange:
    """One edit: its name in the workspace, the user's path, and the steps from the base to what the run left."""

    name: str
    path: Path
    steps: tuple[EditStep, ...]
    since: Since

    @property
    def links(self) -> tuple[str, ...]:
        """Paths at which a link came, went or changed, which cannot be applied."""
        return links_in(self.steps)

    def shown(self, step: EditStep) -> str:
        """The step's path as people name it."""
        return f"{self.name}/{step.path}" if step.path else self.name

    def before(self, step: EditStep) -> bytes | None:
        """The content that the step replaces, as the run was given it."""
        if not (step.before and _is_file(step.before)):
            return None
        return self.since.checkpoints.kept(step.before).read_bytes()

    def after(self, step: EditStep) -> bytes | None:
        """The content that the run left."""
        return self.source(step).read_bytes() if _is_file(step.after) else None

    def source(self, step: EditStep) -> Path:
        """Where the content that the run left lies."""
        return self.since.folder / self.shown(step)

    def lines(self, step: EditStep) -> LineCount | None:
        """How many lines the step adds and removes; None if it is no text."""
        if step.before and step.after and step.before.digest == step.after.digest:
            return LineCount(added=0, removed=0)
        return changed_lines(self.before(step), self.after(step))

    def diff(self) -> Iterator[str]:
        """All of it as a unified diff, files in order of path."""
        for step in self.steps:
            yield from self._diff_of(step)

    def _diff_of(self, step: EditStep) -> Iterator[str]:
        if not (_is_file(step.before) or _is_file(step.after)):
            return
        if step.before and step.after and step.before.executable != step.after.executable:
            yield f"mode {self.shown(step)}: {'now' if step.after.executable else 'no longer'} executable"
        if step.before is None or step.after is None or step.before.digest != step.after.digest:
            yield from unified(self.shown(step), self.before(step), self.after(step))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """All edits of a run; `result` None: it has not ended. `left_out` is what the copies were made
    without, with the reasons."""

    run_id: str
    result: FinalResult | None
    standing: ChangeStanding
    edits: tuple[EditChange, ...]
    left_out: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """True if the verdict lets it be applied."""
        return self.result is not None and self.result.directive is MacroState.ACCEPT

    @property
    def is_empty(self) -> bool:
        """True if nothing differs."""
        return not any(edit.steps for edit in self.edits)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """`begun`: what a process began to replace and did not say how that ended; `applied`: what was applied last.

    `is_undone`: what the run changed beside its edits was taken back.
    """

    edits: ChangeStanding = ChangeStanding.KEPT
    begun: JsonObject | None = None
    applied: JsonObject | None = None
    is_undone: bool = False
    has_ended: bool = False


def read_change(reader: BooksReader, run_id: str, runs: Path) -> RunChange:
    """The change of a run at rest. Raises `Refused`: `run_unknown`, `no_edits`, `files_gone`."""
    edits: Mapping[str, Path] | None = None
    result: FinalResult | None = None
    left_out: tuple[str, ...] = ()
    for fact in reader.facts(kind=(STARTED, TAKEN, FINISHED), subject=run_id):
        match fact.kind:
            case kind if kind == STARTED:
                edits = order_from_json(fact.body).edits
            case kind if kind == TAKEN:
                left_out = left_out_of(fact.body)
            case _:
                result = from_json(FinalResult, fact.body["result"], f"the end of {run_id}")
    if edits is None:
        raise Refused("run_unknown", f"there is no run {run_id}")
    if not edits:
        raise Refused("no_edits", f"{run_id} was given nothing to edit: see `earnest run --edit`")
    if result is not None and not (runs / run_id / "workspace").is_dir():
        raise Refused("files_gone", f"the files of {run_id} were swept: what it changed can no longer be told")
    changes, standing = _edits(edits, runs / run_id), standing_of(reader, run_id).edits
    return RunChange(run_id=run_id, result=result, standing=standing, edits=changes, left_out=left_out)


def standing_of(reader: BooksReader, run_id: str) -> RunStanding:
    """How far what a run changed has become of the user's files. Raises `Refused`: `run_unknown`."""
    standing, is_known = RunStanding(), False
    for fact in reader.facts(kind=(STARTED, FINISHED, APPLYING, APPLIED, ABANDONED), subject=run_id):
        is_known = True
        match fact.kind:
            case kind if kind == FINISHED:
                standing = replace(standing, has_ended=True)
            case kind if kind == APPLYING:
                former, standing = standing, replace(standing, edits=ChangeStanding.APPLYING, begun=fact.body)
            case kind if kind == APPLIED:
                standing = _ended(former, standing.begun)
            case kind if kind == ABANDONED:
                standing = former
    if not is_known:
        raise Refused("run_unknown", f"there is no run {run_id}")
    return standing


def _ended(former: RunStanding, begun: JsonObject | None) -> RunStanding:
    """An undo takes back the edits that were applied, and whatever else the run changed."""
    if begun is None or not begun["is_undo"]:
        return replace(former, edits=ChangeStanding.APPLIED, applied=begun)
    edits = ChangeStanding.UNDONE if former.edits is ChangeStanding.APPLIED else former.edits
    return replace(former, edits=edits, is_undone=True)


def undo_store(runs: Path, run_id: str) -> Path:
    """Where the former contents of the user's files are kept by digest."""
    return runs / run_id / "undo"


def _edits(edits: Mapping[str, Path], folder: Path) -> tuple[EditChange, ...]:
    reserved = [mount.target for mount in history_mounts(edits, folder)]
    try:
        since = changes_since(folder / "workspace", folder / "stages", BASE, EDIT_LIMITS, reserved)
    except Refused as refused:
        if refused.code == "no_checkpoint":
            return ()
        raise
    return tuple(
        EditChange(name=name, path=path, steps=steps_of(name, since.before, since.changes), since=since)
        for name, path in edits.items()
    )


def _is_file(entry: PathEntry | None) -> bool:
    return entry is not None and entry.kind is EntryKind.FILE
