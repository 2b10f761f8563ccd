"""Taking in what a run may edit: a copy under its own name in the workspace, remembered as the base of the change."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from earnest.effects.hands.edits.taking import EDIT_LIMITS, GIT, Taken, take_in
from earnest.effects.hands.sandbox.api import Mount
from earnest.effects.hands.workspace.changes import PathEntry
from earnest.effects.hands.workspace.known import KnownContent
from earnest.effects.hands.workspace.staging import Workspace
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.verification.plugin import Base

TAKEN: Final = "edit.taken"
BASE: Final = "edits"
"""The label of the checkpoint that remembers the workspace as it was when everything had been taken in."""


def history_mounts(edits: Mapping[str, Path], run_folder: Path) -> tuple[Mount, ...]:
    """The copied history of each edit that is a git work tree, shown read-only where git looks for it."""
    return tuple(
        Mount(source=_history(run_folder, name), target=f"{name}/{GIT}", is_ours=True)
        for name, path in edits.items()
        if (path / GIT).is_dir()
    )


async def take_in_edits(
    edits: Mapping[str, Path],
    workspace: Workspace,
    run_folder: Path,
    record: Callable[[JsonObject], Awaitable[None]],
    *,
    before: Path | None = None,
    inputs: Collection[str] = (),
) -> None:
    """Copy each edit into the workspace, unless that was done, and `record` the body of the fact `edit.taken`.

    Beside them goes what lies in the folder `before`, but for what has the name of an edit or of one of `inputs`.
    What an interrupted copy left is copied anew: nothing has worked on it. Raises `Refused("edit_too_large")`.
    """
    if not (edits or before) or not workspace.checkpoints.is_new(BASE):
        return
    if before is not None:
        await asyncio.to_thread(_carry_over, before, workspace.folder, {*edits, *inputs})
    taken = {name: await asyncio.to_thread(_take, name, path, workspace, run_folder) for name, path in edits.items()}
    told: list[JsonValue] = [
        {"name": name, "path": str(edits[name]), "left_out": list(one.left_out), "has_git": one.has_git}
        for name, one in taken.items()
    ]
    if told:
        await record({"edits": told})
    seen = {f"{name}/{path}".rstrip("/"): file for name, one in taken.items() for path, file in one.seen.items()}
    await workspace.checkpoint(BASE, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditBase:
    """`verification.plugin.Base`: what an edit was when it was taken in. `place`: where the content of a path lies."""

    entries: Mapping[str, PathEntry]
    place: Callable[[str], Path]

    def content(self, path: str) -> bytes:
        """See `Base`."""
        return self.place(path).read_bytes()


def edit_bases(edits: Mapping[str, Path], workspace: Workspace) -> dict[str, Base]:
    """The base of each edit by its name."""
    remembered = workspace.checkpoints.find(BASE) or {}
    return _bases(edits, remembered, lambda path: workspace.checkpoints.kept(remembered[path]))


def untouched(edits: Mapping[str, Path], folder: Path, histories: Path) -> tuple[dict[str, Base], tuple[Mount, ...]]:
    """Copy each edit into `folder`, which nobody works on: their bases, and the mounts of their histories."""
    for name, path in edits.items():
        (histories / "histories").mkdir(parents=True, exist_ok=True)
        take_in(path, folder / name, _history(histories, name))
    read = KnownContent(folder, EDIT_LIMITS, frozenset()).read()
    return _bases(edits, read.entries, lambda path: folder / path), history_mounts(edits, histories)


def _bases(edits: Iterable[str], entries: Mapping[str, PathEntry], place: Callable[[str], Path]) -> dict[str, Base]:
    """Of each edit, what stands at its name and below."""
    return {
        name: EditBase(
            entries={at: one for at, one in entries.items() if at == name or at.startswith(f"{name}/")}, place=place
        )
        for name in edits
    }


def left_out_of(body: JsonObject) -> tuple[str, ...]:
    """What `edit.taken` says that edits were copied without, each with the reason."""
    edits: Any = body["edits"]
    return tuple(f"{edit['name']}/{what}" for edit in edits for what in edit["left_out"])


def _take(name: str, path: Path, workspace: Workspace, run_folder: Path) -> Taken:
    target, history = workspace.folder / name, _history(run_folder, name)
    for former in (target, history):
        _remove(former)
    history.parent.mkdir(parents=True, exist_ok=True)
    return take_in(path, target, history)


def _carry_over(before: Path, folder: Path, passed_over: Collection[str]) -> None:
    for entry in before.iterdir() if before.is_dir() else ():
        if entry.name in passed_over:
            continue
        target = folder / entry.name
        _remove(target)
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, target, symlinks=True)
        else:
            shutil.copy2(entry, target, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _history(run_folder: Path, name: str) -> Path:
    return run_folder / "histories" / name
