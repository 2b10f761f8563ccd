"""The entries of a folder, read within limits and without ever following a link, and removed.

The content was made by commands of strangers and is read by our own process: folders are walked by descriptor, and
what is neither a regular file, a folder nor a link that stays inside is refused.
"""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Final

from earnest.foundation.errors import Refused

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class EntryKind(StrEnum):
    """What may stand at a path."""

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    GONE = "gone"
    """Nothing any more; only in a change."""


KINDS: Final = {kind.value: kind for kind in EntryKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """Bounds of one folder; passing any of them is refused."""

    entries: int = 10_000
    """Files, links and folders together."""
    size_bytes: int = 256 * 1024 * 1024
    """Of all files, by their apparent size."""
    depth: int = 32
    path_bytes: int = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNode:
    """What `lstat` says about one path. Two equal nodes at one path hold the same bytes: no program can set ctime."""

    kind: EntryKind
    size_bytes: int = 0
    executable: bool = False
    target: str = ""
    """Of a link."""
    identity: tuple[int, int, int] = (0, 0, 0)
    """Inode, mtime and ctime in nanoseconds; zeros for a folder, which changes with its content."""


Tree = dict[str, FileNode]


def walk(root: Path, limits: TreeLimits, reserved: Collection[str] = (), *, gone: bool = False) -> Tree:
    """Every path below `root`, relative and with `/`, a folder before its content; `reserved` ones are left out.

    With `gone`, the root is a layer over another folder: what says that something was removed is taken in as such.
    Raises `Refused`: `workspace_special_file`, `workspace_link`, `workspace_name`, `workspace_too_deep`,
    `workspace_too_many_files`, `workspace_too_large`.
    """
    walker = _Walker(limits=limits, reserved=frozenset(reserved), gone=gone)
    with opened(root, FOLDER_FLAGS) as descriptor:
        walker.enter(descriptor, "", 1)
    return walker.tree


@dataclass(slots=True, kw_only=True)
class _Walker:
    """One walk: what was found, and how much of the limits is used."""

    limits: TreeLimits
    reserved: frozenset[str]
    gone: bool
    tree: Tree = field(default_factory=dict)
    size_bytes: int = 0

    def enter(self, folder: int, prefix: str, depth: int) -> None:
        """List the opened folder whose path is `prefix` (empty or ending in `/`), and what is below it."""
        if os.fstat(folder).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(folder, 0o755)  # a command may have taken its owner's own rights, which are given back
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        if entries and depth > self.limits.depth:
            raise Refused("workspace_too_deep", f"{prefix}: deeper than {self.limits.depth} folders")
        for entry in entries:
            path = prefix + entry.name
            if path in self.reserved:
                continue
            self._check_name(path)
            node = _node(entry, path, folder, gone=self.gone)
            self.tree[path] = node
            self.size_bytes += node.size_bytes
            check_size(len(self.tree), self.size_bytes, self.limits)
            if node.kind is EntryKind.FOLDER:
                with opened(entry.name, FOLDER_FLAGS, folder, regains=True) as inner:
                    self.enter(inner, path + "/", depth + 1)

    def _check_name(self, path: str) -> None:
        try:
            size_bytes = len(path.encode())
        except UnicodeEncodeError as error:
            raise Refused("workspace_name", f"{os.fsencode(path)!r}: the name is not UTF-8") from error
        if size_bytes > self.limits.path_bytes:
            raise Refused("workspace_name", f"{path[:80]}…: the path is over {self.limits.path_bytes} bytes")


def check_size(entries: int, size_bytes: int, limits: TreeLimits) -> None:
    """Raises `Refused` for a tree of more than there may be."""
    if entries > limits.entries:
        raise Refused("workspace_too_many_files", f"over {limits.entries} files and folders")
    if size_bytes > limits.size_bytes:
        raise Refused("workspace_too_large", f"over {limits.size_bytes} bytes in all")


def _node(entry: os.DirEntry[str], path: str, folder: int, *, gone: bool) -> FileNode:
    status = entry.stat(follow_symlinks=False)
    kind = _FORMATS.get(stat.S_IFMT(status.st_mode))
    if gone and stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
        return FileNode(kind=EntryKind.GONE)
    if kind is None:
        raise Refused("workspace_special_file", f"{path}: neither a regular file, a folder nor a link")
    target = os.readlink(entry.name, dir_fd=folder) if kind is EntryKind.LINK else ""
    if kind is EntryKind.LINK and not stays_inside(path, target):
        raise Refused("workspace_link", f"{path}: the link to {target!r} may leave the workspace")
    return _node_of(status, kind, target)


def _node_of(status: os.stat_result, kind: EntryKind, target: str) -> FileNode:
    if kind is EntryKind.FOLDER:
        return FileNode(kind=kind)
    is_file = kind is EntryKind.FILE
    return FileNode(
        kind=kind,
        size_bytes=status.st_size if is_file else 0,
        executable=is_file and bool(status.st_mode & stat.S_IXUSR),
        target=target,
        identity=identity_of(status),
    )


def identity_of(status: os.stat_result) -> tuple[int, int, int]:
    """See `FileNode.identity`."""
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def node_at(path: Path) -> FileNode:
    """The node of what our own process has just made at `path`."""
    status = path.lstat()
    kind = _FORMATS[stat.S_IFMT(status.st_mode)]
    return _node_of(status, kind, str(path.readlink()) if kind is EntryKind.LINK else "")


_FORMATS: Final = {stat.S_IFREG: EntryKind.FILE, stat.S_IFDIR: EntryKind.FOLDER, stat.S_IFLNK: EntryKind.LINK}


def stays_inside(path: str, target: str) -> bool:
    """True if no combination of such links can lead out of the root.

    Every `..` stands at the target's beginning, where it climbs from a real folder, and climbs at most to the root.
    (Resolving the text alone is not enough: `a/b/up -> ../..` stays inside, `a/b/out -> up/..` does not.)
    """
    parts = [part for part in target.split("/") if part not in {"", "."}]
    climbs = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    try:
        target.encode()
    except UnicodeEncodeError:
        return False
    return not target.startswith("/") and ".." not in parts[climbs:] and climbs <= path.count("/")


@contextmanager
def opened_file(root: Path, path: str) -> Iterator[int]:
    """A descriptor of the regular file at `path`, reached without following any link. Raises `OSError`."""
    *folders, name = path.split("/")
    descriptor = os.open(root, FOLDER_FLAGS)
    try:
        for folder in folders:
            inner = os.open(folder, FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        with opened(name, FILE_FLAGS, descriptor, regains=True) as file:
            yield file
    finally:
        os.close(descriptor)


@contextmanager
def opened(place: Path | str, flags: int, folder: int | None = None, *, regains: bool = False) -> Iterator[int]:
    """A descriptor of what stands at `place`, or has this name in the opened `folder`. Raises `OSError`.

    With `regains`, the right to read is given back to the owner where it was taken.
    """
    try:
        descriptor = os.open(place, flags, dir_fd=folder)
    except PermissionError:
        if not regains:
            raise
        os.chmod(place, 0o700 if flags & os.O_DIRECTORY else 0o600, dir_fd=folder)
        descriptor = os.open(place, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def remove_tree(folder: Path, trash: Path) -> None:
    """Remove a file, or a folder of any depth: inner folders are first moved to the top of `trash`, beside it.

    A command can nest folders deeper than a recursion or a path may be long; flattening needs neither.
    """
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink()
        return
    waiting = [folder]
    moved = 0
    while waiting:
        current = waiting.pop()
        current.chmod(0o700)
        with opened(current, FOLDER_FLAGS) as descriptor:
            with os.scandir(descriptor) as listing:
                entries = list(listing)
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.name, dir_fd=descriptor)
                    continue
                os.chmod(entry.name, 0o700, dir_fd=descriptor)
                place = trash / f"{folder.name}.{moved}"
                moved += 1
                os.rename(entry.name, place, src_dir_fd=descriptor)
                waiting.append(place)
        current.rmdir()


class Trash:
    """A folder for what is to be removed: a thing loses its name first, so that it is never half there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, left: Path) -> None:
        """Remove a file or folder, under a name that is free here."""
        place = next(free for n in count() if not (free := self.folder / f"{left.name}-{n}").exists())
        left.rename(place)
        self._remove(place)

    def empty(self) -> None:
        """Remove what could not be removed before."""
        for left in sorted(self.folder.iterdir(), reverse=True):  # an inner folder's name extends its outer's
            self._remove(left)

    def _remove(self, left: Path) -> None:
        """What cannot be removed now is tried again by the next sweep, and when the workspace opens."""
        with suppress(OSError):
            remove_tree(left, self.folder)
