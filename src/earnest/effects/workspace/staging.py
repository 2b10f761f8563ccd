"""How does a workspace change in whole steps only, so that a crash leaves it as it was or is finished later?

A step works on a stage, a private copy. What it changed is made durable by the caller, as a value; then the changed
paths are moved into the workspace one by one. As long as a stage's folder is there, its move can be finished.
"""

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Final

from earnest.effects.workspace.changes import FOLDER, Change, Entry, Manifest, conflicting, difference
from earnest.effects.workspace.checkpoints import Checkpoints, file_name_of
from earnest.effects.workspace.copying import copy_file
from earnest.effects.workspace.moving import Mover
from earnest.effects.workspace.tree import Kind, Node, Tree, TreeLimits, node_at, opened_file, remove_tree, walk
from earnest.foundation.canonical import canonical_bytes, digest_bytes
from earnest.foundation.errors import Broken, Refused

SMALL_ENTRIES: Final = 64
SMALL_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A private copy of the workspace. `base` is what it was made from, `made` how it looked when it was made."""

    id: str
    folder: Path
    base: Mapping[str, Entry]
    made: Mapping[str, Node]
    limits: TreeLimits
    reserved: frozenset[str]

    async def changes(self) -> tuple[Change, ...]:
        """What differs from the base now, in order of path; to be asked when everything that writes has ended.

        Raises `Refused` (codes of `tree.walk`) if the stage holds what must not enter the workspace.
        """
        return await asyncio.to_thread(self._changes)

    def _changes(self) -> tuple[Change, ...]:
        tree = walk(self.folder, self.limits, self.reserved)
        after = {
            path: self.base[path] if self.made.get(path) == node else entry_of(self.folder, path, node)
            for path, node in tree.items()
        }
        return difference(self.base, after)


def entry_of(root: Path, path: str, node: Node) -> Entry:
    """What stands at `path`, its content read."""
    match node.kind:
        case Kind.FILE:
            with opened_file(root, path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
                digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
            return Entry(kind=Kind.FILE, digest=digest, size_bytes=node.size_bytes, executable=node.executable)
        case Kind.LINK:
            return Entry(kind=Kind.LINK, digest=digest_bytes(node.target.encode()))
        case _:
            return FOLDER


class Workspace:
    """A folder that changes through stages only. One object a folder; its methods may be called from several tasks.

    `stages` is a folder on the same file system, outside of `folder`, that belongs to this workspace alone. `reserved`
    are paths at which something else is mounted for tools: they are no part of the content.
    Hold `turn` from `conflicts` until `commit` has returned, so that no other commit comes between.
    """

    def __init__(
        self,
        folder: Path,
        stages: Path,
        limits: TreeLimits | None = None,
        reserved: Collection[str] = (),
    ) -> None:
        self.folder = folder.resolve()
        self.turn = asyncio.Lock()
        self._limits = limits or TreeLimits()
        self._reserved = frozenset(reserved)
        self._stages = stages.resolve() / "open"
        self._trash = stages.resolve() / "trash"
        self._alone = threading.RLock()
        self._digests: dict[str, tuple[Node, Entry]] = {}
        for needed in (self.folder, self._stages, self._trash):
            needed.mkdir(parents=True, exist_ok=True)
        stages.chmod(0o700)
        if self.folder.stat().st_dev != self._trash.stat().st_dev:
            raise Refused("stages_elsewhere", f"{stages} is not on the file system of {folder}")
        if self._stages.is_relative_to(self.folder):
            raise Refused("stages_elsewhere", f"{stages} lies inside {folder}")
        self._checkpoints = Checkpoints(stages.resolve() / "checkpoints")
        self._mover = Mover(self.folder, keep=self._keep)
        self._empty_trash()

    async def stage(self, stage_id: str) -> Stage:
        """A copy of the content as it is now. What an earlier, unfinished stage of this id left is dropped."""
        if self._is_small():
            return self._stage(stage_id)
        return await asyncio.to_thread(self._stage, stage_id)

    def conflicts(self, stage: Stage, changes: Collection[Change]) -> tuple[str, ...]:
        """Those of the stage's changed paths that the workspace changed, too, since the stage was made."""
        with self._alone:
            return conflicting(changes, difference(stage.base, self._entries(self._walk())))

    async def commit(self, stage: Stage, changes: Collection[Change]) -> None:
        """Move the changes in. Call it when they are durable: from here on there is only forward."""
        small = self._is_small() and len(changes) <= SMALL_ENTRIES
        ordered = tuple(changes)
        moved = self._move_in(stage.id, ordered) if small else await asyncio.to_thread(self._move_in, stage.id, ordered)
        if not moved:
            raise Broken(f"the stage {stage.id} is gone")

    async def finish(self, stage_id: str, changes: Collection[Change]) -> bool:
        """After a restart: complete the move of recorded changes. False if there was nothing left to do.

        Raises `Broken` if the stage does not hold what was recorded (as after a power cut).
        """
        return await asyncio.to_thread(self._move_in, stage_id, tuple(changes), checked=True)

    async def discard(self, stage_id: str) -> None:
        """Drop a stage, if there is one; the workspace stays as it is."""
        await asyncio.to_thread(self._drop, stage_id)

    async def manifest(self) -> Manifest:
        """The content as it is now."""
        return await asyncio.to_thread(self._manifest)

    def is_new(self, label: str) -> bool:
        """True if there never was a checkpoint of this label."""
        return self._checkpoints.is_new(label)

    def remembered(self, label: str) -> Mapping[str, Entry]:
        """What a checkpoint remembers, by path; nothing under a label that is spent or was never taken."""
        found = self._checkpoints.find(label)
        return found.entries if found else {}

    def former(self, entry: Entry) -> Path:
        """Where content lies that a checkpoint remembers and that has left the folder."""
        return self._checkpoints.kept(entry)

    async def checkpoint(self, label: str) -> None:
        """Remember the content as it is now. A label that was used before is left as it is."""
        await asyncio.to_thread(self._checkpoint, label)

    async def restore(self, label: str, within: Collection[str] | None = None) -> tuple[Change, ...]:
        """Bring back what the checkpoint remembers, of these paths or of all, and spend the label; gives what changed.

        Parallel attempts share a workspace: `within` limits the return to the paths that the failed one changed.
        A spent label does nothing. Interrupted halfway, it completes when called again. Raises `Broken` if the
        content is lost.
        """
        return await asyncio.to_thread(self._restore, label, within)

    async def release(self, label: str) -> None:
        """Spend a label without bringing anything back."""
        await asyncio.to_thread(self._release, label)

    async def keep(self, stage: Stage) -> None:
        """Have the stage outlive this process: it may hold the only trace of an effect outside."""
        base = self._base_of(stage.id)
        half = base.with_suffix(".half")
        half.write_bytes(canonical_bytes(Manifest(entries=stage.base).to_json()))
        half.replace(base)

    async def kept(self, stage_id: str) -> Stage | None:
        """The stage that an earlier process kept under this id."""
        base, folder = self._base_of(stage_id), self._stages / file_name_of(stage_id)
        if not base.exists() or not folder.is_dir():
            return None
        entries = Manifest.from_json(json.loads(base.read_bytes())).entries
        return Stage(id=stage_id, folder=folder, base=entries, made={}, limits=self._limits, reserved=self._reserved)

    async def sweep(self, spared: Iterable[str] = ()) -> None:
        """Drop every stage but these, whoever made it, and what could not be removed before. Nothing may be at work."""
        names = {file_name_of(stage_id) for stage_id in spared}
        left = {path.name.partition(".")[0] for path in self._stages.iterdir()} - names
        for name in left:
            await asyncio.to_thread(self._drop_named, name)
        await asyncio.to_thread(self._empty_trash)

    def _base_of(self, stage_id: str) -> Path:
        return self._stages / f"{file_name_of(stage_id)}.base"

    def _is_small(self) -> bool:
        """True if the content was small when last seen: then handing the work to a thread costs more than doing it."""
        sizes = [entry.size_bytes for _, entry in self._digests.values()]
        return 0 < len(sizes) <= SMALL_ENTRIES and sum(sizes) <= SMALL_BYTES

    def _stage(self, stage_id: str) -> Stage:
        with self._alone:
            self._drop(stage_id)
            tree = self._walk()
            base = self._entries(tree)
            folder = self._stages / file_name_of(stage_id)
            folder.mkdir()
            made = {path: self._copied(path, node, folder) for path, node in tree.items()}
        return Stage(
            id=stage_id,
            folder=folder,
            base=base,
            made=made,
            limits=self._limits,
            reserved=self._reserved,
        )

    def _copied(self, path: str, node: Node, folder: Path) -> Node:
        target = folder / path
        match node.kind:
            case Kind.FOLDER:
                target.mkdir()
                return node
            case Kind.LINK:
                target.symlink_to(node.target)
                return node_at(target)
            case _:
                with opened_file(self.folder, path) as source:
                    copy_file(source, target, executable=node.executable)
                return node_at(target)

    def _walk(self) -> Tree:
        return walk(self.folder, self._limits, self._reserved)

    def _entries(self, tree: Tree) -> dict[str, Entry]:
        """The content of the workspace, each file read once for as long as it stays the same."""
        known = self._digests
        self._digests = {
            path: known[path] if path in known and known[path][0] == node else (node, entry_of(self.folder, path, node))
            for path, node in tree.items()
        }
        return {path: entry for path, (_, entry) in self._digests.items()}

    def _manifest(self) -> Manifest:
        with self._alone:
            return Manifest(entries=self._entries(self._walk()))

    def _move_in(self, stage_id: str, changes: tuple[Change, ...], checked: bool = False) -> bool:
        with self._alone:
            folder = self._stages / file_name_of(stage_id)
            if not folder.is_dir():
                return False
            if checked:
                _check_stage(folder, changes)
            self._mover.move_in(folder, changes)
            for change in changes:
                self._note(change)
            self._drop(stage_id)
            return True

    def _note(self, change: Change) -> None:
        """Know the digest of what has just been moved in without reading it again."""
        self._digests.pop(change.path, None)
        if change.digest is not None:
            entry = Entry(
                kind=change.kind,
                digest=change.digest,
                size_bytes=change.size_bytes,
                executable=change.executable,
            )
            self._digests[change.path] = (node_at(self.folder / change.path), entry)

    def _drop(self, stage_id: str) -> None:
        """A stage under its name is unfinished; so it loses its name before it is removed piece by piece."""
        self._drop_named(file_name_of(stage_id))

    def _drop_named(self, name: str) -> None:
        with self._alone:
            for left in self._stages.glob(f"{name}*"):
                place = next(free for n in count() if not (free := self._trash / f"{left.name}-{n}").exists())
                left.rename(place)
                self._remove(place)

    def _empty_trash(self) -> None:
        for left in sorted(self._trash.iterdir(), reverse=True):  # an inner folder's name extends its outer's
            self._remove(left)

    def _remove(self, left: Path) -> None:
        """Remove trash. What cannot be removed now is tried again by the next sweep, and when the workspace opens."""
        with suppress(OSError):
            remove_tree(left, self._trash)

    def _keep(self, path: str) -> None:
        """What stands at `path` is about to leave: keep it if a checkpoint needs it."""
        if self._checkpoints.empty:
            return
        node = node_at(self.folder / path)
        known = self._digests.get(path)
        entry = known[1] if known and known[0] == node else entry_of(self.folder, path, node)
        if self._checkpoints.needs(entry):
            self._checkpoints.keep(self.folder / path, entry)

    def _checkpoint(self, label: str) -> None:
        with self._alone:
            if self._checkpoints.is_new(label):
                self._checkpoints.add(label, self._manifest())

    def _restore(self, label: str, within: Collection[str] | None) -> tuple[Change, ...]:
        with self._alone:
            wanted = self._checkpoints.find(label)
            if wanted is None:
                return ()
            changes = difference(self._entries(self._walk()), wanted.entries)
            if within is not None:
                changes = _limited_to(frozenset(within), changes)
            stage_id = _RESTORE + label
            self._drop(stage_id)
            self._bring_back(self._stages / file_name_of(stage_id), wanted, changes)
            self._move_in(stage_id, changes)
            self._checkpoints.spend(label)
            return changes

    def _bring_back(self, folder: Path, wanted: Manifest, changes: Iterable[Change]) -> None:
        """Fill a stage with the kept content of `changes`."""
        folder.mkdir()
        for change in changes:
            entry = wanted.entries.get(change.path)
            if entry is None or entry.kind is Kind.FOLDER:
                continue
            target = folder / change.path
            target.parent.mkdir(parents=True, exist_ok=True)
            kept = self._checkpoints.kept(entry)
            if not os.path.lexists(kept):
                raise Broken(f"{change.path}: its former content was changed from outside and is lost")
            if entry.kind is Kind.LINK:
                target.symlink_to(kept.readlink())
                continue
            with opened_file(kept.parent, kept.name) as source:
                copy_file(source, target, executable=entry.executable)
        _check_stage(folder, changes)

    def _release(self, label: str) -> None:
        with self._alone:
            self._checkpoints.spend(label)


_RESTORE: Final = "restore\0"


def _check_stage(folder: Path, changes: Iterable[Change]) -> None:
    """Raise `Broken` if something still waiting in the stage is not what was recorded."""
    for change in changes:
        path = folder / change.path
        if change.kind not in {Kind.FILE, Kind.LINK} or not os.path.lexists(path):
            continue
        entry = entry_of(folder, change.path, node_at(path))
        if (entry.kind, entry.digest) != (change.kind, change.digest):
            raise Broken(f"{change.path}: what was staged is not what was recorded")


def _limited_to(paths: frozenset[str], changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes of these paths, and the folders needed above them."""
    above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return tuple(
        change for change in changes if change.path in paths or (change.kind is Kind.FOLDER and change.path in above)
    )
