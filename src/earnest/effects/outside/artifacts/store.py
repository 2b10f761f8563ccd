"""The store of artifacts: each content once, named by its digest alone, and looked at whenever it is read."""

import fcntl
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from earnest.effects.ground.durable import sync_folder
from earnest.effects.ground.threads import in_thread
from earnest.effects.outside.artifacts.shelf import FolderShelf, Shelf, changed, checked, opened
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused, Unavailable

MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactLimits:
    """`item_bytes` of one artifact, `owner_bytes` of all that one account has brought."""

    item_bytes: int = 64 * MEBIBYTE
    owner_bytes: int = 1024 * MEBIBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was put: `sha256:` and 64 hexadecimal digits, and how long it is."""

    sha256: str
    size_bytes: int


class ArtifactStore:
    """The store: what comes is gathered and hashed in `folder`, and kept on the shelf, by default that of the folder.

    A folder is held by the one process that writes the books beside it.
    """

    def __init__(self, folder: Path, limits: ArtifactLimits | None = None, shelf: Shelf | None = None) -> None:
        self.limits = limits or ArtifactLimits()
        self.shelf: Final = shelf or FolderShelf(folder)
        self._expected: Counter[str] = Counter()
        self._held: Counter[str] = Counter()
        self._doubts: list[list[str]] = [[], []]
        self._arriving = folder / "arriving"
        self._arriving.mkdir(mode=0o700, parents=True, exist_ok=True)
        _clear(self._arriving)
        sync_folder(folder)

    async def put(
        self, content: bytes | AsyncIterator[bytes], bytes_max: int | None = None, *, held: list[str] | None = None
    ) -> Stored:
        """Keep a content; it is on the disk when this returns. The same content again changes nothing.

        Its digest is added to `held` and is not collected until that is given to `let_go` or `doubt`.
        Raises `Refused("too_large")` past `bytes_max` (never more than the limit of an item), `Unavailable` where the
        disk or the shelf takes no more. Cut off, nothing stays; cancelled, at most the whole, to be collected.
        """
        limit = self.limits.item_bytes if bytes_max is None else min(bytes_max, self.limits.item_bytes)
        try:
            if isinstance(content, bytes):
                _check_fits(len(content), limit)
                stored = Stored(sha256=digest_bytes(content), size_bytes=len(content))
                self._hold(stored.sha256, held)
                await in_thread(self._keep, content, stored.sha256)
            else:
                with self._half() as (file, half):
                    stored = await _write(file, content, limit)
                    self._hold(stored.sha256, held)
                    await in_thread(self._settle, file, half, stored.sha256)
        except OSError as error:
            raise Unavailable(f"the artifact could not be kept: {error.strerror or error}") from error
        return stored

    def let_go(self, held: Iterable[str], is_named: Callable[[str], bool]) -> None:
        """What was held is held no more, and what of it nobody names is removed, now or by the next sweep."""
        for sha256 in held:
            self._held[sha256] -= 1
            if not self.shelf.is_shared:
                with suppress(OSError):  # collected later
                    self.collect(sha256, is_named)
        self._held += Counter()

    def doubt(self, held: Iterable[str]) -> None:
        """Hold on to what may yet come to be named: until the second `forget_doubts` from now."""
        self._doubts[-1].extend(held)

    def forget_doubts(self) -> None:
        """Let go of what was in doubt at the last call already, removing nothing."""
        self._held.subtract(self._doubts[0])
        self._held += Counter()
        self._doubts = [self._doubts[1], []]

    def lying(self, number: int) -> list[str]:
        """The digests of what lies in one of the 256 parts. Raises `Unavailable` for a shelf that cannot be read."""
        try:
            return self.shelf.lying(number)
        except OSError as error:
            raise Unavailable(f"the artifacts cannot be looked at: {error.strerror or error}") from error

    def collect(self, sha256: str, is_named: Callable[[str], bool]) -> bool:
        """Remove a content that nobody holds or names; True where it was removed. In the event loop's thread only.

        Nothing comes between the question and the removal, and whoever puts the same again holds it first.
        """
        if self._held[sha256] > 0 or is_named(sha256):
            return False
        try:
            return self.shelf.remove(sha256)
        except FileNotFoundError:  # no digest
            return False

    @contextmanager
    def expecting(self, owner: str, room_bytes: int, size_bytes: int) -> Iterator[int]:
        """Lay aside what `owner` sends now: as much of `size_bytes` as other sendings of theirs leave of `room_bytes`.

        Raises `Refused("limit_reached")` where they leave nothing.
        """
        left = room_bytes - self._expected[owner]
        if left <= 0:
            raise Refused("limit_reached", f"an account may bring {self.limits.owner_bytes} bytes in all")
        expected = min(size_bytes, left, self.limits.item_bytes)
        self._expected[owner] += expected
        try:
            yield expected
        finally:
            self._expected[owner] -= expected
            self._expected += Counter()  # whoever sends nothing now is forgotten

    def read(self, sha256: str) -> bytes:
        """The content. Raises as `open` does."""
        with opened(self.shelf, sha256) as file:
            content = file.read()
        if digest_bytes(content) != sha256:
            raise changed(sha256)
        return content

    def open(self, sha256: str) -> IO[bytes]:
        """See `checked`."""
        return checked(self.shelf, sha256)

    def _hold(self, sha256: str, held: list[str] | None) -> None:
        """Before it lies there."""
        if held is not None:
            held.append(sha256)
            self._held[sha256] += 1

    def _keep(self, content: bytes, sha256: str) -> None:
        with self._half() as (file, half):
            file.write(content)
            self._settle(file, half, sha256)

    @contextmanager
    def _half(self) -> Iterator[tuple[IO[bytes], Path]]:
        """A file for what arrives, and where it lies: gone at the end, unless it is settled."""
        handle, name = tempfile.mkstemp(dir=self._arriving)
        half = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                fcntl.flock(handle, fcntl.LOCK_EX)
                yield file, half
        finally:
            half.unlink(missing_ok=True)

    def _settle(self, file: IO[bytes], half: Path, sha256: str) -> None:
        """The content on the disk, then under its name."""
        file.flush()
        os.fsync(file.fileno())
        self.shelf.keep(half, sha256)


async def _write(file: IO[bytes], content: AsyncIterator[bytes], limit: int) -> Stored:
    """Everything into the open file."""
    digest, size_bytes = hashlib.sha256(), 0
    async for part in content:
        size_bytes += len(part)
        _check_fits(size_bytes, limit)
        digest.update(part)
        file.write(part)
    return Stored(sha256=f"sha256:{digest.hexdigest()}", size_bytes=size_bytes)


def _check_fits(size_bytes: int, limit: int) -> None:
    if size_bytes > limit:
        raise Refused("too_large", f"an artifact has at most {limit} bytes here")


def _clear(arriving: Path) -> None:
    """Remove what a crash cut off: whoever still writes a file holds its lock."""
    for half in arriving.iterdir():
        with suppress(FileNotFoundError, BlockingIOError), half.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            half.unlink()
