"""Putting a run's change in the place of the user's files, and taking it back: all of it, or nothing.

An intent (`edit.applying`) is durable before the first file changes, with every path's content before and after. What
a killed process left is completed, or taken back where somebody else changed a file meanwhile, by the next one.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.locks import alone
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.hands.edits.original import Original, entries_of, kept_at
from earnest.effects.hands.edits.step import EditStep, conflicts, inverted, is_begun, links_in, with_content
from earnest.effects.hands.edits.text_diff import text_lines
from earnest.effects.hands.workspace.changes import PathEntry
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.canonical import JsonObject, digest_bytes
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.foundation.facts import Fact
from earnest.runtime.edits.change import (
    ABANDONED,
    APPLIED,
    APPLYING,
    ChangeStanding,
    EditChange,
    RunChange,
    RunStanding,
    read_change,
    standing_of,
    undo_store,
)
from earnest.runtime.edits.outside import EditPart, changed_outside

MARKERS: Final = "applying"
"""A folder of the data directory with an empty file for each run whose change is being applied: a hint."""
APPLYING_WAIT_MS: Final = 30_000
_MERGE_S: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Applies and takes back. Records `edit.applying`, then `edit.applied` or `edit.abandoned`."""

    home: Path
    runs: Path
    lock: Path
    database: Database
    clock: Clock

    async def apply(self, run_id: str, *, unverified: bool = False, merge: bool = False) -> tuple[EditPart, ...]:
        """Apply what a run left; gives what was replaced, nothing if it is so already.

        Raises `Refused`: `run_unknown`, `no_edits`, `run_unfinished`, `edit_applied`, `not_accepted` (unless
        `unverified`), `edit_link`, and `edit_conflict` naming every file that is not as the run was given it; with
        `merge` only those whose texts cannot be joined. `Unavailable` if the disk failed: then all is as before; or if
        another process, which it names, applies something for long.
        """
        async with self._alone(APPLYING_WAIT_MS):
            await self._complete(run_id)
            change = await self.database.read(lambda reader: read_change(reader, run_id, self.runs))
            _check(change, unverified=unverified)
            part = partial(self._part, run_id, merge=merge)
            parts = [found for edit in change.edits if (found := await asyncio.to_thread(part, edit))]
            await self._perform(run_id, parts, is_undo=False)
            return tuple(parts)

    async def undo(self, run_id: str) -> tuple[EditPart, ...]:
        """Bring back what stood there before, in edits and wherever else calls of the run wrote with leave.

        Raises `Refused`: `not_applied`, `run_unfinished`, `edit_link`, and as `apply` for what has changed.
        """
        async with self._alone(APPLYING_WAIT_MS):
            await self._complete(run_id)
            standing = await self.database.read(lambda reader: standing_of(reader, run_id))
            parts = await self.database.read(lambda reader: self._outside(reader, run_id, standing))
            if standing.edits is ChangeStanding.APPLIED and standing.applied is not None:
                parts = (*_parts_of(standing.applied), *parts)
            if not parts:
                why = "it was taken back" if standing.is_undone else "it changed nothing else"
                raise Refused("not_applied", f"the change of {run_id} is not applied, and {why}")
            back = [EditPart(path, inverted(steps, marks), {}) for path, steps, marks in parts]
            if found := _conflicts(run_id, back):
                raise _conflict(found)
            await asyncio.to_thread(self._keep, run_id, back)
            await self._perform(run_id, back, is_undo=True)
            return tuple(back)

    async def recover(self) -> None:
        """Complete what killed processes began, unless another process is applying now."""
        markers = self.home / MARKERS
        if not markers.is_dir():
            return
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._alone(0))
            except Unavailable:
                return
            for marker in sorted(markers.iterdir()):
                await self._complete(marker.name)
                marker.unlink(missing_ok=True)

    def _alone(self, wait_ms: int) -> AbstractAsyncContextManager[None]:
        """One process at a time: between a look at the user's files and their replacement nobody comes."""
        return alone(self.lock, self.clock, wait_ms)

    def _outside(self, reader: BooksReader, run_id: str, standing: RunStanding) -> tuple[EditPart, ...]:
        """What calls changed outside the workspace, if it was not taken back before."""
        if standing.is_undone:
            return ()
        parts, _ = changed_outside(reader, run_id, undo_store(self.runs, run_id))
        if parts and not standing.has_ended:
            raise Refused("run_unfinished", f"{run_id} may still go on: `earnest resume {run_id}`")
        if not all(self._is_kept(run_id, step) for part in parts for step in part.steps):
            raise Refused("files_gone", f"the files of {run_id} were swept: what stood there can no longer be had")
        if links := [path / at for path, steps, _ in parts for at in links_in(steps)]:
            raise Refused("edit_link", f"{links[0]}: a link came, went or changed, which is not brought back")
        return parts

    def _is_kept(self, run_id: str, step: EditStep) -> bool:
        is_file = step.before is not None and step.before.kind is EntryKind.FILE
        return not is_file or kept_at(undo_store(self.runs, run_id), step.before.digest if step.before else "").exists()

    def _keep(self, run_id: str, parts: Sequence[EditPart]) -> None:
        """What is about to be replaced, for the case that it fails halfway."""
        for path, steps, _ in parts:
            for step in steps:
                if step.before is not None and step.before.kind is EntryKind.FILE:
                    Original(path, run_id).keep(step.path, undo_store(self.runs, run_id))

    async def _complete(self, run_id: str) -> None:
        begun = (await self.database.read(lambda reader: standing_of(reader, run_id))).begun
        if begun is None:
            return
        parts = _parts_of(begun)
        if found := _conflicts(run_id, parts):
            await self._abandon(run_id, parts, f"{found[0]} was changed by somebody else meanwhile")
        else:
            await self._replace(run_id, parts)

    async def _perform(self, run_id: str, parts: Sequence[EditPart], *, is_undo: bool) -> None:
        if not parts:
            return
        marker = self.home / MARKERS / run_id
        marker.parent.mkdir(mode=0o700, exist_ok=True)
        marker.touch()
        await self._record(run_id, APPLYING, {"is_undo": is_undo, "edits": [part.to_json() for part in parts]})
        await self._replace(run_id, parts)
        marker.unlink(missing_ok=True)

    async def _replace(self, run_id: str, parts: Sequence[EditPart]) -> None:
        try:
            for path, steps, _ in parts:
                await asyncio.to_thread(Original(path, run_id).replace, steps, self._contents(run_id))
        except (OSError, Broken) as error:
            await self._abandon(run_id, parts, str(error))
            raise Unavailable(f"nothing was changed: {error}") from error
        await self._record(run_id, APPLIED, {})

    async def _abandon(self, run_id: str, parts: Sequence[EditPart], reason: str) -> None:
        """Take back what was done of it; what somebody else changed meanwhile is theirs."""
        for path, steps, marks in parts:
            original = Original(path, run_id)
            ours = [step for step in steps if is_begun(step, original.entry(step.path))]
            await asyncio.to_thread(original.clear, steps)
            await asyncio.to_thread(original.replace, inverted(ours, marks), self._contents(run_id))
        await self._record(run_id, ABANDONED, {"reason": reason})

    def _part(self, run_id: str, edit: EditChange, *, merge: bool) -> EditPart | None:
        """What is to be replaced of one edit, its former contents kept."""
        if edit.links:
            raise Refused(
                "edit_link", f"{edit.name}/{edit.links[0]}: a link came, went or changed, which no edit may do"
            )
        original = Original(edit.path, run_id)
        found = entries_of(original, edit.steps)
        open_steps = [step for step in edit.steps if found[step.path] != step.after]
        clashes = frozenset(conflicts(open_steps, found))
        steps: list[EditStep] = []
        lost: list[EditStep] = []
        for step in open_steps:
            joined = step if step.path not in clashes else self._merged(run_id, edit, step, found) if merge else None
            (steps if joined else lost).append(joined or step)
        if lost:
            raise _conflict([edit.path / step.path if step.path else edit.path for step in lost])
        self._keep(run_id, [EditPart(edit.path, tuple(steps), {})])
        plain = (EntryKind.FILE, EntryKind.FOLDER)
        marks = {step.path: original.marks(step.path) for step in steps if step.before and step.before.kind in plain}
        return EditPart(path=edit.path, steps=tuple(steps), marks=marks) if steps else None

    def _merged(
        self, run_id: str, edit: EditChange, step: EditStep, found: Mapping[str, PathEntry | None]
    ) -> EditStep | None:
        """A step from what the user has to both changes joined by `git merge-file`; None if they touch each other."""
        git, mine = shutil.which("git"), found[step.path]
        base, theirs = edit.before(step), edit.after(step)
        if git is None or mine is None or mine.kind is not EntryKind.FILE or base is None or theirs is None:
            return None
        present = edit.path / step.path if step.path else edit.path
        if any(text_lines(text) is None for text in (base, theirs, present.read_bytes())):
            return None
        former = edit.since.checkpoints.kept(step.before or mine)
        done = subprocess.run(  # noqa: S603 - no shell; the three files are ours or the user's
            [git, "merge-file", "-p", "-q", "--", present, former, edit.source(step)],
            capture_output=True,
            timeout=_MERGE_S,
            check=False,
        )
        if done.returncode:
            return None
        store = undo_store(self.runs, run_id)
        store.mkdir(mode=0o700, parents=True, exist_ok=True)
        digest = digest_bytes(done.stdout)
        kept_at(store, digest).write_bytes(done.stdout)
        return with_content(replace(step, before=mine), digest, len(done.stdout))

    def _contents(self, run_id: str) -> Callable[[PathEntry], Path]:
        """Where the content of an entry lies: among what is kept for taking back, or in the run's workspace."""
        places: dict[str, Path] = {}

        def find(entry: PathEntry) -> Path:
            kept = kept_at(undo_store(self.runs, run_id), entry.digest)
            if kept.exists():
                return kept
            if not places:
                change = self.database.read_sync(lambda reader: read_change(reader, run_id, self.runs))
                for edit in change.edits:
                    places.update({step.after.digest: edit.source(step) for step in edit.steps if step.after})
            if entry.digest not in places:
                raise Broken(f"{run_id} no longer holds the content {entry.digest}")
            return places[entry.digest]

        return find

    async def _record(self, run_id: str, kind: str, body: JsonObject) -> None:
        fact = Fact(kind=kind, subject=run_id, at_ms=self.clock.now_ms(), body=body)
        await self.database.write(lambda transaction: transaction.record(fact))


