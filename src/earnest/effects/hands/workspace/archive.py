"""Submissions that are archives: unpacked by our own member loop, then taken in like a folder.

Only what every reader unpacks alike is unpacked: regular files and folders with plain names, once each. Whatever
two readers could see differently is refused, and so is more data than the limits of a snapshot allow.
"""

import bz2
import gzip
import lzma
import os
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from earnest.effects.hands.workspace.members import ArchiveMember, Metered, refused
from earnest.effects.hands.workspace.snapshot import Snapshot, SnapshotLimits, created, folded, take_snapshot
from earnest.effects.hands.workspace.tar_members import is_tar, tar_members
from earnest.effects.hands.workspace.zip_members import is_zip, zip_members

_HEAD_BYTES: Final = 512
_PACKED: Final[dict[bytes, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"


def take_submission(path: Path, destination: Path, limits: SnapshotLimits | None = None) -> Snapshot:
    """Take in a folder, or a tar (plain, gzip, bzip2, xz) or zip archive of one: the same content, the same snapshot.

    Archives within an archive are files like any other. Raises `Refused("snapshot_refused")`, see `take_snapshot`.
    """
    limits = limits or SnapshotLimits()
    if path.is_symlink() or not path.is_file():
        return take_snapshot(path, destination, limits)
    unpacked = destination.with_name(destination.name + ".unpacked")
    unpack(path, unpacked, limits)
    return take_snapshot(unpacked, destination, limits)


def unpack(archive: Path, destination: Path, limits: SnapshotLimits) -> None:
    """Unpack into `destination`, which must not exist yet. The first thing that is wrong ends it: `Refused`."""
    destination.mkdir(mode=0o700, parents=True)
    names = _Names(limits)
    with os.fdopen(os.open(archive, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        for member in _members(file, limits):
            path = names.accept(member)
            if path and member.is_folder:
                (destination / path).mkdir(mode=0o700, parents=True, exist_ok=True)
            elif path:
                with created(destination / path, member.executable) as copy:
                    copy.writelines(member.chunks)


def _members(file: IO[bytes], limits: SnapshotLimits) -> Iterator[ArchiveMember]:
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    if is_zip(head):
        return zip_members(file, limits)
    if head.startswith(_ZSTANDARD):
        raise refused("it is packed with Zstandard: use gzip, bzip2, xz or zip")
    if is_tar(head):
        return tar_members(Metered(file, file, limits.size_bytes))
    for magic, unpacked in _PACKED.items():
        if head.startswith(magic):
            return tar_members(Metered(unpacked(file), file, limits.size_bytes))
    raise refused("it is neither a folder nor a tar or zip archive")


class _Names:
    """Which names were seen. A name must be plain, new, and unlike every other after NFKC and case folding."""

    def __init__(self, limits: SnapshotLimits) -> None:
        self._limits = limits
        self._spelling: dict[str, str] = {}
        self._files: set[str] = set()
        self._members = 0
        self._size_bytes = 0

    def accept(self, member: ArchiveMember) -> str:
        """The path of a member below the root, empty for the root itself."""
        self._members += 1
        self._size_bytes += member.size_bytes
        if self._members > self._limits.files:
            raise refused(f"more than {self._limits.files} members")
        if self._size_bytes > self._limits.size_bytes:
            raise refused(f"more than {self._limits.size_bytes} bytes")
        path = member.name.removeprefix("./")
        if member.is_folder:
            path = path.removesuffix("/")
        if member.is_folder and path in {"", "."}:
            return ""
        if fault := _name_fault(path, self._limits):
            raise refused(f"{member.name[:200]!r} {fault}")
        self._remember(path, is_folder=member.is_folder)
        return path

    def _remember(self, path: str, *, is_folder: bool) -> None:
        parts = path.split("/")
        above = ["/".join(parts[:at]) for at in range(1, len(parts))]
        for each in (*above, path):
            spelling = self._spelling.get(folded(each), each)
            if spelling != each:
                raise refused(f"{each!r} cannot be told from {spelling!r}")
        if self._files.intersection((*above, path)) or (not is_folder and folded(path) in self._spelling):
            raise refused(f"{path!r} is there twice")
        for each in (*above, path):
            self._spelling[folded(each)] = each
        if not is_folder:
            self._files.add(path)


def _name_fault(path: str, limits: SnapshotLimits) -> str | None:
    parts = path.split("/")
    is_drive = len(path) > 1 and path[1] == ":" and path[0].isascii() and path[0].isalpha()
    rows = (
        (path.startswith("/") or is_drive, "is an absolute path"),
        (any(part in {"", ".", ".."} for part in parts), "has an empty part, '.' or '..' in its path"),
        ("\\" in path, "has a backslash in its name"),
        (any(unicodedata.category(one) in {"Cc", "Cs"} for one in path), "has a control character in its name"),
        (any(part.endswith((".", " ")) for part in parts), "has a part that ends with a dot or a space"),
        (len(parts) > limits.depth, f"lies deeper than {limits.depth} folders"),
        (len(path.encode(errors="replace")) > limits.path_bytes, f"is longer than {limits.path_bytes} bytes"),
    )
    return next((fault for is_so, fault in rows if is_so), None)
