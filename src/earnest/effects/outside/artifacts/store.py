"""The store of artifacts: each content once, in a file that is named by its digest alone."""

import asyncio
import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from earnest.effects.ground.durable import sync_folder
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Broken, Refused, Unavailable

MEBIBYTE: Final = 1024 * 1024
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})", re.ASCII)


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
    """The store in one folder, held by the one process that writes the books beside it."""

    def __init__(self, folder: Path, limits: ArtifactLimits | None = None) -> None:
        self.limits = limits or ArtifactLimits()
        self._folder = folder
        self._expected: Counter[str] = Counter()
        self._held: Counter[str] = Counter()
        self._doubts: list[list[str]] = [[], []]
        self._arriving = folder / "arriving"
        self._arriving.mkdir(mode=0o700, parents=True, exist_ok=True)
        for half in self._arriving.iterdir():  # what a crash cut off
            half.unlink()
        for number in range(256):
            (folder / f"{number:02x}").mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder)

    async def put(
        self, content: bytes | AsyncIterator[bytes], bytes_max: int | None = None, *, held: list[str] | None = None
    ) -> Stored:
        """Keep a content; it is on the disk when this returns. The same content again changes nothing.

        Its digest is added to `held` and is not collected until that is given to `let_go` or `doubt`.
        Raises `Refused("too_large")` past `bytes_max` (never more than the limit of an item), `Unavailable` where the
        disk takes no more. Cancelled or cut off, nothing stays.
        """
        limit = self.limits.item_bytes if bytes_max is None else min(bytes_max, self.limits.item_bytes)
        try:
            handle, half = tempfile.mkstemp(dir=self._arriving)
            try:
                with os.fdopen(handle, "wb") as file:
                    stored = await _write(file, content, limit)
                    if held is not None:  # before it lies there
                        held.append(stored.sha256)
                        self._held[stored.sha256] += 1
                    await asyncio.to_thread(_settle, file, Path(half), self._place(stored.sha256))
            finally:
                _discard(Path(half))
        except OSError as error:
            raise Unavailable(f"the artifact could not be kept: {error.strerror or error}") from error
        return stored

    def let_go(self, held: Iterable[str], is_named: Callable[[str], bool]) -> None:
        """What was held is held no more, and what of it nobody names is removed."""
        for sha256 in held:
            self._held[sha256] -= 1
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
        """The digests of what lies in one of the 256 folders. Raises `Unavailable` for a disk that cannot be read."""
        half = f"{number:02x}"
        try:
            return [f"sha256:{half}{path.name}" for path in (self._folder / half).iterdir()]
        except OSError as error:
            raise Unavailable(f"the artifacts cannot be looked at: {error.strerror or error}") from error

    def collect(self, sha256: str, is_named: Callable[[str], bool]) -> bool:
        """Remove a content that nobody holds or names; True where it was removed. In the event loop's thread only.

        Nothing comes between the question and the removal, and whoever puts the same again holds it first.
        """
        if self._held[sha256] > 0 or _DIGEST.fullmatch(sha256) is None or is_named(sha256):
            return False
        self._place(sha256).unlink(missing_ok=True)
        return True

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
        """The content. Raises as `checked` does."""
        try:
            data = self._place(sha256).read_bytes()
        except FileNotFoundError:
            raise _missing(sha256) from None
        if digest_bytes(data) != sha256:
            raise Broken(f"the kept artifact {sha256} is not what it was")
        return data

    def checked(self, sha256: str) -> Path:
        """The file of a content, after another look at all of it, for those who stream it.

        Raises `Refused("not_found")` for what is no digest or is not here, `Broken` for what is not what it was.
        """
        place = self._place(sha256)
        try:
            with place.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise _missing(sha256) from None
        if f"sha256:{found}" != sha256:
            raise Broken(f"the kept artifact {sha256} is not what it was")
        return place

    def _place(self, sha256: str) -> Path:
        match = _DIGEST.fullmatch(sha256)
        if match is None:
            raise _missing(sha256)
        return self._folder / match[1] / match[2]


async def _write(file: IO[bytes], content: bytes | AsyncIterator[bytes], limit: int) -> Stored:
    """Everything into the open file."""
    digest, size_bytes = hashlib.sha256(), 0
    async for part in _parts(content):
        size_bytes += len(part)
        if size_bytes > limit:
            raise Refused("too_large", f"an artifact has at most {limit} bytes here")
        digest.update(part)
        file.write(part)
    return Stored(sha256=f"sha256:{digest.hexdigest()}", size_bytes=size_bytes)


async def _parts(content: bytes | AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        yield content
    else:
        async for part in content:
            yield part


def _settle(file: IO[bytes], half: Path, place: Path) -> None:
    """The content on the disk, under its name, and its name on the disk."""
    file.flush()
    os.fsync(file.fileno())
    half.chmod(0o400)
    half.replace(place)
    sync_folder(place.parent)


def _discard(half: Path) -> None:
    half.unlink(missing_ok=True)


def _missing(sha256: str) -> Refused:
    return Refused("not_found", f"there is no artifact {sha256[:80]!r}")
