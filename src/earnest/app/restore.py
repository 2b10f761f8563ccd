"""A backup read back: which there are, whether one is whole, and a data directory made of it, all of it or none."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.artifacts import named_artifacts
from earnest.app.backup import BOOKS, CONTENTS, MANIFESTS, SECRET, Tell, place_of
from earnest.app.home_check import key_faults, verify_records
from earnest.app.moving import copy_to
from earnest.effects.ground.backup.contents import Contents, Moved
from earnest.effects.ground.backup.manifest import BackupManifest, SavedFile, manifest_from
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.durable import sync_folder
from earnest.effects.ground.locks import folder_alone
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.hands.scratch import scratch
from earnest.effects.hands.workspace.tree import remove_tree
from earnest.foundation.errors import Refused
from earnest.foundation.text import listed
from earnest.runtime.recompute import recompute

MANIFEST_BYTES_MAX: Final = 2 * 1024 * 1024 * 1024
FAULTS_TOLD_MAX: Final = 3
RECORDS: Final = (BOOKS, "audit/", "secrets/")
"""What is needed to verify the books, without the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupSource:
    """Where a backup lies, and where its keys do, if anywhere; `name` is the beginning of its id, empty: the newest."""

    folder: Path
    keys: Path | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A backup that was found whole. `rows` of the books were made anew and compared."""

    manifest: BackupManifest
    rows: int


def backups_in(folder: Path) -> list[BackupManifest]:
    """All backups in a folder, the newest first. Raises as `restore`."""
    return [_manifest(path) for path in _manifests(folder)]


def verify_backup(source: BackupSource, clock: Clock, tell: Tell = lambda _: None) -> Restored:
    """Read all of a backup, and verify its books, audit log and keys in a temporary place. Raises as `restore`."""
    manifest, lays = _opened(source)
    with scratch("restore") as folder:
        for file in manifest.files:
            if file.path.startswith(RECORDS):
                _lay_out(lays, file, folder / file.path, tell)
            elif not file.secret or source.keys is not None:
                for _ in lays[file.secret].read(file):
                    tell(f"reading {file.path}")
        rows = _verified(folder, manifest, source, clock, tell)
    return Restored(manifest=manifest, rows=rows)


def restore(
    source: BackupSource, home: Path, clock: Clock, tell: Tell = lambda _: None, *, server: Books | None = None
) -> Restored:
    """Make a data directory of a backup, verified before it takes its place; its books on a `server`, if one is named.

    Raises `Refused`: `home_not_empty`, `backup_missing`, `backup_foreign`, `backup_incomplete`, `backup_damaged`, each
    with the place, `target_not_empty`; `Unavailable` while another process restores there; `OSError` where the disk
    takes no more. Then nothing is there, as before; what a server was given stays closed, and the next call goes on.
    """
    home = home.absolute()
    manifest, lays = _opened(source)
    _refuse_inhabited(home)
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _aside(home) as aside:
        for folder in manifest.folders:
            if folder.path.split("/")[0] not in SECRET or source.keys is not None:
                (aside / folder.path).mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in manifest.files:
            if not file.secret or source.keys is not None:
                _lay_out(lays, file, aside / file.path, tell)
        for link in manifest.links:
            (aside / link.path).symlink_to(link.target)
        rows = _verified(aside, manifest, source, clock, tell)
        if server is not None:
            copy_to(places.books(aside), server, places.audit_log(aside), clock, tell)
            for left in aside.glob(f"{BOOKS}*"):
                left.unlink()
        for folder in reversed(manifest.folders):
            with contextlib.suppress(FileNotFoundError):
                (aside / folder.path).chmod(folder.mode)
        os.sync()
        _refuse_inhabited(home)
        aside.replace(home)  # over an empty folder, or none
        sync_folder(home.parent)
    return Restored(manifest=manifest, rows=rows)


def _opened(source: BackupSource) -> tuple[BackupManifest, dict[bool, Contents]]:
    """The manifest that is meant, and where the contents of the rest (False) and of the keys (True) are read."""
    matching = [path for path in _manifests(source.folder) if path.stem.startswith(source.name)]
    if not matching or (source.name and len(matching) > 1):
        found = "more than one backup begins" if matching else "no backup begins"
        raise Refused("backup_missing", f"{found} with {source.name[:80]!r} in {source.folder}")
    manifest = _manifest(matching[0])
    if source.keys is not None and not (source.keys / MANIFESTS / matching[0].name).is_file():
        raise Refused("backup_incomplete", f"{source.keys} holds no keys of the backup {manifest.id}")
    return manifest, {
        False: Contents(source.folder / CONTENTS),
        True: Contents((source.keys or source.folder) / CONTENTS),
    }


def _manifests(folder: Path) -> list[Path]:
    found = sorted((folder / MANIFESTS).glob("*.json"), reverse=True)
    if not found:
        raise Refused("backup_missing", f"{folder} holds no backup that was finished")
    return found


def _manifest(path: Path) -> BackupManifest:
    with path.open("rb") as file:
        manifest = manifest_from(file.read(MANIFEST_BYTES_MAX), str(path))
    if manifest.id != path.stem:
        raise Refused("backup_damaged", f"{path} is the manifest of the backup {manifest.id[:80]}")
    return manifest


def _lay_out(lays: dict[bool, Contents], file: SavedFile, target: Path, tell: Tell) -> None:
    moved: Moved = lambda _: tell(f"laying out {file.path}")  # noqa: E731
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lays[file.secret].lay_out(file, target, moved)


def _verified(home: Path, manifest: BackupManifest, source: BackupSource, clock: Clock, tell: Tell) -> int:
    """Hold what was laid out against itself; how many rows the facts made anew. Raises `Refused("backup_damaged")`."""
    tell("verifying the journal and the audit log")
    records = verify_records(home)
    places.verified(home).unlink(missing_ok=True)
    faults = [f"{one.what}, facts {one.first_seq} to {one.last_seq}: {one.detail}" for one in records.journal.findings]
    faults += records.audit_log
    if records.journal.last_seq != manifest.facts:
        faults.append(f"the books end with fact {records.journal.last_seq}, the manifest says {manifest.facts}")
    if source.keys is not None and any(file.path == "secrets/keys" for file in manifest.files):
        faults += asyncio.run(key_faults(home, places.books(home)))
    lying = {file.path for file in manifest.files}
    with contextlib.closing(ReadPool.open_reader(places.books(home))) as books:
        done = books.read_sync(lambda reader: recompute(reader, clock, lambda count: tell(f"{count} facts made rows")))
        known = books.read_sync(named_artifacts)
    faults += done.differences
    faults += [f"the artifact {sha256} is missing" for sha256 in sorted(known) if place_of(sha256) not in lying]
    if faults:
        raise Refused("backup_damaged", f"{source.folder}: {listed(faults, FAULTS_TOLD_MAX)}")
    return done.rows


def _refuse_inhabited(home: Path) -> None:
    if home.is_symlink() or (home.exists() and (not home.is_dir() or any(home.iterdir()))):
        raise Refused("home_not_empty", f"{home} is not empty: a backup is restored into a new data directory")


@contextlib.contextmanager
def _aside(home: Path) -> Iterator[Path]:
    """A folder beside the data directory for us alone; what a killed restoring left there is removed."""
    aside = home.with_name(f".{home.name}.restoring")
    aside.mkdir(mode=0o700, exist_ok=True)
    with folder_alone(aside, f"another process restores to {home}"):
        try:
            _empty(aside)
            yield aside
        finally:
            with contextlib.suppress(OSError):  # gone where all went well
                _empty(aside)
                aside.rmdir()


def _empty(folder: Path) -> None:
    for left in folder.iterdir():
        remove_tree(left, folder)
