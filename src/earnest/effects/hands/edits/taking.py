"""Taking the user's folder or file into a workspace as a copy, with what is left out named."""

import os
import shutil
import stat
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from earnest.effects.hands.workspace.copying import copy_and_digest
from earnest.effects.hands.workspace.snapshot import Seen, SnapshotLimits, name_fault
from earnest.effects.hands.workspace.tree import FILE_FLAGS, FOLDER_FLAGS, TreeLimits, identity_of, opened, stays_inside
from earnest.foundation.errors import Refused

EDIT_LIMITS: Final = TreeLimits(entries=200_000, size_bytes=4 * 1024**3, depth=64)
"""Of a workspace that holds an edit."""

IGNORED_BYTES_MAX: Final = 64 * 1024**2
"""What `.gitignore` excludes comes along up to here: it may hold the environment that the project's tests need."""

COPIERS: Final = min(4, os.cpu_count() or 1)
BATCH: Final = 128
"""So many files of one folder are copied by one thread, beside others."""
GIT: Final = ".git"
_GIT_S: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What is not in the copy, each with the reason; whether the history of a git work tree was copied beside; and
    what was read of the copied files, by their paths below the target (empty for the target itself)."""

    left_out: tuple[str, ...]
    seen: Seen
    has_git: bool


def take_in(source: Path, target: Path, git: Path) -> Taken:
    """Copy `source`, a resolved path, to `target`, which does not exist; the history of a git work tree goes to `git`.

    Regular files, folders and links that stay inside are copied; of the permissions only whether a file is executable.
    Raises `Refused("edit_too_large")` past `EDIT_LIMITS`, `OSError` if something cannot be read.
    """
    if source.is_file():
        with opened(source, FILE_FLAGS) as descriptor:
            status, digest = copy_and_digest(descriptor, target, executable=_is_executable(os.fstat(descriptor)))
        return Taken(left_out=(), has_git=False, seen={"": (identity_of(status), digest)})
    has_git = (source / GIT).is_dir()
    if has_git:
        shutil.copytree(source / GIT, git, symlinks=True)
    ignored = _large_ignored(source) if has_git else frozenset[str]()
    with ThreadPoolExecutor(COPIERS) as copiers:
        taking = _Taking(ignored=ignored, copiers=copiers)
        with opened(source, FOLDER_FLAGS) as descriptor:
            taking.folder(descriptor, target, "", 1)
        taking.finish()
    return Taken(left_out=tuple(taking.left_out), has_git=has_git, seen=taking.seen)


@dataclass(slots=True, kw_only=True)
class _Taking:
    """One copy: how much of it there is so far, what was read of it, and what was left out."""

    ignored: frozenset[str]
    copiers: Executor
    busy: deque[Future[None]] = field(default_factory=deque)
    weighing: Lock = field(default_factory=Lock)
    seen: dict[str, tuple[tuple[int, int, int], str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    entries: int = 0
    size_bytes: int = 0

    def folder(self, source: int, target: Path, prefix: str, depth: int) -> None:
        """Copy what the opened folder at `prefix` holds (empty, or ending in `/`)."""
        if depth > EDIT_LIMITS.depth:
            raise Refused("edit_too_large", f"{prefix}: deeper than {EDIT_LIMITS.depth} folders")
        target.mkdir()
        files: list[os.DirEntry[str]] = []
        with os.scandir(source) as listing:
            found = sorted(listing, key=lambda entry: entry.name)
        taken: dict[str, str] = {}
        for entry in found:
            path = prefix + entry.name
            unusable = name_fault(entry.name, prefix, taken, SnapshotLimits().path_bytes)
            if unusable is not None:  # nothing could be judged beside it
                self.left_out.append(f"{path!r} {unusable[0]}")
            elif path in self.ignored:
                self.left_out.append(f"{path}: .gitignore excludes it, and all that it excludes is over 64 MiB")
            elif entry.name != GIT or prefix:
                self._count(path)
                if entry.is_file(follow_symlinks=False):
                    files.append(entry)
                else:
                    self._take(entry, source, target / entry.name, path, depth)
        for at in range(0, len(files), BATCH):
            self._copy(files[at : at + BATCH], source, target, prefix)

    def finish(self) -> None:
        """Wait for what is still copied."""
        while self.busy:
            self.busy.popleft().result()

    def _copy(self, files: Sequence["os.DirEntry[str]"], source: int, target: Path, prefix: str) -> None:
        """Beside what others copy, if they are many; never so many that descriptors run out."""
        if len(files) < BATCH // 4:
            self._files(files, source, target, prefix)
            return
        own = os.dup(source)
        self.busy.append(self.copiers.submit(self._files_of_own, files, own, target, prefix))
        while len(self.busy) > 4 * COPIERS:
            self.busy.popleft().result()

    def _weigh(self, size_bytes: int) -> None:
        with self.weighing:
            self.size_bytes += size_bytes
        if self.size_bytes > EDIT_LIMITS.size_bytes:
            raise Refused("edit_too_large", f"over {EDIT_LIMITS.size_bytes // 1024**3} GiB in all")

    def _files_of_own(self, files: Sequence["os.DirEntry[str]"], source: int, target: Path, prefix: str) -> None:
        try:
            self._files(files, source, target, prefix)
        finally:
            os.close(source)

    def _files(self, files: Sequence["os.DirEntry[str]"], source: int, target: Path, prefix: str) -> None:
        with opened(target, FOLDER_FLAGS) as folder:
            for entry in files:
                self._file(entry.name, source, folder, prefix + entry.name)

    def _count(self, path: str) -> None:
        self.entries += 1
        if self.entries > EDIT_LIMITS.entries:
            raise Refused("edit_too_large", f"{path}: over {EDIT_LIMITS.entries} files and folders")

    def _take(self, entry: "os.DirEntry[str]", source: int, target: Path, path: str, depth: int) -> None:
        if entry.is_symlink():
            leads_to = os.readlink(entry.name, dir_fd=source)
            if stays_inside(path, leads_to):
                target.symlink_to(leads_to)
            else:
                self.left_out.append(f"{path}: a link that may lead outside")
        elif entry.is_dir(follow_symlinks=False):
            if entry.name == GIT:
                self.left_out.append(f"{path}: the history of another project")
                return
            with opened(entry.name, FOLDER_FLAGS, source) as inner:
                self.folder(inner, target, path + "/", depth + 1)
        else:
            self.left_out.append(f"{path}: neither a regular file, a folder nor a link")

    def _file(self, name: str, source: int, folder: int, path: str) -> None:
        with opened(name, FILE_FLAGS, source) as descriptor:
            status = os.fstat(descriptor)
            self._weigh(status.st_size)
            copied, digest = copy_and_digest(descriptor, name, executable=_is_executable(status), folder=folder)
            self.seen[path] = (identity_of(copied), digest)


def _is_executable(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_IXUSR)


_QUIET: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*")
"""A project's own settings are a stranger's words: nothing that git could be told to start by them is started."""


def ask_git(folder: Path, words: Sequence[str], timeout_s: int) -> "subprocess.CompletedProcess[bytes] | None":
    """What it answers there, without a lock taken for a look; None without git. Raises `TimeoutExpired`."""
    git = shutil.which("git")
    if git is None:
        return None
    return subprocess.run(  # noqa: S603 - no shell; the words are ours, or stand behind `--`
        [git, *_QUIET, "-C", str(folder), *words],
        capture_output=True,
        timeout=timeout_s,
        check=False,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        stdin=subprocess.DEVNULL,
    )


def _large_ignored(source: Path) -> frozenset[str]:
    """What `.gitignore` excludes, as the paths that git names, if it is over `IGNORED_BYTES_MAX` in all."""
    listing = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    done = ask_git(source, listing, _GIT_S)
    paths = [os.fsdecode(path).rstrip("/") for path in done.stdout.split(b"\0") if path] if done else []
    size_bytes = 0
    for path in paths:
        for one in statuses(source / path):
            size_bytes += one.st_size
            if size_bytes > IGNORED_BYTES_MAX:
                return frozenset(paths)
    return frozenset()


def statuses(path: Path) -> Iterator[os.stat_result]:
    """Of all files below a folder, or of what else is there."""
    if path.is_dir() and not path.is_symlink():
        for folder, _, names in os.walk(path):
            yield from (os.lstat(os.path.join(folder, name)) for name in names)  # noqa: PTH118 - many of them
    elif os.path.lexists(path):
        yield path.lstat()
