"""Snapshots kept so that they can be judged again, without filling the disk.

Content is stored once, under its digest. When there is too much of it, the content that only the oldest listings need
goes; the listings themselves stay, and say what was there.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from earnest.effects.hands.workspace.snapshot import Snapshot, SnapshotEntry, created, listing_digest
from earnest.foundation.canonical import JsonValue, digest_bytes
from earnest.foundation.errors import Broken, Refused

_PREFIX: Final = "sha256:"


class KeptFiles:
    """The store in one folder; several processes may write it. At most about `size_bytes_max` are kept."""

    def __init__(self, folder: Path, size_bytes_max: int) -> None:
        self._folder = folder
        self._size_bytes_max = size_bytes_max
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def keep(self, snapshot: Snapshot) -> None:
        """Keep the content of every file of a snapshot. Raises `Broken` if it is not what was taken in."""
        for entry in snapshot.entries:
            if not self._place(entry.digest).exists():
                self._add(snapshot.folder / entry.path, entry)

    def restore(self, entries: Sequence[SnapshotEntry], folder: Path) -> Snapshot:
        """The snapshot with these entries, laid out in `folder`, which must not exist yet.

        Raises `Refused("evidence_gone")` if content is no longer kept, `Broken` if it is not what it was.
        """
        folder.mkdir(mode=0o700, parents=True)
        for entry in entries:
            try:
                data = self._place(entry.digest).read_bytes()
            except FileNotFoundError:
                raise Refused("evidence_gone", f"the content of {entry.path} is no longer kept") from None
            if digest_bytes(data) != entry.digest:
                raise Broken(f"the kept content of {entry.path} is not what it was")
            with created(folder / entry.path, entry.mode_executable) as copy:
                copy.write(data)
        return Snapshot(entries=tuple(entries), digest=listing_digest(tuple(entries)), folder=folder)

    def tidy(self, newest_first: Iterator[Sequence[SnapshotEntry]]) -> None:
        """Remove what the newest listings, as many as fit, do not need. Nothing happens while there is room."""
        if sum(path.stat().st_size for path in self._folder.iterdir()) <= self._size_bytes_max:
            return
        needed: set[str] = set()
        size_bytes = 0
        for entries in newest_first:
            fresh = {entry.digest: entry.size_bytes for entry in entries if entry.digest not in needed}
            size_bytes += sum(fresh.values())
            if size_bytes > self._size_bytes_max:
                break
            needed |= fresh.keys()
        for path in self._folder.iterdir():
            if _PREFIX + path.name not in needed:
                path.unlink(missing_ok=True)

    def forget(self, digests: Iterable[str]) -> None:
        """Remove these contents, as far as they are there."""
        for digest in digests:
            self._place(digest).unlink(missing_ok=True)

    def _place(self, digest: str) -> Path:
        return self._folder / digest.removeprefix(_PREFIX)

    def _add(self, source: Path, entry: SnapshotEntry) -> None:
        data = source.read_bytes()
        if digest_bytes(data) != entry.digest:
            raise Broken(f"the copy of {entry.path} is not what was taken in")
        handle, half = tempfile.mkstemp(dir=self._folder, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(half).replace(self._place(entry.digest))
        except BaseException:
            Path(half).unlink(missing_ok=True)
            raise


def entries_from_json(value: JsonValue) -> tuple[SnapshotEntry, ...]:
    """The inverse of `snapshot.entries_to_json`. Raises `Broken` for anything else."""
    if not isinstance(value, list):
        raise Broken("not a listing")
    return tuple(_entry(row) for row in value)


def _entry(row: JsonValue) -> SnapshotEntry:
    match row:
        case [str(path), int(size_bytes), str(digest), bool(executable)] if not {"", ".", ".."} & set(path.split("/")):
            return SnapshotEntry(path=path, size_bytes=size_bytes, digest=digest, mode_executable=executable)
    raise Broken("not a listing")
