"""All that a platform holds of one account, for its owner: its rows, and the artifacts that it brought."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, cast

from earnest.app import places
from earnest.effects.ground.durable import put_file
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.outside.artifacts.shelf import Shelf, checked
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_bytes, digest_bytes
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.views.accounts import account_called, document_of

FILE_NAME: Final = "account.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written: rows by table, and how many artifacts; `missing` digests could not be found whole."""

    account_id: str
    rows: Mapping[str, int]
    artifacts: int
    missing: tuple[str, ...]


def export(books: ReadPool, shelf: Shelf, name: str, target: Path, now_ms: int) -> Exported:
    """Write everything of the account with this id or handle to a new folder, all of it or nothing.

    Raises `Refused`: `not_found`, `export_place`; `OSError`.
    """

    def found(reader: BooksReader) -> JsonObject:
        return document_of(reader, account_called(reader, name), now_ms)

    return write_export(lambda: books.read_sync(found), partial(_kept, shelf), target)


def write_export(ask: Callable[[], JsonObject], content: Callable[[str], bytes | None], target: Path) -> Exported:
    """Write what `ask` gives (`earnest-export-v1`), and its artifacts, to a new folder, all of it or nothing.

    `content` gives an artifact by its digest, None where it is missing. Raises `Refused("export_place")`, `OSError`,
    `Unavailable` for what is no export, and what both raise.
    """
    if target.exists():
        raise Refused("export_place", f"{target} is there already: name a new folder")
    aside = target.with_name(f".{target.name}.exporting")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=0o700, parents=True)
    try:
        done = _write(ask(), content, aside)
        aside.replace(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return done


def _write(found: JsonObject, content: Callable[[str], bytes | None], folder: Path) -> Exported:
    try:
        tables = cast("Mapping[str, list[Mapping[str, JsonValue]]]", found["tables"])
        digests = sorted({str(row["sha256"]) for row in tables["artifacts"]})
        counts = {table: len(rows) for table, rows in tables.items()}
        account_id = str(found["account_id"])
    except (KeyError, TypeError, AttributeError):
        raise Unavailable("what answered is no platform: this is no export") from None
    missing: list[str] = []
    for digest in digests:
        given = content(digest)
        if given is None or digest_bytes(given) != digest:
            missing.append(digest)
            continue
        place = folder / places.artifacts(folder).name / digest.removeprefix("sha256:")
        place.parent.mkdir(mode=0o700, exist_ok=True)
        put_file(place, given)
    put_file(folder / FILE_NAME, canonical_bytes({**found, "missing": cast("list[JsonValue]", missing)}) + b"\n")
    return Exported(account_id=account_id, rows=counts, artifacts=len(digests) - len(missing), missing=tuple(missing))


def _kept(shelf: Shelf, digest: str) -> bytes | None:
    try:
        with checked(shelf, digest) as file:
            return file.read()
    except (Refused, Broken):
        return None
