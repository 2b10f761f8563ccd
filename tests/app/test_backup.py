"""Is a backup whole, is what was altered in it found where it is, and is a data directory made of it or nothing?"""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from earnest.app import backup as backup_module
from earnest.app import places
from earnest.app.backup import BackupOrder, back_up
from earnest.app.home_check import verify_records
from earnest.app.restore import BackupSource, backups_in, restore, verify_backup
from earnest.audit.cutting import Mark, mark_in, parts_up_to
from earnest.audit.files import full_files, full_name
from earnest.audit.log import AuditLog
from earnest.effects.ground.backup.manifest import (
    BackupManifest,
    SavedFile,
    SavedFolder,
    SavedLink,
    manifest_bytes,
    manifest_from,
)
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.snapshot import copy_books
from earnest.foundation.canonical import canonical_bytes, digest_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact

from .homes import listing, live_in

CLOCK = VirtualClock()
FRESH = {"audit/audit_stats.json", "artifacts/arriving"}


def order(folder: Path, *, keys: bool = True) -> BackupOrder:
    return BackupOrder(
        home=folder / "home", target=folder / "backup", keys=folder / "keys" if keys else None, share=100
    )


def source(folder: Path, *, keys: bool = True, name: str = "") -> BackupSource:
    return BackupSource(folder=folder / "backup", keys=folder / "keys" if keys else None, name=name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    live_in(tmp_path / "home")
    (tmp_path / "home" / "settings.toml").write_text("silence_s = 60\n")
    return tmp_path


def facts_of(home: Path) -> list[bytes]:
    with closing(ReadPool.open_reader(places.books(home))) as books:
        return books.read_sync(lambda reader: list(reader.leaves()))


def test_what_is_restored_is_what_was_there(folder: Path) -> None:
    done = back_up(order(folder), CLOCK)
    assert (done.missing, done.manifest.left_out) == ((), ())
    restore(source(folder), folder / "again", CLOCK)
    there = {path: what for path, what in listing(folder / "home").items() if path not in FRESH}
    assert listing(folder / "again") == there
    assert facts_of(folder / "again") == facts_of(folder / "home")
    assert verify_records(folder / "again").intact
    assert not (folder / ".again.restoring").exists()


def test_a_restored_home_goes_on_and_is_backed_up_again(folder: Path) -> None:
    back_up(order(folder), CLOCK)
    restore(source(folder), folder / "again", CLOCK)
    before = len(facts_of(folder / "again"))
    live_in(folder / "again")
    assert len(facts_of(folder / "again")) > before
    assert verify_records(folder / "again").intact
    back_up(BackupOrder(home=folder / "again", target=folder / "backup", share=100), CLOCK)


def test_what_an_earlier_backup_holds_is_not_written_again_and_the_earlier_one_stays(folder: Path) -> None:
    first = back_up(order(folder), CLOCK)
    assert back_up(order(folder), CLOCK).written_bytes == 0
    live_in(folder / "home")
    CLOCK.jump_ms(1_000)
    third = back_up(order(folder), CLOCK)
    assert 0 < third.written_bytes < third.size_bytes
    assert backups_in(folder / "backup")[0] == third.manifest
    restore(source(folder, name=first.manifest.id), folder / "again", CLOCK)
    assert len(facts_of(folder / "again")) == first.manifest.facts < third.manifest.facts


def test_keys_lie_apart_or_not_at_all(folder: Path) -> None:
    done = back_up(order(folder, keys=False), CLOCK)
    assert {one.partition(":")[0] for one in done.manifest.left_out} == {"secrets", "settings.toml"}
    restore(source(folder, keys=False), folder / "again", CLOCK)
    assert not (folder / "again" / "secrets").exists()
    CLOCK.jump_ms(1_000)
    back_up(order(folder), CLOCK)
    secret = places.key_store(folder / "home").read_bytes()
    assert not [path for path in (folder / "backup").rglob("*") if path.is_file() and secret in path.read_bytes()]
    restore(source(folder), folder / "third", CLOCK)
    assert places.key_store(folder / "third").read_bytes() == secret


def test_a_fact_that_comes_while_the_backup_is_made_leaves_books_and_audit_log_of_one_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, seen = copy_books, facts_of(folder / "home")

    def beside(books: Books, target: Path, moved: Callable[[int], None]) -> tuple[str, int]:
        found = copy(books, target, moved)
        live_in(folder / "home")
        return found

    monkeypatch.setattr(backup_module, "copy_books", beside)
    done = back_up(order(folder), CLOCK)
    restore(source(folder), folder / "again", CLOCK)
    assert facts_of(folder / "again") == seen
    assert done.manifest.facts == len(seen)
    assert verify_records(folder / "home").intact


def test_a_run_at_work_is_left_out_and_named_one_that_waits_is_taken_along(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = sorted(path.name for path in (folder / "home" / "runs").iterdir())[-1]
    back_up(order(folder), CLOCK)
    restore(source(folder), folder / "again", CLOCK)
    assert (folder / "again" / "runs" / waiting / "workspace" / "result.txt").exists()
    copy = copy_books

    def beside(books: Books, target: Path, moved: Callable[[int], None]) -> tuple[str, int]:
        found = copy(books, target, moved)
        with closing(Database.open(books, CLOCK)) as database:
            database.write_sync(lambda t: t.record(Fact(kind="effect.outcome", subject=waiting, at_ms=0, body={})))
        return found

    monkeypatch.setattr(backup_module, "copy_books", beside)
    CLOCK.jump_ms(1_000)
    done = back_up(order(folder), CLOCK)
    assert [one.partition(":")[0] for one in done.manifest.left_out] == [f"runs/{waiting}"]
    assert not [file for file in done.manifest.files if waiting in file.path]


def an_artifact_that_went(folder: Path) -> Path:
    (found,) = [path for path in places.artifacts(folder / "home").glob("[0-9a-f][0-9a-f]/*") if path.is_file()]
    return found


def test_an_artifact_that_the_books_know_and_nobody_has_is_named(folder: Path) -> None:
    an_artifact_that_went(folder).unlink()
    assert len(back_up(order(folder), CLOCK).missing) == 1
    with pytest.raises(Refused, match=r"the artifact sha256:.* is missing"):
        restore(source(folder), folder / "again", CLOCK)
    assert not (folder / "again").exists()


def every_content(folder: Path) -> list[Path]:
    return [path for path in (folder / "backup" / "contents").glob("[0-9a-f][0-9a-f]/*") if path.is_file()]


def test_every_altered_or_missing_part_is_found_and_named_and_nothing_is_restored(folder: Path) -> None:
    back_up(order(folder), CLOCK)
    for place in every_content(folder):
        kept = place.read_bytes()
        place.unlink()
        with pytest.raises(Refused, match=str(place)) as missing:
            verify_backup(source(folder), CLOCK)
        place.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]) if kept else b"x")
        with pytest.raises(Refused, match=str(place)) as damaged:
            restore(source(folder), folder / "again", CLOCK)
        place.write_bytes(kept)
        assert (missing.value.code, damaged.value.code) == ("backup_incomplete", "backup_damaged")
        assert not (folder / "again").exists()


