"""What was handed in: a folder is read once, and a private copy and its digest are judged from then on."""

import hashlib
import os
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, TypeAlias

from earnest.effects.hands.workspace.tree import FILE_FLAGS, FOLDER_FLAGS, identity_of, opened, stays_inside
from earnest.foundation.canonical import JsonValue, digest_of
from earnest.foundation.errors import Refused

PROBLEMS_SHOWN_MAX: Final = 20
_CHUNK_BYTES: Final = 1024 * 1024
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


Seen: TypeAlias = Mapping[str, tuple[tuple[int, int, int], str]]
"""Inode, mtime and ctime of files by path, and the digest that each had. No program can set a ctime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLimits:
    """Bounds of what is taken in. Files and folders count together; a path is measured in UTF-8 bytes."""

    files: int = 10_000
    size_bytes: int = 256 * 1024 * 1024
    depth: int = 32
    path_bytes: int = 1_024
    links: bool = False
    """Take links that stay inside as they are, for a user's own project; else they are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotEntry:
    """One regular file; `path` is relative, with `/`."""

    path: str
    size_bytes: int
    digest: str
    mode_executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Entries in order of path, the digest of their listing, and the folder that holds the copy.

    With `seen` it is no copy but a folder that is kept from changing: what it says need not be read again.
    """

    entries: tuple[SnapshotEntry, ...]
    digest: str
    folder: Path
    seen: Seen = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    """Where each link leads, by its path."""

    def entry(self, path: str) -> SnapshotEntry | None:
        """The file at a path."""
        return next((entry for entry in self.entries if entry.path == path), None)


def take_snapshot(
    folder: Path, destination: Path | None, limits: SnapshotLimits | None = None, seen: Seen | None = None
) -> Snapshot:
    """Copy the regular files of `folder` into `destination`, which must not exist yet, and say what they are.

    Without one nothing is copied: the folder is one that nobody else can reach. What was `seen` before, and is the same
    file still, is not read again.

    Empty folders are no content. Files are opened through descriptors of their folders and never through a link, so
    what is swapped while we read cannot lead outside. Raises `Refused("snapshot_refused")` naming every path that is
    no plain file, has a second name on disk, has an unusable name, or has the name of another after NFKC and case
    folding; a passed limit ends the reading at once.
    """
    if destination is not None:
        destination.mkdir(mode=0o700, parents=True)
    intake = _Intake(limits or SnapshotLimits(), destination, seen or {})
    with ExitStack() as stack:
        try:
            root = stack.enter_context(opened(folder, FOLDER_FLAGS))
        except OSError as error:
            raise Refused("snapshot_refused", f"{folder} is not a folder that can be read: {error.strerror}") from None
        intake.read_folder(root, "", depth=1)
    if intake.problems:
        raise _refusal(intake.problems)
    entries = tuple(sorted(intake.entries, key=lambda entry: entry.path))
    return Snapshot(
        entries=entries,
        digest=listing_digest(entries, intake.links),
        folder=destination or folder,
        seen=seen or {},
        links=dict(intake.links),
    )


def is_intact(snapshot: Snapshot, limits: SnapshotLimits | None = None) -> bool:
    """True if the copy still holds exactly what was taken in, and nothing else."""
    try:
        return take_snapshot(snapshot.folder, None, limits, snapshot.seen).digest == snapshot.digest
    except (Refused, OSError):
        return False


def listing_digest(entries: tuple[SnapshotEntry, ...], links: Sequence[tuple[str, str]] = ()) -> str:
    """The digest of the canonical listing: path, size, digest and executable bit of each file, and where links lead."""
    files = entries_to_json(entries)
    leading: list[JsonValue] = [[path, target] for path, target in sorted(links)]
    return digest_of([files, leading] if leading else files)


def entries_to_json(entries: Sequence[SnapshotEntry]) -> JsonValue:
    """A listing as it is kept and digested: path, size, digest and executable bit of each file."""
    return [[entry.path, entry.size_bytes, entry.digest, entry.mode_executable] for entry in entries]


def _refusal(problems: list[str]) -> Refused:
    shown = problems[:PROBLEMS_SHOWN_MAX]
    more = len(problems) - len(shown)
    return Refused("snapshot_refused", "; ".join([*shown, f"and {more} more"] if more else shown))


class _Intake:
    """One walk. Reads every file, and writes it below `destination` if there is one."""

    def __init__(self, limits: SnapshotLimits, destination: Path | None, seen: Seen) -> None:
        self._seen_before = seen
        self.entries: list[SnapshotEntry] = []
        self.problems: list[str] = []
        self.links: list[tuple[str, str]] = []
        self._limits = limits
        self._destination = destination
        self._seen = 0
        self._size_bytes = 0

    def read_folder(self, folder: int, prefix: str, depth: int) -> None:
        if depth > self._limits.depth:
            raise Refused("snapshot_refused", f"{prefix!r} lies deeper than {self._limits.depth} folders")
        taken: dict[str, str] = {}
        for name in self._names(folder):
            path = prefix + name
            unusable = name_fault(name, prefix, taken, self._limits.path_bytes)
            fault = ": ".join(unusable) if unusable else self._read_entry(folder, name, path, depth)
            if fault is not None:
                self.problems.append(f"{path!r} {fault}")

    def _names(self, folder: int) -> list[str]:
        names = []
        with os.scandir(folder) as found:
            for entry in found:
                self._seen += 1
                if self._seen > self._limits.files:
                    raise Refused("snapshot_refused", f"more than {self._limits.files} files and folders")
                names.append(entry.name)
        return sorted(names)

    def _read_entry(self, folder: int, name: str, path: str, depth: int) -> str | None:
        """Take in one entry; answers what is wrong with it."""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            mode = status.st_mode
            if self._is_known(path, status):
                return None
            if stat.S_ISDIR(mode):
                with opened(name, FOLDER_FLAGS, folder) as child:
                    self.read_folder(child, path + "/", depth + 1)
                return None
            if stat.S_ISLNK(mode) and self._limits.links:
                return self._read_link(folder, name, path)
            if not stat.S_ISREG(mode):
                return "is " + next((word for is_kind, word in _KINDS if is_kind(mode)), "no regular file")
            handle = os.open(name, FILE_FLAGS, dir_fd=folder)
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        try:
            return self._read_file(handle, path)
        finally:
            os.close(handle)

    def _is_known(self, path: str, status: os.stat_result) -> bool:
        """True if the file was seen before, and is taken in without being read."""
        identity, digest = self._seen_before.get(path, (None, ""))
        if identity != identity_of(status) or status.st_nlink != 1:
            return False
        self._weigh(status.st_size)
        self._add(path, status.st_size, digest, executable=bool(status.st_mode & stat.S_IXUSR))
        return True

    def _weigh(self, size_bytes: int) -> None:
        self._size_bytes += size_bytes
        if self._size_bytes > self._limits.size_bytes:
            raise Refused("snapshot_refused", f"more than {self._limits.size_bytes} bytes")

    def _add(self, path: str, size_bytes: int, digest: str, *, executable: bool) -> None:
        self.entries.append(SnapshotEntry(path=path, size_bytes=size_bytes, digest=digest, mode_executable=executable))

    def _read_link(self, folder: int, name: str, path: str) -> str | None:
        target = os.readlink(name, dir_fd=folder)
        if not stays_inside(path, target):
            return "is a link that may lead outside"
        if self._destination is not None:
            place = self._destination / path
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.symlink_to(target)
        self.links.append((path, target))
        return None

    def _read_file(self, handle: int, path: str) -> str | None:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return "changed while it was read"
        if status.st_nlink != 1:
            return "has a second name on disk (a hard link)"
        executable = bool(status.st_mode & stat.S_IXUSR)
        digest, size_bytes = hashlib.sha256(), 0
        copying = nullcontext() if self._destination is None else created(self._destination / path, executable)
        with copying as copy:
            while chunk := os.read(handle, _CHUNK_BYTES):
                size_bytes += len(chunk)
                self._weigh(len(chunk))
                digest.update(chunk)
                if copy is not None:
                    copy.write(chunk)
        self._add(path, size_bytes, "sha256:" + digest.hexdigest(), executable=executable)
        return None


def created(target: Path, executable: bool) -> IO[bytes]:
    """A new file for us alone, with the folders above it. Raises `OSError`."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(target, flags, 0o700 if executable else 0o600), "wb")


def folded(name: str) -> str:
    """What a name becomes for a file system that tells neither case nor forms of a character apart."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def name_fault(name: str, prefix: str, taken: dict[str, str], path_bytes_max: int) -> tuple[str, str] | None:
    """Why nothing that stands there can be judged, and what mends it; None if it can. It joins the `taken` names."""
    path, twin = prefix + name, taken.setdefault(folded(name), name)
    try:
        size_bytes = len(path.encode())
    except UnicodeEncodeError:
        return "has a name that is not UTF-8", "rename it"
    if not name.isprintable() and any(unicodedata.category(character) == "Cc" for character in name):
        return "has a control character in its name", "rename it"
    if size_bytes > path_bytes_max:
        return f"is longer than {path_bytes_max} bytes", "rename it"
    return (f"cannot be told from {prefix + twin!r} everywhere", "rename one of them") if twin != name else None
