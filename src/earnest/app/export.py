"""All that a platform holds of one account, for its owner: its rows, and the artifacts that it brought."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.backup import place_of
from earnest.effects.ground.durable import put_file
from earnest.effects.ground.storage.reader import Reader, ReadPool
from earnest.foundation.canonical import JsonValue, canonical_bytes, digest_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339
from earnest.views.owned import OWNED, account_called, owned_rows

FORMAT: Final = "earnest-export-v1"
FILE_NAME: Final = "account.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written: rows by table, and how many artifacts; `missing` digests could not be found whole."""

    account_id: str
    rows: Mapping[str, int]
    artifacts: int
    missing: tuple[str, ...]


def export(books: ReadPool, home: Path, name: str, target: Path, now_ms: int) -> Exported:
    """Write everything of the account with this id or handle to a new folder, all of it or nothing.

    Raises `Refused`: `not_found`, `export_place`; `OSError`.
    """
    if target.exists():
        raise Refused("export_place", f"{target} is there already: name a new folder")
    aside = target.with_name(f".{target.name}.exporting")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=0o700, parents=True)
    try:
        done = books.read_sync(lambda reader: _export(reader, home, name, aside, now_ms))
        aside.replace(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return done


def _export(reader: Reader, home: Path, name: str, folder: Path, now_ms: int) -> Exported:
    account_id = account_called(reader, name)
    tables: dict[str, JsonValue] = {}
    counts, missing, brought = dict[str, int](), list[str](), 0
    for table, rows in owned_rows(reader, account_id):
        tables[table], counts[table] = rows, len(rows)
        if table == "artifacts":
            digests = {str(row["sha256"]) for row in rows}
            missing = sorted(digest for digest in digests if not _copied(home, digest, folder))
            brought = len(digests) - len(missing)
    body: dict[str, JsonValue] = {
        "format": FORMAT,
        "account_id": account_id,
        "exported_at": rfc3339(now_ms),
        "tables": tables,
        "withheld": {table: sorted(owned.withheld) for table, owned in OWNED.items() if owned.withheld},
        "missing": missing,
    }
    put_file(folder / FILE_NAME, canonical_bytes(body) + b"\n")
    return Exported(account_id=account_id, rows=counts, artifacts=brought, missing=tuple(missing))


def _copied(home: Path, digest: str, folder: Path) -> bool:
    """True if the artifact was there, and was what its name says."""
    source = home / place_of(digest)
    if not source.is_file():
        return False
    content = source.read_bytes()
    if digest_bytes(content) != digest:
        return False
    place = folder / places.artifacts(folder).name / digest.removeprefix("sha256:")
    place.parent.mkdir(mode=0o700, exist_ok=True)
    put_file(place, content)
    return True
