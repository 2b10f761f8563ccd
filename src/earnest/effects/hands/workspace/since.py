"""What differs between a workspace at rest and one of its checkpoints, read without touching either."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from earnest.effects.hands.workspace.changes import Change, Manifest, PathEntry, difference
from earnest.effects.hands.workspace.checkpoints import Checkpoints
from earnest.effects.hands.workspace.stage import entry_of
from earnest.effects.hands.workspace.tree import TreeLimits, walk
from earnest.foundation.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """`before` is what the checkpoint remembers, `changes` what is otherwise now, in order of path."""

    before: Manifest
    changes: tuple[Change, ...]
    folder: Path
    checkpoints: Checkpoints

    def now(self, path: str) -> Path:
        """Where the present content of a path lies."""
        return self.folder / path

    def former(self, entry: PathEntry) -> Path:
        """Where content lies that has left the workspace."""
        return self.checkpoints.kept(entry)


def changes_since(folder: Path, stages: Path, label: str, limits: TreeLimits, reserved: Collection[str] = ()) -> Since:
    """Raises `Refused("no_checkpoint")` if the label was never taken, and whatever `tree.walk` refuses."""
    checkpoints = Checkpoints(stages / "checkpoints")
    before = checkpoints.find(label)
    if before is None:
        raise Refused("no_checkpoint", f"{folder} has no checkpoint {label!r}")
    tree = walk(folder, limits, frozenset(reserved))
    now = {path: entry_of(folder, path, node) for path, node in tree.items()}
    return Since(before=before, changes=difference(before.entries, now), folder=folder, checkpoints=checkpoints)
