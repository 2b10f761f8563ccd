"""A backup of the data directory, made beside whoever uses it: what is taken, in which order, at what pace."""

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final

from earnest.app import places
from earnest.app.artifacts import named_artifacts
from earnest.audit.cutting import mark_in, parts_up_to
from earnest.effects.ground.backup.contents import Contents
from earnest.effects.ground.backup.manifest import (
    BackupManifest,
    SavedFile,
    SavedFolder,
    SavedLink,
    manifest_bytes,
    manifest_from,
    named,
)
from earnest.effects.ground.backup.walking import FoundFile, walk
from earnest.effects.ground.clock import Clock, rest_ms
from earnest.effects.ground.durable import put_file, sync_folder
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.reader import BooksReader, read_once
from earnest.effects.ground.storage.snapshot import copy_books
from earnest.effects.outside.artifacts.shelf import Shelf, checked
from earnest.engine.facts import FINISHED, STARTED
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339
from earnest.foundation.version import VERSION

MANIFESTS: Final = "manifests"
CONTENTS: Final = "contents"
BOOKS: Final = "books.sqlite3"
RUNS: Final = "runs/"
AUDIT_LOG: Final = re.compile(r"audit/audit(\.[0-9]+)?\.jsonl")
SECRET: Final = ("secrets", "agents", "settings.toml", "mcp.json")
"""What opens something: it goes with the keys, never with the rest."""
NOT_TAKEN: Final = (
    BOOKS,  # copied by itself
    f"{BOOKS}-wal",
    f"{BOOKS}-shm",
    f"{BOOKS}.lock",
    "environments",  # built again
    "memory",  # made anew from the facts
    "memory.new",
    "memory.old",
    "moved.json",  # the restored ones are where they were laid
    "trash",
    "self-test.json",  # of this machine
    "address",
    "verified.json",
    "artifacts/arriving",
    "runs/open.json",  # found anew
    "audit/audit_stats.json",  # counted anew from the log
)
SHARE: Final = 30

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupOrder:
    """`keys`: the folder for what is secret; None leaves that out. `share`: of the time it may work, in percent.

    `server`: where the books are, `shelf`: where the artifacts lie, unless that is in the data directory.
    """

    home: Path
    target: Path
    server: ServerBooks | None = None
    shelf: Shelf | None = None
    keys: Path | None = None
    share: int = SHARE

    @property
    def books(self) -> Books:
        """The books that are copied."""
        return self.server or places.books(self.home.resolve())


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """A backup that was made. `written_bytes` were new; `missing` artifacts are known to the books and not there."""

    manifest: BackupManifest
    size_bytes: int
    written_bytes: int
    missing: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Going:
    """What was taken along so far."""

    files: list[SavedFile] = field(default_factory=list)
    links: list[SavedLink] = field(default_factory=list)
    folders: list[SavedFolder] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def copy(self) -> "_Going":
        """As it is now."""
        return _Going(files=[*self.files], links=[*self.links], folders=[*self.folders], left_out=[*self.left_out])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Books:
    """What the copied books say: revision, newest fact, runs without an end, artifacts that somebody brought."""

    revision: str
    last_seq: int
    unfinished: frozenset[str]
    artifacts: frozenset[str]


def back_up(order: BackupOrder, clock: Clock, tell: Tell = lambda _: None) -> BackedUp:
    """Make a backup. Everything that was acknowledged before it began is in it.

    The books first, at one moment: whatever they name lay there before, so it is found after. The manifest last: a
    backup that is cut off is none. Raises `Refused`: `no_database`, `backup_place`; `Unavailable`, `Broken`, `OSError`.
    """
    home, target = order.home.resolve(), order.target.resolve()
    for place in (target, *([order.keys.resolve()] if order.keys else ())):
        if place.is_relative_to(home) or home.is_relative_to(place):
            raise Refused("backup_place", f"{place} must lie outside the data directory {home}")
    if order.keys is not None and order.keys.resolve() == target:
        raise Refused("backup_place", "the keys must go to a folder of their own")
    folders = {False: target, **({True: order.keys} if order.keys else {})}
    stores = {is_secret: Contents(folder / CONTENTS) for is_secret, folder in folders.items()}
    with contextlib.ExitStack() as stack:
        for store in stores.values():
            stack.enter_context(store.writing())
        manifest, missing = _Taking(order, stores, clock=clock, tell=tell).all()
        for store in stores.values():
            store.sync()
        data = manifest_bytes(manifest)
        for folder in reversed(folders.values()):  # the last one makes it a backup
            (folder / MANIFESTS).mkdir(mode=0o700, exist_ok=True)
            sync_folder(folder)
            put_file(folder / MANIFESTS / f"{manifest.id}.json", data)
    written = sum(store.written_bytes for store in stores.values())
    size_bytes = sum(file.size_bytes for file in manifest.files)
    return BackedUp(manifest=manifest, size_bytes=size_bytes, written_bytes=written, missing=missing)


