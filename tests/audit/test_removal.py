"""Full files of an audit log go after their time, each said by a fact; without one the log counts as cut."""

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from audit_scripts import event

from earnest.app.settings import read_settings
from earnest.app.sweeping import sweep
from earnest.audit.files import full_files
from earnest.audit.journal_check import Verified, check_audit_log, check_journal
from earnest.audit.log import AuditLog
from earnest.audit.reading import read_lines
from earnest.audit.removal import old_files
from earnest.audit.snapshot import take_snapshot
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.facts import Fact
from earnest.journal.service import Sealer


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log in several files, beside books."""
    path = tmp_path / "audit" / "audit.jsonl"
    with closing(Database.open(tmp_path / "books.sqlite3", VirtualClock())):
        pass
    with closing(AuditLog.open(path, 0, file_bytes=900)) as written:
        for seq in range(1, 13):
            written.append(event(seq, "SubTask"))
    return path


def test_old_files_are_removed_and_what_is_left_verifies(log: Path, tmp_path: Path) -> None:
    settings = replace(read_settings({"EARNEST_HOME": str(tmp_path)}), audit_days=0)
    names = [one.path.name for one in full_files(log)]
    take_snapshot(log)
    assert sweep(settings, dry=True).audit_files == tuple(names)
    assert [one.path.name for one in full_files(log)] == names
    swept = sweep(settings, dry=False)
    assert (swept.audit_files, swept.freed_bytes > 900, full_files(log)) == (tuple(names), True, [])
    found = check_audit_log(log, tmp_path / "books.sqlite3")
    assert (found.findings, found.end.lines) == ((), 12)
    assert next(read_lines(log)).lines > 1
    with closing(AuditLog.open(log, 0)) as written:
        written.append(event(13, "SubTask"))
    assert check_audit_log(log, tmp_path / "books.sqlite3").intact


def test_a_verification_that_goes_on_reads_what_came_after_and_misses_no_line(log: Path, tmp_path: Path) -> None:
    books = tmp_path / "books.sqlite3"
    with closing(Database.open(books, VirtualClock())) as database:
        database.write_sync(
            lambda transaction: transaction.record(Fact(kind="test.happened", subject="s", at_ms=1, body={}))
        )
        asyncio.run(Sealer(database, VirtualClock()).seal())
    seal = check_journal(books, log).last_seal
    assert seal is not None
    verified = Verified(seal=seal, log=check_audit_log(log, books).end)
    first = full_files(log)[0].path
    first.write_bytes(first.read_bytes().replace(b"SubTask", b"subTask", 1))
    assert check_audit_log(log, books, verified).intact
    assert not check_audit_log(log, books).intact
    with closing(AuditLog.open(log, 0)) as written:
        written.append(event(13, "SubTask"))
        written.append(event(14, "SubTask"))
    assert check_audit_log(log, books, verified).end.lines == 14
    log.write_bytes(log.read_bytes().replace(b'"seq":14', b'"seq":15'))
    (finding,) = check_audit_log(log, books, verified).findings
    assert "line 14" in finding
    log.unlink()
    assert not check_audit_log(log, books, verified).intact


def test_files_that_somebody_else_removed_are_named(log: Path, tmp_path: Path) -> None:
    full_files(log)[0].path.unlink()
    (finding,) = check_audit_log(log, tmp_path / "books.sqlite3").findings
    assert "no fact says that those before it were removed" in finding


def test_a_young_or_damaged_file_stays_and_all_after_it(log: Path) -> None:
    first, second, *_ = full_files(log)
    ended_ms = next(one for one in read_lines(log) if one.lines == first.last_line).event
    assert ended_ms is not None
    assert [one.path for one in old_files(log, ended_ms.at_ms + 1)] == [first.path]
    assert list(old_files(log, ended_ms.at_ms)) == []
    second.path.write_bytes(second.path.read_bytes()[:-9] + b"damaged.\n")
    assert [one.path for one in old_files(log, 2**50)] == [first.path]
