"""What the upper layer of an overlay says about the folder below it, read without touching either.

The kernel marks there what is gone (a device 0/0) and folders that show nothing of their like below (an attribute). A
command can set neither: what it sets is escaped. So the exact names count, and what we do not know is refused.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Final

from earnest.effects.hands.workspace.changes import Change, PathEntry, difference
from earnest.effects.hands.workspace.tree import EntryKind, FileNode, TreeLimits, check_size, walk
from earnest.foundation.errors import Refused

OPAQUE: Final = "user.overlay.opaque"
_MARKS: Final = frozenset({OPAQUE, "user.overlay.redirect", "user.overlay.metacopy", "user.overlay.whiteout"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """What lies below the upper layer: entries by path, and the sum of their sizes."""

    entries: Mapping[str, PathEntry]
    size_bytes: int

    @classmethod
    def of(cls, entries: Mapping[str, PathEntry]) -> "Below":
        """These entries, their sizes summed up."""
        return cls(entries=entries, size_bytes=_size(entries))

    def after(self, changes: Sequence[Change]) -> "Below":
        """What lies there when these changes were made."""
        if not changes:
            return self
        entries = dict(self.entries)
        size_bytes = self.size_bytes
        for change in changes:
            former = entries.pop(change.path, None)
            size_bytes += change.size_bytes - (former.size_bytes if former else 0)
            if (entry := change.entry) is not None:
                entries[change.path] = entry
        return Below(entries=entries, size_bytes=size_bytes)


def changes_in(
    upper: Path, below: Below, limits: TreeLimits, reserved: frozenset[str], read: Callable[[str, FileNode], PathEntry]
) -> tuple[Change, ...]:
    """What the upper layer changes of what lies below, in order of path; `read` tells the content of a node in it.

    The cost is that of what was changed. Raises `Refused` as `tree.walk` does, for the tree that comes of it.
    """
    tree = walk(upper, replace(limits, size_bytes=1 << 62), reserved, gone=True)
    before: dict[str, PathEntry] = {}
    ordered: list[str] = []
    for path, node in tree.items():
        former = below.entries.get(path)
        if former is not None:
            before[path] = former
        if former is not None and former.kind is EntryKind.FOLDER and _hides(upper, path, node):
            ordered = ordered or sorted(below.entries)
            before |= {hidden: below.entries[hidden] for hidden in _inside(path, ordered)}
    there = {path: node for path, node in tree.items() if node.kind is not EntryKind.GONE}
    for path in there:
        _refuse_marks(upper, path)
    entries = len(below.entries) + len(there) - len(before)
    size_bytes = below.size_bytes + sum(node.size_bytes for node in there.values()) - _size(before)
    check_size(entries, size_bytes, limits)  # before anything is read: a file may claim to be endless
    return difference(before, {path: read(path, node) for path, node in there.items()})


def _hides(upper: Path, path: str, node: FileNode) -> bool:
    """True if nothing that lay below this path shows any more."""
    if node.kind is not EntryKind.FOLDER:
        return True
    try:
        return os.getxattr(upper / path, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def _refuse_marks(upper: Path, path: str) -> None:
    """Raises `Refused` for a mark of the kernel's that means something else than is read here."""
    try:
        marks = _MARKS.intersection(os.listxattr(upper / path, follow_symlinks=False))
    except OSError:
        return
    if marks - {OPAQUE} or (marks and os.getxattr(upper / path, OPAQUE, follow_symlinks=False) != b"y"):
        raise Refused("workspace_special_file", f"{path}: it is marked in a way that nothing here makes")


def _inside(folder: str, ordered: Sequence[str]) -> Iterator[str]:
    start = bisect_left(ordered, folder + "/")
    return takewhile(lambda path: path.startswith(folder + "/"), (ordered[at] for at in range(start, len(ordered))))


def _size(entries: Mapping[str, PathEntry]) -> int:
    return sum(entry.size_bytes for entry in entries.values())
