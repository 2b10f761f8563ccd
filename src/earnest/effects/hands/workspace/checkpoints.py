"""What is kept so that a folder can become again what it was.

A checkpoint copies nothing: it is a manifest, whole or as what differs from the last whole one. Only content that is
about to leave the folder, and that a checkpoint still names, is kept, by a hard link named after its digest. So for
each path of each checkpoint the content is either still in place or among the kept, at every moment.
"""

import json
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.effects.hands.workspace.changes import Change, Manifest, PathEntry, difference
from earnest.effects.hands.workspace.copying import copy_file
from earnest.effects.hands.workspace.stage import check_staged, entry_of
from earnest.effects.hands.workspace.tree import EntryKind, TreeLimits, opened_file, walk
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_bytes, digest_bytes
from earnest.foundation.errors import Broken, Refused

_LIVE: Final = ".json"
_SPENT: Final = ".spent"


def file_name_of(text: str) -> str:
    """A file name for any id or label, whatever its length and characters."""
    return digest_bytes(text.encode())[len("sha256:") :][:40]


class Checkpoints:
    """The checkpoints in one folder. A label is used once: when it is spent, neither taking nor restoring does a thing.

    That makes a run that is replayed harmless: it takes and restores again what it did before it was interrupted.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept = folder / "kept"
        folder.mkdir(parents=True, exist_ok=True)
        self._whole: tuple[str, Manifest] | None = None
        """The last manifest that was written whole, and its name."""
        self._live: dict[str, Manifest] = {path.stem: self._read(path) for path in folder.glob("*" + _LIVE)}
        self._named = self._names_of_all()

    @property
    def empty(self) -> bool:
        """True if nothing needs to be kept."""
        return not self._named

    def is_new(self, label: str) -> bool:
        """True if the label was never used."""
        name = file_name_of(label)
        return name not in self._live and not (self._folder / (name + _SPENT)).exists()

    def find(self, label: str) -> Manifest | None:
        """The content under this label, or None if it is spent or was never taken."""
        return self._live.get(file_name_of(label))

    def add(self, label: str, manifest: Manifest) -> None:
        """Remember `manifest` under a new label."""
        name = file_name_of(label)
        path = self._folder / (name + _LIVE)
        half = path.with_suffix(".half")
        half.write_bytes(canonical_bytes(self._written(name, manifest)))
        half.replace(path)
        self._live[name] = manifest
        self._named |= _names(manifest)

    def _written(self, name: str, manifest: Manifest) -> JsonObject:
        """What differs from the last whole manifest, or all, if that is much or nothing was written whole yet."""
        if self._whole is not None:
            since, whole = self._whole
            differs = {path for path in whole.keys() | manifest.keys() if whole.get(path) != manifest.get(path)}
            if len(differs) * 4 <= len(manifest):
                now = {path: manifest[path] for path in differs & manifest.keys()}
                gone: list[JsonValue] = [*sorted(differs - now.keys())]
                return {"since": since, "now": manifest_to_json(now), "gone": gone}
        self._whole = (name, manifest)
        return manifest_to_json(manifest)

    def _read(self, path: Path) -> Manifest:
        """The manifest in a file. Raises `Broken`."""
        found: JsonValue = json.loads(path.read_bytes())
        match found:
            case {"since": str(since), "now": dict(now), "gone": list(gone)}:
                removed, whole = set(gone), self._whole_of(since)
                kept = {at: entry for at, entry in whole.items() if at not in removed}
                return {**kept, **manifest_from_json(now)}
        manifest = manifest_from_json(found)
        self._whole = (path.stem, manifest)
        return manifest

    def _whole_of(self, name: str) -> Manifest:
        """The whole manifest of this name, which may be spent."""
        if self._whole is None or self._whole[0] != name:
            places = (self._folder / (name + end) for end in (_LIVE, _SPENT))
            place = next((one for one in places if one.exists()), None)
            if place is None:
                raise Broken(f"the checkpoint {name}, on which another one rests, is gone")
            self._whole = (name, manifest_from_json(json.loads(place.read_bytes())))
        return self._whole[1]

    def spend(self, label: str) -> None:
        """Forget the content under this label, for ever, and what was kept for it alone."""
        name = file_name_of(label)
        live = self._folder / (name + _LIVE)
        if live.exists():
            live.replace(self._folder / (name + _SPENT))
        self._live.pop(name, None)
        self._named = self._names_of_all()
        for kept in self._kept.glob("*"):  # none where nothing was ever kept
            if kept.name not in self._named:
                with suppress(OSError):  # it harms nobody, and the next one tries again
                    kept.unlink()

    def needs(self, entry: PathEntry) -> bool:
        """True if some checkpoint names this content."""
        return _name(entry) in self._named

    def keep(self, path: Path, entry: PathEntry) -> None:
        """Keep what stands at `path`, which is about to leave the workspace."""
        self._kept.mkdir(exist_ok=True)
        with suppress(FileExistsError):
            os.link(path, self.kept(entry), follow_symlinks=False)

    def kept(self, entry: PathEntry) -> Path:
        """Where this content is kept, if it is: a file, or a link with the same target."""
        return self._kept / _name(entry)

    def bring_back(self, folder: Path, wanted: Manifest, changes: Iterable[Change]) -> None:
        """Fill a stage with the kept content of `changes`. Raises `Broken` if some is lost."""
        folder.mkdir(parents=True)
        for change in changes:
            entry = wanted.get(change.path)
            if entry is None or entry.kind is EntryKind.FOLDER:
                continue
            target = folder / change.path
            target.parent.mkdir(parents=True, exist_ok=True)
            kept = self.kept(entry)
            if not os.path.lexists(kept):
                raise Broken(f"{change.path}: its former content was changed from outside and is lost")
            if entry.kind is EntryKind.LINK:
                target.symlink_to(kept.readlink())
                continue
            with opened_file(kept.parent, kept.name) as source:
                copy_file(source, target, executable=entry.executable)
        check_staged(folder, changes)

    def _names_of_all(self) -> set[str]:
        return {name for manifest in self._live.values() for name in _names(manifest)}


def manifest_to_json(entries: Manifest) -> JsonObject:
    """The form kept in files."""
    return {path: entry.to_json() for path, entry in entries.items()}


def manifest_from_json(value: JsonValue) -> Manifest:
    """The inverse of `manifest_to_json`. Raises `Broken` for anything else."""
    if not isinstance(value, Mapping):
        raise Broken("not a manifest")
    return {path: PathEntry.from_json(entry, f"not a manifest: {path}") for path, entry in value.items()}


def _names(manifest: Manifest) -> set[str]:
    return {_name(entry) for entry in manifest.values() if entry.kind is not EntryKind.FOLDER}


def _name(entry: PathEntry) -> str:
    return f"{entry.kind.value}-{entry.digest.removeprefix('sha256:')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """What differs between a workspace at rest and one of its checkpoints, read without touching either.

    `before` is what the checkpoint remembers, `changes` what is otherwise now, in order of path. The present content
    lies in the `folder`, what has left it among what `checkpoints` keep.
    """

    before: Manifest
    changes: tuple[Change, ...]
    folder: Path
    checkpoints: Checkpoints


def changes_since(folder: Path, stages: Path, label: str, limits: TreeLimits, reserved: Collection[str] = ()) -> Since:
    """Raises `Refused("no_checkpoint")` if the label was never taken, and whatever `tree.walk` refuses."""
    checkpoints = Checkpoints(stages / "checkpoints")
    before = checkpoints.find(label)
    if before is None:
        raise Refused("no_checkpoint", f"{folder} has no checkpoint {label!r}")
    tree = walk(folder, limits, frozenset(reserved))
    now = {path: entry_of(folder, path, node) for path, node in tree.items()}
    return Since(before=before, changes=difference(before, now), folder=folder, checkpoints=checkpoints)
