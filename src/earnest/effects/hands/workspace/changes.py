"""The difference of two states of a folder, and conflicts between two such differences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias

from earnest.effects.hands.workspace.tree import KINDS, EntryKind
from earnest.foundation.canonical import JsonObject, JsonValue, digest_bytes
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEntry:
    """What stands at one path. `digest` is that of a file's bytes, of a link's target, of nothing for a folder."""

    kind: EntryKind
    digest: str
    size_bytes: int = 0
    executable: bool = False

    def to_json(self) -> JsonValue:
        """`[kind, digest, size in bytes, executable]`."""
        return [self.kind.value, self.digest, self.size_bytes, self.executable]

    @classmethod
    def from_json(cls, value: JsonValue, fault: str) -> "PathEntry":
        """The inverse of `to_json`. Raises `Broken(fault)` for anything else."""
        match value:
            case [str(kind), str(digest), int(size_bytes), bool(executable)] if kind in KINDS:
                return cls(kind=KINDS[kind], digest=digest, size_bytes=size_bytes, executable=executable)
        raise Broken(fault)


Manifest: TypeAlias = Mapping[str, PathEntry]
"""The whole content of a folder by path: equal for equal content, whatever its times and owners."""
FOLDER = PathEntry(kind=EntryKind.FOLDER, digest=digest_bytes(b""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What now stands at a path. `digest` is None exactly if nothing does.

    `is_same`: the file held the same bytes before; only whether it is executable has changed.
    """

    path: str
    kind: EntryKind
    digest: str | None
    size_bytes: int = 0
    executable: bool = False
    is_same: bool = False

    @property
    def entry(self) -> PathEntry | None:
        """What now stands there."""
        if self.digest is None:
            return None
        return PathEntry(kind=self.kind, digest=self.digest, size_bytes=self.size_bytes, executable=self.executable)

    def to_json(self) -> JsonObject:
        """The form kept in facts."""
        return {name: value for name, value in to_json(self).items() if self.is_same or name != "is_same"}


def difference(before: Manifest, after: Manifest) -> tuple[Change, ...]:
    """What leads from `before` to `after`, in order of path."""
    return tuple(
        change_of(path, before.get(path), after.get(path))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    )


def change_of(path: str, before: PathEntry | None, entry: PathEntry | None) -> Change:
    """What leads from the one to the other, which is not the same."""
    if entry is None:
        return Change(path=path, kind=EntryKind.GONE, digest=None)
    return Change(
        path=path,
        kind=entry.kind,
        digest=entry.digest,
        size_bytes=entry.size_bytes,
        executable=entry.executable,
        is_same=before is not None and (before.kind, before.digest) == (entry.kind, entry.digest),
    )


def conflicting(mine: Iterable[Change], theirs: Iterable[Change]) -> tuple[str, ...]:
    """Paths of `mine` that cannot be applied over `theirs` without losing something of either.

    Two who made, or removed, the same folder do not conflict; nor do two who removed the same file.
    """
    kinds = {change.path: change.kind for change in theirs}
    inhabited = {above for path, kind in kinds.items() if kind is not EntryKind.GONE for above in _above(path)}
    return tuple(change.path for change in mine if _in_the_way(change, kinds, inhabited))


def _in_the_way(mine: Change, theirs: Mapping[str, EntryKind], inhabited: set[str]) -> bool:
    same = theirs.get(mine.path)
    if same is not None and not (same is mine.kind and mine.kind in {EntryKind.FOLDER, EntryKind.GONE}):
        return True
    if mine.kind is not EntryKind.FOLDER and mine.path in inhabited:
        return True
    needs_parent = mine.kind is not EntryKind.GONE
    return needs_parent and any(
        theirs.get(above, EntryKind.FOLDER) is not EntryKind.FOLDER for above in _above(mine.path)
    )


def limited_to(paths: frozenset[str], changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes of these paths, and the folders needed above them."""
    above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return tuple(
        change
        for change in changes
        if change.path in paths or (change.kind is EntryKind.FOLDER and change.path in above)
    )


def _above(path: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(path).parents][:-1]
