"""Where the contents of artifacts lie: a folder, or whatever else keeps bytes by a name."""

import hashlib
import os
import re
from pathlib import Path
from threading import Lock
from typing import IO, Final, Protocol

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.durable import sync_folder
from earnest.foundation.errors import Broken, Refused

LEFT_S: Final = 3_600
"""How long what others may be about to name is left: longer than a request takes from its first byte to its answer."""
LOOK_BYTES: Final = 1024 * 1024
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})", re.ASCII)


class Shelf(Protocol):
    """Contents by their digests. Nothing here looks at what they hold: the store does."""

    is_shared: bool
    """Whether other processes put here, too: then only what has lain for a while is removed."""

    def keep(self, half: Path, sha256: str) -> None:
        """Take what a synced file holds under its digest; durable when it returns. The file may go with it."""

    def open(self, sha256: str) -> IO[bytes]:
        """A content from its beginning. Raises `FileNotFoundError` where there is none."""

    def lying(self, number: int) -> list[str]:
        """The digests that begin with one of the 256 bytes."""

    def remove(self, sha256: str) -> bool:
        """Remove a content that nobody names; True unless it stays for now."""


def halves(sha256: str) -> tuple[str, str]:
    """A digest in two parts, of which the first is a folder. Raises `FileNotFoundError` for what is none."""
    match = _DIGEST.fullmatch(sha256)
    if match is None:
        raise FileNotFoundError(f"{sha256[:80]!r} is no digest")
    return match[1], match[2]


def opened(shelf: Shelf, sha256: str) -> IO[bytes]:
    """A content as it lies. Raises `Refused("not_found")` for what is no digest or is not here."""
    try:
        return shelf.open(sha256)
    except FileNotFoundError:
        raise Refused("not_found", f"there is no artifact {sha256[:80]!r}") from None


def checked(shelf: Shelf, sha256: str) -> IO[bytes]:
    """A content as a file, after a look at all of it; whoever gets it closes it.

    Raises `Refused` as `opened` does, `Broken` for what is not what it was.
    """
    file = opened(shelf, sha256)
    found = hashlib.sha256()
    while part := file.read(LOOK_BYTES):
        found.update(part)
    if f"sha256:{found.hexdigest()}" != sha256:
        file.close()
        raise changed(sha256)
    file.seek(0)
    return file


def changed(sha256: str) -> Broken:
    """What is raised for a content that has another digest by now."""
    return Broken(f"the kept artifact {sha256} is not what it was")


class FolderShelf:
    """Files of one folder. Raises `OSError`."""

    def __init__(self, folder: Path, *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        self._folder = folder
        self._making = Lock()

    def keep(self, half: Path, sha256: str) -> None:
        """See `Shelf.keep`."""
        place = self._place(sha256)
        half.chmod(0o400)
        with self._making:  # a folder that is there is on the disk
            if not place.parent.is_dir():
                place.parent.mkdir(mode=0o700)
                sync_folder(self._folder)
        half.replace(place)
        sync_folder(place.parent)

    def open(self, sha256: str) -> IO[bytes]:
        """See `Shelf.open`."""
        return os.fdopen(os.open(self._place(sha256), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")

    def lying(self, number: int) -> list[str]:
        """See `Shelf.lying`."""
        half = f"{number:02x}"
        try:
            return [f"sha256:{half}{path.name}" for path in (self._folder / half).iterdir()]
        except FileNotFoundError:
            return []

    def remove(self, sha256: str) -> bool:
        """See `Shelf.remove`: where it is shared, not what was put within the last hour."""
        place = self._place(sha256)
        if (
            self.is_shared
            and place.exists()
            and SystemClock().now_ms() - place.stat().st_mtime * 1_000 < LEFT_S * 1_000
        ):
            return False
        place.unlink(missing_ok=True)
        return True

    def _place(self, sha256: str) -> Path:
        return self._folder.joinpath(*halves(sha256))
