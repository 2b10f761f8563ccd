"""A private state of a workspace in which one call works: a copy of it, or an empty layer over it."""

import asyncio
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from earnest.effects.hands.workspace.changes import FOLDER, Change, PathEntry, difference
from earnest.effects.hands.workspace.overlay import Below, changes_in
from earnest.effects.hands.workspace.tree import EntryKind, FileNode, TreeLimits, node_at, opened_file, walk
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A private state of the workspace; `folder` is where our own process sees and changes it.

    `below` is what it was made from, `made` how the copy looked when it was made. A layer lies over `lowers`, the
    lowest first; `upper` takes its changes. `since` counts the commits before it.
    """

    id: str
    folder: Path
    upper: Path
    below: Below
    limits: TreeLimits
    reserved: frozenset[str]
    made: Mapping[str, FileNode]
    lowers: tuple[Path, ...] = ()
    since: int = 0

    async def changes(self) -> tuple[Change, ...]:
        """What differs from the base now, in order of path; to be asked when everything that writes has ended.

        Raises `Refused` (codes of `tree.walk`) if the stage holds what must not enter the workspace.
        """
        return await asyncio.to_thread(self._changes)

    def _changes(self) -> tuple[Change, ...]:
        read, before = partial(entry_of, self.upper), self.below.entries
        if self.lowers:
            return changes_in(self.upper, self.below, self.limits, self.reserved, read)
        tree = walk(self.upper, self.limits, self.reserved)
        after = {path: before[path] if self.made.get(path) == node else read(path, node) for path, node in tree.items()}
        return difference(before, after)


def entry_of(root: Path, path: str, node: FileNode) -> PathEntry:
    """What stands at `path`, its content read."""
    match node.kind:
        case EntryKind.FILE:
            with opened_file(root, path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
                digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
            return PathEntry(kind=EntryKind.FILE, digest=digest, size_bytes=node.size_bytes, executable=node.executable)
        case EntryKind.LINK:
            return PathEntry(kind=EntryKind.LINK, digest=digest_bytes(node.target.encode()))
        case _:
            return FOLDER


def check_staged(folder: Path, changes: Iterable[Change]) -> None:
    """Raise `Broken` if something still waiting in the stage is not what was recorded."""
    for change in changes:
        path = folder / change.path
        if change.kind not in {EntryKind.FILE, EntryKind.LINK} or not os.path.lexists(path):
            continue
        entry = entry_of(folder, change.path, node_at(path))
        if (entry.kind, entry.digest) != (change.kind, change.digest):
            raise Broken(f"{change.path}: what was staged is not what was recorded")
