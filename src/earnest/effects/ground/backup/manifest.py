"""What a backup consists of: files by their parts, links and folders, and the state of the books that they are of."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Final, TypeAlias

from earnest.foundation.canonical import canonical_bytes, digest_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.shapes import from_json

FORMAT: Final = "earnest-backup-v1"
MODE_MAX: Final = 0o7777
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """A file: its parts by their SHA-256, in order, and the SHA-256 of the whole. A secret one lies with the keys."""

    path: str
    mode: int
    mtime_us: int
    size_bytes: int
    sha256: str
    parts: tuple[str, ...]
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLink:
    """A symbolic link, which is never followed."""

    path: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFolder:
    """A folder, also an empty one."""

    path: str
    mode: int


Saved: TypeAlias = SavedFile | SavedLink | SavedFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    """One backup. `facts`: the number of the newest fact in it; `version` of the program and `revision` of the tables.

    `left_out` names what could not be taken along: the files of runs that were at work, and what cannot be read.
    """

    id: str
    created_ms: int
    version: str
    revision: str
    facts: int
    files: tuple[SavedFile, ...]
    links: tuple[SavedLink, ...]
    folders: tuple[SavedFolder, ...]
    left_out: tuple[str, ...]

    def parts(self, *, secret: bool) -> Iterator[str]:
        """The contents that it needs, of the keys or of the rest."""
        return (part for file in self.files if file.secret is secret for part in file.parts)


def manifest_bytes(manifest: BackupManifest) -> bytes:
    """The canonical form, and on a second line its own digest."""
    body = canonical_bytes({"format": FORMAT, **asdict(manifest)})
    return body + b"\n" + digest_bytes(body).encode() + b"\n"


def manifest_from(data: bytes, name: str) -> BackupManifest:
    """The inverse. Raises `Refused`: `backup_foreign` for what is no manifest, `backup_damaged` for an altered one."""
    body, _, digest = data.partition(b"\n")
    try:
        given = json.loads(body)
        form = given.pop("format")
    except (ValueError, KeyError, AttributeError, RecursionError):
        raise Refused("backup_foreign", f"{name} is no manifest of a backup") from None
    if form != FORMAT:
        raise Refused("backup_foreign", f"{name} has the format {str(form)[:80]!r}, this program reads {FORMAT}")
    if digest_bytes(body).encode() != digest.strip():
        raise Refused("backup_damaged", f"{name} is not what was written: its digest is wrong")
    try:
        manifest = from_json(BackupManifest, given, name)
    except Broken as broken:
        raise Refused("backup_damaged", str(broken)) from None
    if wrong := next(_faults(manifest), ""):
        raise Refused("backup_damaged", f"{name} cannot be read: {wrong}")
    return manifest


def _faults(manifest: BackupManifest) -> Iterator[str]:
    """What would write elsewhere than below the folder that is restored, or is no content."""
    seen: set[str] = set()
    leaves = {*(file.path for file in manifest.files), *(link.path for link in manifest.links)}
    saved: tuple[Saved, ...] = (*manifest.files, *manifest.links, *manifest.folders)
    for one in saved:
        words = one.path.split("/")
        if {"", ".", ".."} & set(words) or "\0" in one.path or one.path in seen:
            yield f"{one.path[:80]!r} is no place, or named twice"
        if any("/".join(words[:end]) in leaves for end in range(1, len(words))):
            yield f"{one.path[:80]!r} lies below a file or a link"
        seen.add(one.path)
        if not isinstance(one, SavedLink) and not 0 <= one.mode <= MODE_MAX:
            yield f"{one.path[:80]!r} has the mode {one.mode}"
    for file in manifest.files:
        if not all(_SHA256.fullmatch(digest) for digest in (file.sha256, *file.parts)):
            yield f"{file.path[:80]!r} has a part that is no digest"


def named(manifest: BackupManifest, stamp: str) -> BackupManifest:
    """The same with its id: when it was made, and the beginning of its digest."""
    digest = digest_bytes(manifest_bytes(manifest)).removeprefix("sha256:")
    return replace(manifest, id=f"{stamp}-{digest[:8]}")
