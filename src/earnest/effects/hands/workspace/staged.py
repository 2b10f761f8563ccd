"""Recorded changes that wait in a stage: brought back into one, looked at again, and limited to some paths."""

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from earnest.effects.hands.workspace.changes import Change, Manifest
from earnest.effects.hands.workspace.checkpoints import Checkpoints
from earnest.effects.hands.workspace.copying import copy_file
from earnest.effects.hands.workspace.stage import entry_of
from earnest.effects.hands.workspace.tree import EntryKind, node_at, opened_file
from earnest.foundation.errors import Broken


def bring_back(folder: Path, wanted: Manifest, changes: Iterable[Change], checkpoints: Checkpoints) -> None:
    """Fill a stage with the kept content of `changes`. Raises `Broken` if some is lost."""
    folder.mkdir(parents=True)
    for change in changes:
        entry = wanted.entries.get(change.path)
        if entry is None or entry.kind is EntryKind.FOLDER:
            continue
        target = folder / change.path
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = checkpoints.kept(entry)
        if not os.path.lexists(kept):
            raise Broken(f"{change.path}: its former content was changed from outside and is lost")
        if entry.kind is EntryKind.LINK:
            target.symlink_to(kept.readlink())
            continue
        with opened_file(kept.parent, kept.name) as source:
            copy_file(source, target, executable=entry.executable)
    check_staged(folder, changes)


def check_staged(folder: Path, changes: Iterable[Change]) -> None:
    """Raise `Broken` if something still waiting in the stage is not what was recorded."""
    for change in changes:
        path = folder / change.path
        if change.kind not in {EntryKind.FILE, EntryKind.LINK} or not os.path.lexists(path):
            continue
        entry = entry_of(folder, change.path, node_at(path))
        if (entry.kind, entry.digest) != (change.kind, change.digest):
            raise Broken(f"{change.path}: what was staged is not what was recorded")


def limited_to(paths: frozenset[str], changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes of these paths, and the folders needed above them."""
    above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return tuple(
        change
        for change in changes
        if change.path in paths or (change.kind is EntryKind.FOLDER and change.path in above)
    )
