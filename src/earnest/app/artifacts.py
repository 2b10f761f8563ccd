"""The store of artifacts of a data directory: in it, or where the settings say."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO, Final

from earnest.app import places
from earnest.app.judging_settings import ADDRESSES, FILE_NAME, JudgingSettings, artifacts_in
from earnest.app.tables import SettingsFile
from earnest.effects.ground.storage.place import Books, ServerBooks, home_of
from earnest.effects.ground.storage.reader import BooksReader, read_once
from earnest.effects.outside.artifacts.shelf import FolderShelf, Shelf, checked
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.foundation.errors import Refused
from earnest.market.service import ARTIFACTS

FOLDER: Final = "folder"
PART_BYTES: Final = 1024 * 1024


def artifact_store(settings: JudgingSettings) -> ArtifactStore:
    """The store under these settings. Raises `Unavailable` where what speaks S3 is not installed."""
    shelf = shelf_at(
        settings.home,
        settings.artifacts,
        settings.artifacts_endpoint,
        is_shared=isinstance(settings.books, ServerBooks),  # then others bring, too
    )
    return ArtifactStore(places.artifacts(settings.home), shelf=shelf)


def shelf_in(home: Path, environment: Mapping[str, str]) -> Shelf:
    """Where they lie, for who only reads them."""
    return shelf_at(home, *artifacts_in(SettingsFile(home / FILE_NAME), environment))


def shelf_at(home: Path, address: str, endpoint: str, *, is_shared: bool = False) -> Shelf:
    """The shelf of a place: `address` is empty for the data directory, else `s3://BUCKET[/PREFIX]`."""
    if not address:
        return FolderShelf(places.artifacts(home), is_shared=is_shared)
    from earnest.effects.outside.artifacts.s3 import S3Shelf, s3_place  # noqa: PLC0415 - of an extra

    return S3Shelf(s3_place(address, endpoint))


def named_artifacts(reader: BooksReader) -> frozenset[str]:
    """The digests of all artifacts that somebody has brought."""
    return frozenset(row.sha256 for row in ARTIFACTS.where(reader, "1 = 1"))


def copy_artifacts(books: Books, to: str, environment: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Copy what the books name from where it lies to `to`, which is `folder` or `s3://BUCKET[/PREFIX]`.

    What is there is not copied again, and the source is left as it is: called once more, it goes on. How many were
    copied, and the digests of those that are missing. Raises `Refused("bad_place")`, `Broken` for a content that is not
    what it was; `Unavailable`, `OSError`.
    """
    home = home_of(books)
    address = "" if to == FOLDER else to
    if not address.startswith(ADDRESSES["artifacts"] if address else ""):
        raise Refused("bad_place", f"artifacts are copied to {FOLDER} or to an address that begins with s3://")
    source, endpoint = shelf_in(home, environment), artifacts_in(SettingsFile(home / FILE_NAME), environment)[1]
    target = ArtifactStore(places.artifacts(home), shelf=shelf_at(home, address, endpoint))
    return asyncio.run(_copied(source, target, read_once(books, named_artifacts)))


async def _copied(source: Shelf, target: ArtifactStore, named: frozenset[str]) -> tuple[int, tuple[str, ...]]:
    there = {sha256 for number in range(256) for sha256 in target.lying(number)}
    missing: list[str] = []
    copied = 0
    for sha256 in sorted(named - there):
        try:
            file = checked(source, sha256)
        except Refused:
            missing.append(sha256)
            continue
        with file:
            await target.put(_parts(file))
        copied += 1
    return copied, tuple(missing)


async def _parts(file: IO[bytes]) -> AsyncIterator[bytes]:
    while part := file.read(PART_BYTES):
        yield part
