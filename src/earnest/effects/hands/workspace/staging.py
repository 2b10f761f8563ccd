"""Changes of a workspace in whole steps: after a crash it is as it was, or the step is finished later.

A step works on a stage: a private copy, or a layer over a large workspace. What it changed is made durable by the
caller, as a value; then the changed paths are moved into the workspace one by one. As long as a stage's folder is
there, its move can be finished. What lies under a layer never changes while it is mounted: what was committed
meanwhile lies in layers of its own until nobody looks any more.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import chain, count
from pathlib import Path
from typing import Final

from earnest.effects.hands.workspace.changes import Change, conflicting, difference, limited_to
from earnest.effects.hands.workspace.checkpoints import Checkpoints, file_name_of, manifest_from_json, manifest_to_json
from earnest.effects.hands.workspace.copying import copy_file
from earnest.effects.hands.workspace.known import SMALL_ENTRIES, KnownContent
from earnest.effects.hands.workspace.mounts import Mounts
from earnest.effects.hands.workspace.moving import Mover
from earnest.effects.hands.workspace.overlay import Below
from earnest.effects.hands.workspace.snapshot import Seen
from earnest.effects.hands.workspace.stage import Stage, check_staged
from earnest.effects.hands.workspace.tree import EntryKind, FileNode, Trash, TreeLimits, node_at, opened_file
from earnest.effects.hands.workspace.views import UPPER, WORK, Views
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Broken, Refused

LAYERS_MAX: Final = 8  # of commits that wait: the options of a mount are not longer than a page


class Workspace:
    """A folder that changes through stages only. One object a folder; its methods may be called from several tasks.

    `stages` is a folder on the same file system, outside of `folder`, that belongs to this workspace alone. `reserved`
    are paths at which something else is mounted for tools: they are no part of the content. `lays` is asked once, when
    the content is large, why in this folder nothing can be laid over another; without it, stages are always copies.
    Hold `turn` from `conflicts` until `commit` has returned, so that no other commit comes between. Others only read
    its `checkpoints`.
    """

    def __init__(
        self,
        folder: Path,
        stages: Path,
        limits: TreeLimits | None = None,
        reserved: Collection[str] = (),
        lays: Callable[[Path], Awaitable[str]] | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.turn = asyncio.Lock()
        self._limits = limits or TreeLimits()
        self._reserved = frozenset(reserved)
        self._stages = stages.resolve() / "open"
        self._trash = Trash(stages.resolve() / "trash")
        self._alone = threading.RLock()
        self._known = KnownContent(self.folder, self._limits, self._reserved)
        for needed in (self.folder, self._stages, self._trash.folder):
            needed.mkdir(parents=True, exist_ok=True)
        stages.chmod(0o700)
        if self.folder.stat().st_dev != self._trash.folder.stat().st_dev:
            raise Refused("stages_elsewhere", f"{stages} is not on the file system of {folder}")
        if self._stages.is_relative_to(self.folder):
            raise Refused("stages_elsewhere", f"{stages} lies inside {folder}")
        self.checkpoints = Checkpoints(stages.resolve() / "checkpoints")
        self._mover = Mover(self.folder, keep=self._keep)
        self._lays = lays
        self.copies_because: str | None = None  # of a large workspace: empty if they are layers
        self._views = Views()
        self.close: Final = self._views.close
        self._mounts = Mounts()
        self._holders = count()
        self._waiting: list[tuple[str, tuple[Change, ...]]] = []
        self._commits: list[tuple[Change, ...]] = []
        self._trash.empty()

    async def stage(self, stage_id: str, *, copied: bool = False) -> Stage:
        """The content as it is now, for one step. What an earlier, unfinished stage of this id left is dropped.

        With `copied` it is a copy in any case, in a folder that every process can work in.
        """
        if self._lays and await self._lays_over() and not copied:
            if len(self._waiting) >= LAYERS_MAX:
                async with self._at_rest():
                    pass
            async with self._mounts.entering(stage_id):
                return await asyncio.to_thread(self._lay, stage_id)
        if self._waiting:
            async with self._at_rest():
                return await asyncio.to_thread(self._stage, stage_id)
        if self._known.is_small:
            return self._stage(stage_id)
        return await asyncio.to_thread(self._stage, stage_id)

    def seal(self, stage: Stage) -> None:
        """Our own process looks no longer into a layer, so that a sandbox may write there."""
        if stage.lowers:
            self._views.end(stage.upper.parent)

    async def ended(self, stage: Stage) -> None:
        """Nothing works in this stage any more. Does nothing a second time."""
        if stage.lowers:
            await asyncio.to_thread(self.seal, stage)
            await self._mounts.leave(stage.id)
            await self._merge()

    def conflicts(self, stage: Stage, changes: Collection[Change]) -> tuple[str, ...]:
        """Those of the stage's changed paths that the workspace changed, too, since the stage was made."""
        with self._alone:
            if not self._is_laid or stage.since < 0:
                return conflicting(changes, difference(stage.below.entries, self._now().entries))
            moved = {change.path for _, waiting in self._waiting for change in waiting}
            strange = (self._known.strange(change.path) for change in changes if change.path not in moved)
            return conflicting(changes, [*chain(*self._commits[stage.since :]), *filter(None, strange)])

    async def commit(self, stage: Stage, changes: Collection[Change]) -> None:
        """Move the changes in. Call it when they are durable: from here on there is only forward."""
        ordered = tuple(changes)
        await self.ended(stage)
        self._commits.append(ordered)
        if stage.lowers:
            with self._alone:
                self._known.expect(ordered)
                self._waiting.append((stage.id, ordered))
            await self._merge()
            return
        if not self._mounts.is_calm or self._waiting:
            async with self._at_rest():
                moved = await asyncio.to_thread(self._move_in, stage.id, ordered)
        elif self._known.is_small and len(changes) <= SMALL_ENTRIES:
            moved = self._move_in(stage.id, ordered)
        else:
            moved = await asyncio.to_thread(self._move_in, stage.id, ordered)
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
        await self._mounts.leave(stage_id)
        await self._merge()

    async def checkpoint(self, label: str, seen: Seen | None = None) -> None:
        """Remember the content, of which `seen` need not be read. A label that was used before is left as it is."""
        await asyncio.to_thread(self._checkpoint, label, seen)

    async def restore(self, label: str, within: Collection[str] | None = None) -> tuple[Change, ...]:
        """Bring back what the checkpoint remembers, of these paths or of all, and spend the label; gives what changed.

        Parallel attempts share a workspace: `within` limits the return to the paths that the failed one changed.
        A spent label does nothing. Interrupted halfway, it completes when called again. Raises `Broken` if the
        content is lost.
        """
        async with self._at_rest():
            return await asyncio.to_thread(self._restore, label, within)

    async def keep(self, stage: Stage) -> None:
        """Have the stage outlive this process: it may hold the only trace of an effect outside."""
        base = self._base_of(stage.id)
        half = base.with_suffix(".half")
        half.write_bytes(canonical_bytes(manifest_to_json(stage.below.entries)))
        half.replace(base)

    async def kept(self, stage_id: str) -> Stage | None:
        """The stage that an earlier process kept under this id."""
        base, folder = self._base_of(stage_id), self._stages / file_name_of(stage_id)
        if not base.exists() or not folder.is_dir():
            return None
        below = Below.of(manifest_from_json(json.loads(base.read_bytes())))
        lowers = (self.folder,) if (folder / WORK).is_dir() else ()
        return self._made(stage_id, folder / UPPER, below, lowers=lowers, since=-1)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Seen | None]:
        """A large workspace as it is now, which does not change until the block ends; None if that takes a copy."""
        if self._lays is None or not await self._lays_over():
            yield None
            return
        name = f"{_HELD}{next(self._holders)}"
        async with self._at_rest(then=name) if self._waiting else self._mounts.entering(name):
            seen = await asyncio.to_thread(self._looked)
        try:
            yield seen
        finally:
            await self._mounts.leave(name)
            await self._merge()

    async def sweep(self, spared: Iterable[str] = ()) -> None:
        """Drop every stage but these, whoever made it, and what could not be removed before. Nothing may be at work."""
        self._mounts.forget()
        await self._merge()
        names = {file_name_of(stage_id) for stage_id in spared}
        left = {path.name.partition(".")[0] for path in self._stages.iterdir()} - names
        for name in left:
            await asyncio.to_thread(self._drop_named, name)
        if any(self._trash.folder.iterdir()):
            await asyncio.to_thread(self._trash.empty)

    def _base_of(self, stage_id: str) -> Path:
        return self._stages / f"{file_name_of(stage_id)}.base"

    @property
    def _is_laid(self) -> bool:
        return self.copies_because == ""

    async def _lays_over(self) -> bool:
        """True if the content is large, and layers work here, which is tried once."""
        if self._known.now is None:
            await asyncio.to_thread(self._now)
        if self.copies_because is None and self._known.is_large and self._lays is not None:
            self.copies_because = await self._lays(self._stages)
        return self._is_laid

    @asynccontextmanager
    async def _at_rest(self, then: str = "") -> AsyncIterator[None]:
        """While nobody looks, with everything moved in that was committed; afterwards `then` looks."""
        async with self._mounts.alone(then):
            await asyncio.to_thread(self._merge_all)
            yield

    async def _merge(self) -> None:
        """Move in what was committed, unless somebody looks: then whoever is the last one does."""
        if self._waiting:
            async with self._mounts.if_calm() as is_calm:
                if is_calm:
                    await asyncio.to_thread(self._merge_all)

    def _merge_all(self) -> None:
        with self._alone:
            while self._waiting:
                stage_id, changes = self._waiting[0]
                if not self._move_in(stage_id, changes):
                    raise Broken(f"the stage {stage_id} is gone")
                del self._waiting[0]

    def _lay(self, stage_id: str) -> Stage:
        with self._alone:
            self._drop(stage_id)
            folder = self._stages / file_name_of(stage_id)
            folder.mkdir()
            waiting = (self._stages / file_name_of(waits) / UPPER for waits, changes in self._waiting if changes)
            lowers = (self.folder, *waiting)
            view = self._views.show(lowers, folder)
            below = self._known.seen()
            return self._made(stage_id, view, below, lowers=lowers, since=len(self._commits))

    def _stage(self, stage_id: str) -> Stage:
        with self._alone:
            self._drop(stage_id)
            below = self._known.read()
            folder = self._stages / file_name_of(stage_id) / UPPER
            folder.mkdir(parents=True)
            made = {path: self._copied(path, node, folder) for path, node in self._known.nodes.items()}
            return self._made(stage_id, folder, below, made=made, since=len(self._commits))

    def _made(
        self,
        stage_id: str,
        folder: Path,
        below: Below,
        *,
        made: Mapping[str, FileNode] | None = None,
        lowers: tuple[Path, ...] = (),
        since: int,
    ) -> Stage:
        return Stage(
            id=stage_id,
            folder=folder,
            upper=self._stages / file_name_of(stage_id) / UPPER,
            below=below,
            made=made or {},
            limits=self._limits,
            reserved=self._reserved,
            lowers=lowers,
            since=since,
        )

    def _copied(self, path: str, node: FileNode, folder: Path) -> FileNode:
        target = folder / path
        match node.kind:
            case EntryKind.FOLDER:
                target.mkdir()
                return node
            case EntryKind.LINK:
                target.symlink_to(node.target)
                return node_at(target)
            case _:
                with opened_file(self.folder, path) as source:
                    copy_file(source, target, executable=node.executable)
                return node_at(target)

    def _now(self, learned: Seen | None = None) -> Below:
        """The content; where layers are laid over it, as it was last seen, since nobody else writes there."""
        with self._alone:
            return self._known.seen() if self._is_laid else self._known.read(learned)

    def _looked(self) -> Seen:
        with self._alone:
            if not self._waiting:
                self._known.read()
            return self._known.files()

    def _move_in(self, stage_id: str, changes: tuple[Change, ...], checked: bool = False) -> bool:
        with self._alone:
            folder = self._stages / file_name_of(stage_id) / UPPER
            if not folder.is_dir():
                return False
            if checked:
                check_staged(folder, changes)
            self._mover.move_in(folder, changes)
            self._known.expect(changes)
            for change in changes:
                self._known.note(change)
            self._drop(stage_id)
            return True

    def _drop(self, stage_id: str) -> None:
        """A stage under its name is unfinished; so it loses its name before it is removed piece by piece."""
        self._views.end(self._stages / file_name_of(stage_id))
        self._drop_named(file_name_of(stage_id))

    def _drop_named(self, name: str) -> None:
        with self._alone:
            for left in self._stages.glob(f"{name}*"):
                self._trash.take(left)

    def _keep(self, path: str) -> None:
        """What stands at `path` is about to leave: keep it if a checkpoint needs it."""
        if self.checkpoints.empty:
            return
        entry = self._known.entry(path)
        if self.checkpoints.needs(entry):
            self.checkpoints.keep(self.folder / path, entry)

    def _checkpoint(self, label: str, seen: Seen | None) -> None:
        with self._alone:
            if self.checkpoints.is_new(label):
                self.checkpoints.add(label, self._now(seen).entries)

    def _restore(self, label: str, within: Collection[str] | None) -> tuple[Change, ...]:
        with self._alone:
            wanted = self.checkpoints.find(label)
            if wanted is None:
                return ()
            changes = difference(self._known.read().entries, wanted)
            if within is not None:
                changes = limited_to(frozenset(within), changes)
            stage_id = _RESTORE + label
            self._drop(stage_id)
            self.checkpoints.bring_back(self._stages / file_name_of(stage_id) / UPPER, wanted, changes)
            self._move_in(stage_id, changes)
            self.checkpoints.spend(label)
            return changes


_RESTORE: Final = "restore\0"
_HELD: Final = "held\0"