def rewritten(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    """An attacker who gives the altered manifest a digest that fits."""
    for place in ("backup", "keys"):
        (path,) = (folder / place / "manifests").iterdir()
        given = json.loads(path.read_bytes().splitlines()[0])
        change(given)
        body = canonical_bytes(given)
        path.write_bytes(body + b"\n" + digest_bytes(body).encode() + b"\n")


def test_books_that_were_exchanged_for_altered_ones_are_found_by_what_they_say(folder: Path) -> None:
    back_up(order(folder), CLOCK)
    rewritten(folder, lambda given: given.update(facts=3))
    with pytest.raises(Refused, match="the books end with fact"):
        restore(source(folder), folder / "again", CLOCK)


def manifest_of(**saved: Any) -> BackupManifest:
    whole = {"files": (), "links": (), "folders": (), "left_out": (), **saved}
    return BackupManifest(id="x", created_ms=0, version="1", revision="0003", facts=1, **whole)


@pytest.mark.parametrize("path", ["../out", "/out", "a/../../out", "runs", "a//b", "."])
def test_no_manifest_leads_out_of_the_folder_or_names_a_place_twice(path: str) -> None:
    link, there = SavedLink(path=path, target="/"), SavedFolder(path="runs", mode=0o700)
    manifest = manifest_of(links=(link,), folders=(there,))
    with pytest.raises(Refused) as refused:
        manifest_from(manifest_bytes(manifest), "it")
    assert refused.value.code == "backup_damaged"


def test_nothing_is_laid_out_below_a_link() -> None:
    digest = "0" * 64
    file = SavedFile(path="a/b", mode=0o600, mtime_us=0, size_bytes=0, sha256=digest, parts=())
    manifest = manifest_of(files=(file,), links=(SavedLink(path="a", target="/"),))
    with pytest.raises(Refused, match="below a file or a link"):
        manifest_from(manifest_bytes(manifest), "it")


def test_what_is_foreign_or_cut_off_is_refused_with_the_reason(folder: Path) -> None:
    with pytest.raises(Refused) as nothing:
        restore(source(folder), folder / "again", CLOCK)
    back_up(order(folder), CLOCK)
    (path,) = (folder / "backup" / "manifests").iterdir()
    kept = path.read_bytes()
    found = []
    for content in (b"{}", b"not json", kept[:-2], kept.replace(b'"facts":', b'"facts":1'), b'{"format":"other"}\n'):
        path.write_bytes(content)
        with pytest.raises(Refused) as refused:
            restore(source(folder), folder / "again", CLOCK)
        found.append(refused.value.code)
    assert nothing.value.code == "backup_missing"
    assert found == ["backup_foreign", "backup_foreign", "backup_damaged", "backup_damaged", "backup_foreign"]


def test_a_backup_goes_into_an_empty_home_only_and_lies_outside_of_it(folder: Path) -> None:
    back_up(order(folder), CLOCK)
    with pytest.raises(Refused) as refused:
        restore(source(folder), folder / "home", CLOCK)
    assert refused.value.code == "home_not_empty"
    (folder / "empty").mkdir()
    restore(source(folder), folder / "empty", CLOCK)
    for place in (folder / "home" / "backup", folder):
        with pytest.raises(Refused) as inside:
            back_up(BackupOrder(home=folder / "home", target=place), CLOCK)
        assert inside.value.code == "backup_place"


def cut_to(log: Path, certain: Mark, last_seq: int) -> list[tuple[str, int]]:
    return [(part.name, part.size_bytes) for part in parts_up_to(log, certain, last_seq)]


def test_an_audit_log_is_cut_before_the_first_head_that_the_books_lack(folder: Path) -> None:
    log = places.audit_log(folder / "home")
    whole = log.read_bytes()
    assert cut_to(log, Mark(), 10_000) == [(log.name, len(whole))]
    assert cut_to(log, mark_in(log), 0) == [(log.name, len(whole))]
    assert cut_to(log, Mark(), 1) == [(log.name, 0)]
    log.write_bytes(whole + b'{"half')
    assert cut_to(log, Mark(), 10_000) == [(log.name, len(whole))]


def test_a_log_in_several_files_is_cut_wherever_it_was_put_aside_meanwhile(folder: Path) -> None:
    log = places.audit_log(folder / "home")
    lines = log.read_bytes().splitlines(keepends=True)
    before = mark_in(log)
    full = full_name(log, len(lines))
    log.rename(full)
    log.touch()
    sizes = [full.stat().st_size, 0]
    assert cut_to(log, before, 0) == [(full.name, sizes[0]), (log.name, 0)]
    assert cut_to(log, mark_in(log), 0) == [(full.name, sizes[0]), (log.name, 0)]
    assert cut_to(log, Mark(), 10_000) == [(full.name, sizes[0]), (log.name, 0)]
    assert cut_to(log, Mark(), 1) == [(log.name, 0)]


def test_a_log_in_several_files_is_backed_up_and_goes_on_when_it_is_restored(folder: Path) -> None:
    log = places.audit_log(folder / "home")
    AuditLog.open(log, 0, file_bytes=1).close()
    live_in(folder / "home")
    (full,) = full_files(log)
    back_up(order(folder), CLOCK)
    restore(source(folder), folder / "again", CLOCK)
    again = places.audit_log(folder / "again")
    assert (again.with_name(full.path.name).read_bytes(), again.read_bytes()) == (
        full.path.read_bytes(),
        log.read_bytes(),
    )
    live_in(folder / "again")
    assert verify_records(folder / "again").intact
