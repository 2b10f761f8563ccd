"""What stands below a path of the user's before something may write there, kept so that it can be brought back."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.effects.hands.edits.original import Original, kept_at
from earnest.effects.hands.edits.step import EditStep, FileMarks, Marks, entry_of, marks_of, marks_to_json
from earnest.effects.hands.workspace.changes import PathEntry
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Broken

FILES_MAX: Final = 10_000
BYTES_MAX: Final = 256 * 1024 * 1024
"""Of all former contents of a run together."""


class TooMuch(Exception):
    """More lies there than is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preimage:
    """All that stood at and below `path`: by relative path, "" for a file itself; and their marks."""

    path: Path
    entries: Mapping[str, PathEntry]
    marks: Marks

    def steps(self, hidden: Sequence[Path]) -> tuple[EditStep, ...]:
        """From what stood there to what stands there now. Reads all of it."""
        original = Original(self.path, "")
        paths = sorted({*self.entries, *paths_below(self.path, hidden)})
        found = {path: original.entry(path) for path in paths}
        return tuple(
            EditStep(path=path, before=self.entries.get(path), after=found[path])
            for path in paths
            if self.entries.get(path) != found[path]
        )

    def to_json(self) -> JsonObject:
        """The form kept in a file."""
        entries: dict[str, JsonValue] = {path: entry.to_json() for path, entry in self.entries.items()}
        return {"path": str(self.path), "entries": entries, "modes": marks_to_json(self.marks)}

    @classmethod
    def from_json(cls, value: JsonValue) -> "Preimage":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        match value:
            case {"path": str(path), "entries": dict(entries), "modes": dict(modes)}:
                read = {name: entry for name, given in entries.items() if (entry := entry_of(given))}
                return cls(path=Path(path), entries=read, marks=marks_of(modes))
        raise Broken("what stood outside the workspace cannot be read")


def taken(path: Path, store: Path, tag: str, hidden: Sequence[Path]) -> Preimage:
    """Look at everything there and keep each file's content in `store`, by its digest. Raises `TooMuch`, `OSError`."""
    kept_bytes = sum(one.stat().st_size for one in store.iterdir()) if store.is_dir() else 0
    original, left = Original(path, tag), BYTES_MAX - kept_bytes
    entries: dict[str, PathEntry] = {}
    marks: dict[str, FileMarks] = {}
    for at in paths_below(path, hidden):
        if len(entries) >= FILES_MAX:
            raise TooMuch
        entry = original.entry(at)
        if entry is None:
            continue
        entries[at] = entry
        if entry.digest and entry.kind is not EntryKind.LINK:
            marks[at] = original.marks(at)
        if entry.kind is EntryKind.FILE and entry.digest and not kept_at(store, entry.digest).exists():
            left -= entry.size_bytes
            if left < 0:
                raise TooMuch
            original.keep(at, store)
    return Preimage(path=path, entries=entries, marks=marks)


def paths_below(path: Path, hidden: Sequence[Path]) -> Iterator[str]:
    """Relative paths of all that lies below a folder, or "" for a file; without the places that nobody is shown."""
    if not path.is_dir() or path.is_symlink():
        yield ""
        return
    for place, folders, files in os.walk(path):
        here = Path(place)
        folders[:] = sorted(name for name in folders if here / name not in hidden)
        for name in (*folders, *files):
            if here / name not in hidden:
                yield str((here / name).relative_to(path))
