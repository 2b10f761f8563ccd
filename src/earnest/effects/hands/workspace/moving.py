"""Recorded changes entering a folder, path by path, so that a move can be repeated after a crash.

Every step looks first at what stands there: done already, it is passed over. A parent is looked at as well, because a
folder may have become a link: what is below a link is never touched.
"""

import errno
import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath

from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.copying import copy_file
from earnest.effects.hands.workspace.tree import EntryKind, opened_file
from earnest.foundation.errors import Broken


class Mover:
    """Moves changes into `root`. `keep` is called with a path before its content leaves."""

    def __init__(self, root: Path, *, keep: Callable[[str], None]) -> None:
        self._root = root
        self._keep = keep
        status = root.stat()
        self._owner = (status.st_uid, status.st_gid)

    def move_in(self, stage: Path, changes: Collection[Change]) -> None:
        """Remove what is gone, deepest first, then bring the rest from `stage`, folders before their content.

        Files get mode 0644 or 0755 and the owner of `root`, whoever wrote them.
        """
        ordered = sorted(changes, key=lambda change: change.path)
        for change in reversed(ordered):
            if change.kind is EntryKind.GONE and self._has_real_parent(change.path):
                self._clear(change.path)
        for change in ordered:
            if change.kind is not EntryKind.GONE and not self._has_real_parent(change.path):
                raise Broken(f"{change.path}: there is no folder for it")
            if change.kind is EntryKind.FOLDER:
                self._make_folder(change.path)
            elif change.kind is not EntryKind.GONE:
                self._place(stage, change)

    def _has_real_parent(self, path: str) -> bool:
        parents = reversed(PurePosixPath(path).parents)
        return all(_format(self._root / parent) == stat.S_IFDIR for parent in parents)

    def _clear(self, path: str) -> None:
        """Nothing stands at `path` any more, unless it is a folder in which something is left."""
        target = self._root / path
        match _format(target):
            case None:
                return
            case stat.S_IFDIR:
                try:
                    target.rmdir()
                except OSError as error:
                    if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                        raise
            case _:
                self._keep(path)
                target.unlink()

    def _make_folder(self, path: str) -> None:
        target = self._root / path
        if _format(target) != stat.S_IFDIR:
            self._clear(path)
            target.mkdir()
            target.chmod(0o755)  # whatever the umask
            self._own(target)

    def _place(self, stage: Path, change: Change) -> None:
        """Bring a file or a link. Replacing a file or link leaves no moment without either."""
        path = change.path
        source, target = stage / path, self._root / path
        try:
            status = source.lstat()
        except (FileNotFoundError, NotADirectoryError):
            if _format(target) is None:
                raise Broken(f"{path}: neither staged nor in the workspace") from None
            return
        if _format(target) == stat.S_IFDIR:
            self._clear(path)
        elif _format(target) is not None:
            self._keep(path)
        if stat.S_ISREG(status.st_mode):
            source = self._prepared(stage, change, status.st_nlink)
        self._own(source)
        source.rename(target)
        if status.st_nlink > 1:
            (stage / path).unlink(missing_ok=True)

    def _prepared(self, stage: Path, change: Change, names: int) -> Path:
        """The staged file with a normal mode; a copy of it if it has other names, which would share later changes."""
        source = stage / change.path
        if names == 1:
            source.chmod(0o755 if change.executable else 0o644)
            return source
        copy = stage.with_suffix(".copy")
        copy.unlink(missing_ok=True)
        with opened_file(stage, change.path) as descriptor:
            copy_file(descriptor, copy, executable=change.executable)
        return copy

    def _own(self, path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, *self._owner, follow_symlinks=False)


def _format(path: Path) -> int | None:
    """The file type of `path` itself, None if nothing stands there."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None
