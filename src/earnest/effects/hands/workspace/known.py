"""What a workspace holds: every file read once for as long as it stays the same."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from earnest.effects.hands.workspace.changes import Change, PathEntry, change_of
from earnest.effects.hands.workspace.overlay import Below
from earnest.effects.hands.workspace.snapshot import Seen
from earnest.effects.hands.workspace.stage import entry_of
from earnest.effects.hands.workspace.tree import EntryKind, FileNode, TreeLimits, node_at, walk

SMALL_ENTRIES: Final = 64
SMALL_BYTES: Final = 1024 * 1024
LARGE_ENTRIES: Final = 1_000
LARGE_BYTES: Final = 32 * 1024 * 1024
RECENT_NS: Final = 100_000_000
"""A file that was changed so shortly before it was read might be changed again in the same tick of the clock."""


class KnownContent:
    """The content of one folder as it was last seen. Not to be used by two threads at once."""

    def __init__(self, folder: Path, limits: TreeLimits, reserved: frozenset[str]) -> None:
        self.nodes: dict[str, FileNode] = {}
        self.now: Below | None = None
        self._folder = folder
        self._limits = limits
        self._reserved = reserved

    def read(self, learned: Seen | None = None) -> Below:
        """The content as it is now. `learned` is what was read of files while they were made."""
        tree = walk(self._folder, self._limits, self._reserved)
        began_ns = _tick_ns()
        known = self.now.entries if self.now else {}
        entries = {
            path: known[path]
            if path in known and self.nodes.get(path) == node
            else self._read(path, node, learned or {})
            for path, node in tree.items()
        }
        self.nodes = {
            path: node if self.nodes.get(path) == node or began_ns - node.identity[2] > RECENT_NS else _unsure(node)
            for path, node in tree.items()
        }
        self.now = Below.of(entries)
        return self.now

    def _read(self, path: str, node: FileNode, learned: Seen) -> PathEntry:
        identity, digest = learned.get(path, (None, ""))
        if node.kind is EntryKind.FILE and node.identity == identity:
            return PathEntry(kind=EntryKind.FILE, digest=digest, size_bytes=node.size_bytes, executable=node.executable)
        return entry_of(self._folder, path, node)

    def seen(self) -> Below:
        """The content as it was last seen, or as it is now if nobody looked."""
        return self.now or self.read()

    @property
    def is_small(self) -> bool:
        """True if the content was small when last seen: then handing work to a thread costs more than doing it."""
        return self.now is not None and len(self.now.entries) <= SMALL_ENTRIES and self.now.size_bytes <= SMALL_BYTES

    @property
    def is_large(self) -> bool:
        """True if the content, when last seen, was so large that laying something over it is cheaper than a copy."""
        return self.now is not None and (len(self.now.entries) >= LARGE_ENTRIES or self.now.size_bytes >= LARGE_BYTES)

    def files(self) -> Seen:
        """What is known of each file."""
        entries = self.seen().entries
        return {
            path: (node.identity, entries[path].digest)
            for path, node in self.nodes.items()
            if node.kind is EntryKind.FILE
        }

    def expect(self, changes: tuple[Change, ...]) -> None:
        """These changes are decided, or moved in."""
        if self.now is not None:
            self.now = self.now.after(changes)
            for change in changes:
                self.nodes.pop(change.path, None)

    def note(self, change: Change) -> None:
        """A change that was expected is moved in: its content need not be read again."""
        if change.digest is not None:
            self.nodes[change.path] = node_at(self._folder / change.path)

    def entry(self, path: str) -> PathEntry:
        """What stands at a path now. Raises `OSError`."""
        node = node_at(self._folder / path)
        known = self.now.entries.get(path) if self.now else None
        return known if known is not None and self.nodes.get(path) == node else entry_of(self._folder, path, node)

    def strange(self, path: str) -> Change | None:
        """What stands at a path that nobody decided to put there: somebody else did."""
        try:
            found: PathEntry | None = self.entry(path)
        except (FileNotFoundError, NotADirectoryError):
            found = None
        expected = self.seen().entries.get(path)
        return None if found == expected else change_of(path, expected, found)


def _tick_ns() -> int:
    """The time that a file made now gets; 0 where that cannot be asked, and then nothing seems long unchanged."""
    if not hasattr(os, "memfd_create"):
        return 0
    descriptor = os.memfd_create("tick")
    try:
        return os.fstat(descriptor).st_ctime_ns
    finally:
        os.close(descriptor)


def _unsure(node: FileNode) -> FileNode:
    """A node that equals none: what stands there is read again."""
    return node if node.kind is EntryKind.FOLDER else replace(node, identity=(0, 0, 0))
