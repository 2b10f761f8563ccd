"""The data directory read from end to end: whether what lies there is what was put there, and memory made anew."""

import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from earnest.app import places
from earnest.app.artifacts import named_artifacts, shelf_in
from earnest.app.judging_settings import FILE_NAME
from earnest.app.secrets_file import check_key_store
from earnest.app.settings import Settings, memory_place, read_memory
from earnest.app.tables import SettingsFile
from earnest.audit.event import LogPosition
from earnest.audit.journal_check import (
    AuditCheck,
    Verified,
    check_audit_log,
    check_journal,
    note_verified,
    read_verified,
)
from earnest.client.payloads_platform import JournalChecked
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import ReadPool, read_once
from earnest.effects.outside.artifacts.shelf import checked
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.text import listed
from earnest.journal.verify import JournalReport
from earnest.runtime.recall import memory_faults, rebuild_memory
from earnest.runtime.recompute import recompute

Check: TypeAlias = Callable[[Path, Books], Awaitable[tuple[str, ...]]]
"""What is wrong with a part of a data directory, whose books may be elsewhere."""
TOLD_MAX: Final = 3
"""Faults of one kind that are told; the rest are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What was seen of the journal and of the audit log. `verified_before` facts were not read again."""

    journal: JournalReport
    audit_log: tuple[str, ...]
    verified_before: int

    @property
    def intact(self) -> bool:
        """True if nothing is wrong with either."""
        return self.journal.intact and not self.audit_log


def verify_records(home: Path, books: Books | None = None, *, continued: bool = False) -> Records:
    """Verify both; if they are intact, it is noted how far. `continued`: only what came after what was noted.

    Raises as `check_journal`.
    """
    books = books or places.books(home)
    log, place = places.audit_log(home), places.verified(home)
    before = read_verified(place) if continued else None
    journal = check_journal(books, log, before)
    try:
        beside = check_audit_log(log, books, before)
    except Refused:  # nobody knows of one
        beside = AuditCheck(end=LogPosition(), vouched=0, torn_bytes=0, findings=())
    size = before.seal.head.size if before else 0
    found = Records(journal=journal, audit_log=beside.findings, verified_before=size)
    if found.intact and journal.last_seal is not None:
        note_verified(place, Verified(seal=journal.last_seal, log=beside.end))
    return found


def records_json(records: Records) -> JournalChecked:
    """What was seen, as JSON."""
    report = records.journal
    return {
        "intact": records.intact,
        "facts": report.facts,
        "heads": report.heads,
        "heads_from_elsewhere": report.heads_from_elsewhere,
        "unsealed": report.unsealed,
        "redacted": report.redacted,
        "findings": [
            {"what": f.what.value, "first_seq": f.first_seq, "last_seq": f.last_seq, "detail": f.detail}
            for f in report.findings
        ],
        "findings_left_out": report.findings_left_out,
        "verified_before": records.verified_before,
        "audit_log": list(records.audit_log),
    }


async def journal_faults(home: Path, books: Books) -> tuple[str, ...]:
    """Pages, leaves, heads, and the write-ahead log."""
    report = check_journal(books, places.audit_log(home))
    return tuple(
        f"{found.what}, facts {found.first_seq} to {found.last_seq}: {found.detail}"
        if found.last_seq
        else f"{found.what}: {found.detail}"
        for found in report.findings
    )


async def audit_faults(home: Path, books: Books) -> tuple[str, ...]:
    """The chain, and what the journal knows of it."""
    return check_audit_log(places.audit_log(home), books).findings


async def newer_audit_faults(home: Path, books: Books) -> tuple[str, ...]:
    """As `audit_faults`, of what came after the last verification of the records."""
    before = read_verified(places.verified(home))
    return check_audit_log(places.audit_log(home), books, before).findings


async def row_faults(_home: Path, books: Books) -> tuple[str, ...]:
    """Rows that are not what the facts say."""
    return read_once(books, lambda reader: recompute(reader, SystemClock())).differences


async def recollection_faults(home: Path, books: Books) -> tuple[str, ...]:
    """Memory against the facts."""
    place = memory_place(read_memory(SettingsFile(home / FILE_NAME), os.environ, books), books)
    with contextlib.closing(ReadPool.open_reader(books)) as pool:
        return await memory_faults(place, pool, SystemClock().now_ms())


async def artifact_faults(home: Path, books: Books) -> tuple[str, ...]:
    """Kept contents by their digests, and those that the books know and nobody has."""
    shelf, found = shelf_in(home, os.environ), list[str]()
    present = {sha256 for number in range(256) for sha256 in shelf.lying(number)}
    for sha256 in sorted(present):
        try:
            checked(shelf, sha256).close()
        except Broken as broken:
            found.append(str(broken))
    known = read_once(books, named_artifacts)
    return (*found, *(f"the artifact {sha256} is gone" for sha256 in sorted(known - present)))


async def key_faults(home: Path, books: Books) -> tuple[str, ...]:
    """The platform's secret, against its fingerprint in the facts. Raises `Refused("key_store_damaged")`."""
    read_once(books, lambda reader: check_key_store(home, reader))
    return ()


DEEP: Final[dict[str, Check]] = {
    "journal": journal_faults,
    "rows": row_faults,
    "audit log": audit_faults,
    "memory": recollection_faults,
    "artifacts": artifact_faults,
    "key store": key_faults,
}
"""What is read from end to end, in order: the journal first, before anything opens the books."""
_NOT_YET: Final = frozenset({"no_database", "audit_log_missing", "memory_missing", "key_store_missing"})


async def look(check: Check, home: Path, books: Books) -> tuple[bool, str]:
    """Whether all is well, and what is to be said. Damage may make reading end in any way: each is a fault."""
    try:
        faults = await check(home, books)
    except Refused as refusal:
        if refusal.code in _NOT_YET:
            return True, "not written yet"
        faults = (str(refusal),)
    except Exception as error:
        faults = (f"{error or type(error).__name__}",)
    return not faults, listed(faults, TOLD_MAX) or "read from end to end"


async def rebuilt(settings: Settings) -> int:
    """Memory made anew from the facts; the number of its entries.

    Raises `Refused`: `no_database`, `data_directory_in_use`.
    """
    books = settings.books
    if isinstance(books, Path) and (not books.is_file() or not books.stat().st_size):
        raise Refused("no_database", f"there is no database at {books}: memory is made of its facts")
    with contextlib.closing(Database.open(books, SystemClock(), alone=True)) as database:
        return await rebuild_memory(settings.memory, database)
