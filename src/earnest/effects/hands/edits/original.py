"""The user's folder or file that an edit was taken from: looked at, and replaced path by path.

Every new content first lies beside its place under a name of ours; then each place is taken by `rename`. So whoever
stops us leaves each file whole, and the same call made again completes what was begun.
"""

import contextlib
import hashlib
import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from earnest.effects.ground.durable import sync_file, sync_folder
from earnest.effects.hands.edits.step import OTHER, EditStep, FileMarks
from earnest.effects.hands.workspace.changes import FOLDER, PathEntry
from earnest.effects.hands.workspace.copying import copy_file
from earnest.effects.hands.workspace.tree import FILE_FLAGS, EntryKind, opened
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Broken

_ORDINARY: Final = 0o644
_PUBLIC: Final = 0o777
_OWN: Final = 0o700
_WHO_MAY: Final = frozenset({"system.posix_acl_access", "system.posix_acl_default"})


class Original:
    """What lies at `path`, which holds no link. `tag` makes the names of what lies beside for a moment."""

    def __init__(self, path: Path, tag: str) -> None:
        self._path = path
        self._tag = tag

    def entry(self, path: str) -> PathEntry | None:
        """What stands at a path, its content read; None for nothing. Raises `OSError`."""
        place = self._place(path)
        if not self._has_real_parents(path):
            return OTHER if os.path.lexists(place) else None
        try:
            status = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        match stat.S_IFMT(status.st_mode):
            case stat.S_IFDIR:
                return FOLDER
            case stat.S_IFLNK:
                return PathEntry(kind=EntryKind.LINK, digest=digest_bytes(os.fsencode(place.readlink())))
            case stat.S_IFREG:
                return _entry_of_file(place)
        return OTHER

    def marks(self, path: str) -> FileMarks:
        """Those of the file or folder at a path: not what its content was worth, such as a program's capabilities."""
        place = self._place(path)
        named = os.listxattr(place, follow_symlinks=False) if hasattr(os, "listxattr") else ()
        kept = [name for name in named if name.startswith("user.") or name in _WHO_MAY]
        told = {name: b64encode(os.getxattr(place, name, follow_symlinks=False)).decode() for name in kept}
        return FileMarks(mode=stat.S_IMODE(place.lstat().st_mode), attributes=told)

    def keep(self, path: str, folder: Path) -> None:
        """Copy the file at a path into `folder`, under its digest. Raises `Broken` if it changes meanwhile."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = folder / f".{self._tag}"
        half.unlink(missing_ok=True)
        with opened(self._place(path), FILE_FLAGS) as source:
            copy_file(source, half, executable=False)
        digest = _entry_of_file(half).digest
        sync_file(half)
        half.replace(kept_at(folder, digest))

    def replace(self, steps: Sequence[EditStep], content: Callable[[PathEntry], Path]) -> None:
        """Make every path as its step says; what is so already is passed over. `content` tells where a file's lies.

        Raises `OSError`. Before the first `rename` nothing has changed then; after it another call completes the rest,
        and the inverse steps take it back.
        """
        self.clear(steps)
        waiting = [(at, step) for at, step in enumerate(steps) if self.entry(step.path) != step.after]
        try:
            for at, step in waiting:
                if step.after is not None and step.after.kind is EntryKind.FILE:
                    self._prepare(at, step, content(step.after))
        except BaseException:
            with contextlib.suppress(OSError):
                self.clear(steps)
            raise
        for _, step in reversed(waiting):
            self._remove(step)
        for at, step in waiting:
            self._bring(at, step)
        for step in steps:  # a folder that may not be written to is filled first
            if step.marks and step.after is not None and step.after.kind is EntryKind.FOLDER:
                _mark(self._place(step.path), step.marks)
        for folder in {self._place(step.path).parent for _, step in waiting}:
            if folder.is_dir():
                sync_folder(folder)

    def clear(self, steps: Sequence[EditStep]) -> None:
        """Remove what an interrupted call left beside the places."""
        for at, step in enumerate(steps):
            for folder in self._folders_above(step.path):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    (folder / self._beside(at)).unlink()

    def _place(self, path: str) -> Path:
        return self._path / path if path else self._path

    def _beside(self, at: int) -> str:
        return f".earnest-{self._tag}-{at}"

    def _folders_above(self, path: str) -> Iterator[Path]:
        """The folders in which `path` lies, the inner ones first; the last, which is there, holds the original."""
        for parent in PurePosixPath(path).parents:
            yield self._path / parent
        yield self._path.parent

    def _has_real_parents(self, path: str) -> bool:
        return not path or all(
            stat.S_ISDIR(parent.lstat().st_mode) for parent in self._folders_above(path) if os.path.lexists(parent)
        )

    def _prepare(self, at: int, step: EditStep, source: Path) -> None:
        assert step.after is not None
        place = self._place(step.path)
        folder = next(filter(Path.is_dir, self._folders_above(step.path)), place.parent)
        beside = folder / self._beside(at)
        with opened(source, FILE_FLAGS) as descriptor:
            copy_file(descriptor, beside, executable=step.after.executable)
        if _entry_of_file(beside).digest != step.after.digest:
            raise Broken(f"{step.path or self._path.name}: the kept content is not what it was")
        is_file = place.is_file() and not place.is_symlink()
        marks = step.marks or _marks(step.after, self.marks(step.path) if is_file else FileMarks(mode=_ORDINARY))
        _mark(beside, marks)
        if os.geteuid() == 0:
            owner = (place if is_file else folder).lstat()
            os.chown(beside, owner.st_uid, owner.st_gid)
        sync_file(beside)

    def _remove(self, step: EditStep) -> None:
        """Nothing stands at the path any more that is in the way, but for a folder in which something is left."""
        place = self._place(step.path)
        now = self.entry(step.path)
        if now is None or (step.after is not None and step.after.kind is now.kind):
            return
        if now.kind is not EntryKind.FOLDER:
            place.unlink()
            return
        with contextlib.suppress(OSError):
            place.rmdir()

    def _bring(self, at: int, step: EditStep) -> None:
        place = self._place(step.path)
        if step.after is None:
            return
        if step.after.kind is EntryKind.FOLDER:
            place.mkdir(step.marks.mode | _OWN if step.marks else _PUBLIC, parents=True, exist_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        places = (folder / self._beside(at) for folder in self._folders_above(step.path))
        next(filter(Path.exists, places), place.parent / self._beside(at)).replace(place)


def kept_at(folder: Path, digest: str) -> Path:
    """Where `Original.keep` puts content."""
    return folder / digest.removeprefix("sha256:")


def _mark(place: Path, marks: FileMarks) -> None:
    for name, told in marks.attributes.items():
        os.setxattr(place, name, b64decode(told))
    place.chmod(marks.mode)


def _marks(after: PathEntry, former: FileMarks) -> FileMarks:
    """Those of the former file, executable for its readers if what comes is."""
    readers = (former.mode & 0o444) >> 2
    return replace(former, mode=former.mode | readers if after.executable else former.mode & ~0o111)


def _entry_of_file(place: Path) -> PathEntry:
    with opened(place, FILE_FLAGS) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        status = os.fstat(descriptor)
        digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    executable = bool(status.st_mode & stat.S_IXUSR)
    return PathEntry(kind=EntryKind.FILE, digest=digest, size_bytes=status.st_size, executable=executable)


def entries_of(original: Original, steps: Iterable[EditStep]) -> dict[str, PathEntry | None]:
    """What stands now at the path of each step."""
    return {step.path: original.entry(step.path) for step in steps}
