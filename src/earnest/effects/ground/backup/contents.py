"""Contents by their SHA-256, each once, in files that are named by it: what was written before is not written again."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from earnest.effects.ground.backup.manifest import SavedFile
from earnest.effects.ground.durable import sync_folder
from earnest.effects.ground.locks import folder_alone
from earnest.foundation.errors import Refused, Unavailable

PART_BYTES: Final = 4 * 1024 * 1024
"""Of large files: what of the books did not change between two backups is kept once."""
SYNC_AT_ONCE_BYTES: Final = 1024 * 1024
_ARRIVING: Final = "arriving"

Moved = Callable[[int], None]
"""Told how many bytes were read or written; may take its time."""


class Contents:
    """The store in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written_bytes = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Alone: what a killed writer left is removed. Raises `Unavailable` while another process writes."""
        arriving = self._folder / _ARRIVING
        arriving.mkdir(mode=0o700, parents=True, exist_ok=True)
        with folder_alone(arriving, f"another process writes to {self._folder}"):
            for half in arriving.iterdir():
                half.unlink()
            yield

    def take(self, source: IO[bytes], path: str, size_bytes: int | None, moved: Moved) -> SavedFile:
        """Keep what an open file holds, or its first `size_bytes`. Raises `OSError`."""
        status = os.fstat(source.fileno())
        whole, parts, left = hashlib.sha256(), list[str](), status.st_size if size_bytes is None else size_bytes
        while part := source.read(min(PART_BYTES, left)):
            left -= len(part)
            whole.update(part)
            parts.append(self._put(part))
            moved(len(part))
        return SavedFile(
            path=path,
            mode=status.st_mode & 0o777,
            mtime_us=status.st_mtime_ns // 1_000,
            size_bytes=source.tell(),
            sha256=whole.hexdigest(),
            parts=tuple(parts),
        )

    def lay_out(self, file: SavedFile, target: Path, moved: Moved) -> None:
        """Write a file anew, every part and the whole held against their digests.

        Raises `Refused`: `backup_incomplete`, `backup_damaged`, with the place; and `OSError`.
        """
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            for part in self.read(file):
                out.write(part)
                moved(len(part))
            os.fchmod(out.fileno(), file.mode)
        os.utime(target, ns=(file.mtime_us * 1_000, file.mtime_us * 1_000), follow_symlinks=False)

    def read(self, file: SavedFile) -> Iterator[bytes]:
        """The parts of a file, each checked before it is given. Raises as `lay_out`."""
        whole, size_bytes = hashlib.sha256(), 0
        for digest in file.parts:
            place = self.place(digest)
            try:
                part = place.read_bytes()
            except FileNotFoundError:
                raise Refused("backup_incomplete", f"{place}, a part of {file.path}, is missing") from None
            if hashlib.sha256(part).hexdigest() != digest:
                raise Refused("backup_damaged", f"{place}, a part of {file.path}, is not what was written")
            whole.update(part)
            size_bytes += len(part)
            yield part
        if (whole.hexdigest(), size_bytes) != (file.sha256, file.size_bytes):
            raise Refused("backup_damaged", f"the parts of {file.path} do not make up what was written")

    def place(self, digest: str) -> Path:
        """Where a content lies."""
        return self._folder / digest[:2] / digest[2:]

    def lying(self) -> Iterator[str]:
        """The digests of all that is kept."""
        for half in self._folder.glob("[0-9a-f][0-9a-f]"):
            yield from (half.name + path.name for path in half.iterdir())

    def _put(self, part: bytes) -> str:
        """Written aside, read back, renamed. A part that is there already is taken for what its name says."""
        digest = hashlib.sha256(part).hexdigest()
        place = self.place(digest)
        with suppress(FileNotFoundError):
            if place.stat().st_size == len(part):
                return digest
        place.parent.mkdir(mode=0o700, exist_ok=True)
        handle, half = tempfile.mkstemp(dir=self._folder / _ARRIVING)
        try:
            with os.fdopen(handle, "w+b") as file:
                file.write(part)
                file.flush()
                if len(part) >= SYNC_AT_ONCE_BYTES:  # smaller ones go to the disk together, before the manifest
                    os.fsync(file.fileno())
                file.seek(0)
                _check(file.read(), digest, half)
            Path(half).replace(place)
        except BaseException:
            Path(half).unlink(missing_ok=True)
            raise
        self.written_bytes += len(part)
        return digest

    def sync(self) -> None:
        """Everything on the disk, names included. Raises `OSError`."""
        os.sync()
        sync_folder(self._folder)


def _check(part: bytes, digest: str, half: str) -> None:
    if hashlib.sha256(part).hexdigest() != digest:
        raise Unavailable(f"{half}: the disk does not hold what was written to it")