class _Taking:
    """One backup under way."""

    def __init__(self, order: BackupOrder, stores: Mapping[bool, Contents], *, clock: Clock, tell: Tell) -> None:
        """`stores`: True is for what is secret, if anything is."""
        self._home = order.home.resolve()
        self._source = order.books
        self._shelf = order.shelf
        self._target = order.target.resolve()
        self._stores = stores
        self._clock = clock
        self._tell = tell
        self._rest_share = (100 - order.share) / order.share
        self._began_ns = clock.ticks_ns()
        self._moved_bytes = 0
        self._going = _Going()

    def all(self) -> tuple[BackupManifest, tuple[str, ...]]:
        """Everything, in order."""
        created_ms = self._clock.now_ms()
        log = places.audit_log(self._home)
        certain = mark_in(log)
        books = self._books()
        for found in walk(self._home, lambda path: self._is_wanted(path, books.unfinished)):
            self._take(found)
        for part in parts_up_to(log, certain, books.last_seq):
            self._keep(part.file, f"{log.parent.name}/{part.name}", part.size_bytes)
        for run in sorted(books.unfinished):
            self._take_run(run, books.last_seq)
        going = self._going
        if self._shelf is not None:
            self._take_artifacts(self._shelf, books.artifacts)
        lying = {file.path for file in going.files}
        missing = tuple(sorted(one for one in books.artifacts if place_of(one) not in lying))
        manifest = BackupManifest(
            id="",
            created_ms=created_ms,
            version=VERSION,
            revision=books.revision,
            facts=books.last_seq,
            files=tuple(going.files),
            links=tuple(going.links),
            folders=tuple(going.folders),
            left_out=tuple(going.left_out),
        )
        stamp = rfc3339(created_ms).replace("-", "").replace(":", "").replace(".", "")
        return named(manifest, stamp), missing

    def _books(self) -> _Books:
        copy = self._target / CONTENTS / "arriving" / BOOKS
        try:
            revision, last_seq = copy_books(self._source, copy, self._moved)
            with copy.open("rb") as file:
                self._going.files.append(self._stores[False].take(file, BOOKS, None, self._moved))
            return read_once(copy, lambda reader: _said(reader, revision, last_seq))
        except Refused as refused:
            if refused.code != "database_too_old":
                raise
            raise Refused("database_too_old", f"{self._home} is of an older version: see `earnest migrate`") from None
        finally:
            for left in copy.parent.glob(f"{BOOKS}*"):
                left.unlink()

    def _is_wanted(self, path: str, unfinished: frozenset[str]) -> bool:
        if path in NOT_TAKEN or path.startswith("audit/audit_stats.json.") or AUDIT_LOG.fullmatch(path):
            return False
        if True not in self._stores and path in SECRET:
            self._going.left_out.append(f"{path}: secret, and no folder was named for the keys")
            return False
        return not (path.startswith(RUNS) and path.removeprefix(RUNS) in unfinished)

    def _take(self, found: FoundFile) -> None:
        """Take one along. What went meanwhile is passed over: nothing that the copied books need goes."""
        going, place = self._going, self._home / found.path
        try:
            if found.is_folder:
                going.folders.append(SavedFolder(path=found.path, mode=found.mode & 0o777))
            elif found.is_link:
                going.links.append(SavedLink(path=found.path, target=str(place.readlink())))
            elif found.is_file:
                descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                with os.fdopen(descriptor, "rb") as file:
                    self._keep(file, found.path)
            else:
                going.left_out.append(f"{found.path}: neither a file, a folder nor a link")
        except FileNotFoundError:
            return
        except PermissionError as error:
            going.left_out.append(f"{found.path}: {error.strerror}")
        except UnicodeEncodeError:
            going.left_out.append(f"{found.path!r}: its name is no text")

    def _keep(self, file: IO[bytes], path: str, size_bytes: int | None = None) -> None:
        file.seek(0)
        is_secret = path.split("/", maxsplit=1)[0] in SECRET
        store = self._stores.get(is_secret, self._stores[False])
        self._going.files.append(replace(store.take(file, path, size_bytes, self._moved), secret=is_secret))

    def _take_artifacts(self, shelf: Shelf, named: frozenset[str]) -> None:
        """Those that lie elsewhere. What the newest backup holds is not fetched again: it is the same by its name."""
        before = {file.path: file for file in self._newest()}
        for sha256 in sorted(named):
            path = place_of(sha256)
            kept = before.get(path)
            if kept is not None and all(self._stores[False].place(part).is_file() for part in kept.parts):
                self._going.files.append(kept)
                continue
            with contextlib.suppress(Refused), checked(shelf, sha256) as file:
                self._keep(file, path)

    def _newest(self) -> tuple[SavedFile, ...]:
        for path in sorted((self._target / MANIFESTS).glob("*.json"), reverse=True)[:1]:
            with contextlib.suppress(Refused):
                return manifest_from(path.read_bytes(), str(path)).files
        return ()

    def _take_run(self, run: str, last_seq: int) -> None:
        """The files of a run without an end, if nothing happened to them since the books were copied."""
        below = f"{RUNS}{run}"
        if not (self._home / below).is_dir():
            return
        before = list(walk(self._home, below=below))
        kept = self._going.copy()
        self._take(FoundFile(below, (self._home / below).lstat().st_mode, (0, 0, 0, 0)))
        for found in before:
            self._take(found)
        newest = read_once(self._source, lambda r: next((f.seq for f in r.facts(subject=run, newest_first=True)), 0))
        if newest > last_seq or list(walk(self._home, below=below)) != before:
            self._going = kept
            self._going.left_out.append(f"{below}: the run was at work; its facts are there, its files are not")

    def _moved(self, size_bytes: int) -> None:
        """Say how far it is, then rest, so that those who use the disk and the books have their share."""
        self._moved_bytes += size_bytes
        self._tell(f"{self._moved_bytes // 1_000_000} MB read")
        spent_ns = self._clock.ticks_ns() - self._began_ns
        rest_ms(int(spent_ns / 1_000_000 * self._rest_share))
        self._began_ns = self._clock.ticks_ns()


def place_of(sha256: str) -> str:
    """Where an artifact lies in the data directory."""
    return f"artifacts/{sha256[7:9]}/{sha256[9:]}"


def _said(reader: BooksReader, revision: str, last_seq: int) -> _Books:
    return _Books(
        revision=revision,
        last_seq=last_seq,
        unfinished=frozenset(reader.subjects(kind=STARTED)) - frozenset(reader.subjects(kind=FINISHED)),
        artifacts=named_artifacts(reader),
    )