def _check(change: RunChange, *, unverified: bool) -> None:
    if change.result is None:
        raise Refused("run_unfinished", f"{change.run_id} has no verdict yet: `earnest resume {change.run_id}`")
    if change.standing is ChangeStanding.APPLIED:
        raise Refused("edit_applied", f"the change of {change.run_id} is applied; `earnest undo` takes it back")
    if not change.is_accepted and not unverified:
        unmet = "; ".join(criterion.text for criterion in change.result.unmet) or change.result.summary
        raise Refused(
            "not_accepted", f"{change.run_id} was not accepted ({unmet}): --unverified applies it all the same"
        )


def _conflicts(run_id: str, parts: Sequence[EditPart]) -> list[Path]:
    """Where somebody else has changed what is to be replaced."""
    return [path / at for path, steps, _ in parts for at in conflicts(steps, entries_of(Original(path, run_id), steps))]


def _conflict(paths: Sequence[Path]) -> Refused:
    named = "\n".join(f"  {path}" for path in paths)
    return Refused("edit_conflict", f"changed since the run was given it, so nothing was applied:\n{named}")


def _parts_of(begun: JsonObject) -> tuple[EditPart, ...]:
    match begun:
        case {"edits": [*edits]}:
            return tuple(map(EditPart.from_json, edits))
    raise Broken("what was to be applied cannot be read")
