"""Does a sweep take what is old and needed by nobody, leave the rest, and say which is which?"""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from books_file import file_of
from earnest.effects.ground.clock import VirtualClock, first_id
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.foundation.facts import Fact
from earnest.foundation.instants import DAY_MS
from earnest.runtime.sweeping import Fate, Retention, RunFiles, Sweep, fate_of
from earnest.runtime.verdict_book import VerdictBook

CLOCK = VirtualClock()
OLD_MS = CLOCK.now_ms() - 100 * DAY_MS
OLD = RunFiles(
    last_ms=OLD_MS, has_end=True, is_needed=False, is_told=True, has_edits=False, is_applied=False, is_applying=False,
    has_stages=True,
)  # fmt: skip
WEEK_MS = CLOCK.now_ms() - 8 * DAY_MS


@pytest.mark.parametrize(
    ("run", "fate"),
    [
        (OLD, Fate.WHOLE),
        (replace(OLD, last_ms=None), Fate.UNKNOWN),
        (replace(OLD, has_end=False), Fate.WAITS),
        (replace(OLD, is_needed=True), Fate.NEEDED),
        (replace(OLD, is_told=False), Fate.UNTOLD),
        (replace(OLD, has_edits=True), Fate.UNAPPLIED),
        (replace(OLD, has_edits=True, is_applied=True), Fate.WHOLE),
        (replace(OLD, has_edits=True, is_applied=True, is_applying=True), Fate.APPLYING),
        (replace(OLD, last_ms=WEEK_MS), Fate.STAGES),
        (replace(OLD, last_ms=WEEK_MS, has_stages=False), Fate.YOUNG),
        (replace(OLD, last_ms=WEEK_MS, has_edits=True, is_applied=True), Fate.YOUNG),
        (replace(OLD, last_ms=CLOCK.now_ms()), Fate.YOUNG),
        (replace(OLD, last_ms=CLOCK.now_ms() + DAY_MS), Fate.YOUNG),
    ],
)
def test_what_a_run_is_needed_for_decides_before_its_age(run: RunFiles, fate: Fate) -> None:
    assert fate_of(run, Retention(), CLOCK.now_ms()) is fate


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(tmp_path / "home" / "books.sqlite3", CLOCK)) as database:
        yield database


def record(books: Database, kind: str, run: str, at_ms: int, body: JsonObject | None = None) -> None:
    books.write_sync(lambda tx: tx.record(Fact(kind=kind, subject=run, at_ms=at_ms, body=body or {})))


def named(run: str, at_ms: int) -> str:
    """An id of a run that began then, with a word by which a test knows it."""
    return f"run_{first_id(at_ms)}_{run}"


def lay(books: Database, run: str, at_ms: int, *kinds: str, after: str = "", untold: bool = False) -> Path:
    run_id = named(run, at_ms)
    folder = file_of(books).parent / "runs" / run_id
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "file").write_text("x" * 1_000)
    (folder / "stages" / "checkpoints").mkdir(parents=True)
    (folder / "stages" / "checkpoints" / "one").write_text("y" * 10)
    if untold:
        (folder / "untold").touch()
    record(books, "run.started", run_id, at_ms, {"after": after} if after else None)
    for kind in kinds:
        record(books, kind, run_id, at_ms)
    return folder


def sweep(books: Database, *, dry: bool = False) -> Sweep:
    home = file_of(books).parent
    return Sweep(home=home, retention=Retention(), verdicts=VerdictBook(home / "verdicts", 1_000_000), dry=dry)


def test_old_files_go_and_whatever_somebody_needs_stays(books: Database) -> None:
    old = lay(books, "old", OLD_MS, "run.finished")
    needed = lay(books, "needed", OLD_MS, "run.finished")
    waits = lay(books, "waits", OLD_MS, after=needed.name)
    untold = lay(books, "untold", OLD_MS, "run.finished", untold=True)
    edited = lay(books, "edited", OLD_MS, "edit.taken", "run.finished")
    applied = lay(books, "applied", OLD_MS, "edit.taken", "run.finished", "edit.applying", "edit.applied")
    week = lay(books, "week", WEEK_MS, "run.finished")
    edited_week = lay(books, "edited_week", WEEK_MS, "edit.taken", "run.finished")
    today = lay(books, "today", CLOCK.now_ms())
    goes_on = lay(books, "goes_on", OLD_MS, "run.finished")
    record(books, "run.finished", goes_on.name, CLOCK.now_ms())
    foreign = file_of(books).parent / "runs" / "foreign"
    foreign.mkdir()
    before = sorted(file_of(books).parent.rglob("*"))
    planned = sweep(books, dry=True).run(books, CLOCK.now_ms())
    assert sorted(file_of(books).parent.rglob("*")) == before
    done = sweep(books).run(books, CLOCK.now_ms())
    assert done == planned
    assert (done.runs, done.stages) == ((applied.name, old.name), (week.name,))
    assert done.freed_bytes == 2 * 1_010 + 10
    assert not old.exists()
    assert not applied.exists()
    assert [path.name for path in week.iterdir()] == ["workspace"]
    assert all((folder / "stages").exists() for folder in (needed, waits, untold, edited, edited_week, today, goes_on))
    assert foreign.exists()
    assert list((file_of(books).parent / "trash").iterdir()) == []
    assert done.kept == {
        Fate.NEEDED: 1, Fate.WAITS: 1, Fate.UNTOLD: 1, Fate.UNAPPLIED: 1, Fate.STAGES: 1, Fate.UNKNOWN: 1,
        Fate.YOUNG: 3,
    }  # fmt: skip
    assert sweep(books).run(books, CLOCK.now_ms()).freed_bytes == 0


def test_the_books_are_asked_about_no_run_that_is_too_young_to_go(
    books: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[object]()

    def facts(_: BooksReader, **wanted: object) -> Iterator[StoredFact]:
        asked.append(wanted)
        return iter(())

    monkeypatch.setattr(BooksReader, "facts", facts)
    for number in range(3):
        lay(books, f"today{number}", CLOCK.now_ms())
        shutil.rmtree(lay(books, f"week{number}", WEEK_MS) / "stages")
        lay(books, f"edited{number}", WEEK_MS, "edit.taken")
    assert sweep(books).run(books, CLOCK.now_ms()).kept == {Fate.YOUNG: 9}
    assert asked == []


def test_what_a_killed_sweep_left_is_removed_and_two_do_not_sweep_at_once(books: Database) -> None:
    trash = file_of(books).parent / "trash"
    (trash / "run_half-0" / "workspace").mkdir(parents=True)
    sweeping = sweep(books)
    with sweeping._trash(), pytest.raises(Unavailable, match="another process sweeps"):
        sweep(books).run(books, CLOCK.now_ms())
    assert list(trash.iterdir()) == []


def keep_verdict(folder: Path, name: str, at_ms: int, *digests: str) -> None:
    (folder / "content").mkdir(parents=True, exist_ok=True)
    for digest in digests:
        (folder / "content" / digest).write_bytes(b"content")
    files = [[digest, 7, f"sha256:{digest}", False] for digest in digests]
    (folder / f"{name}.json").write_text(json.dumps({"at_ms": at_ms, "files": files, "beside": []}))


def test_old_verdicts_go_with_what_they_alone_need_but_not_those_that_show_distrust(books: Database) -> None:
    folder = file_of(books).parent / "verdicts"
    keep_verdict(folder, "old", CLOCK.now_ms() - 400 * DAY_MS, "alone", "shared")
    keep_verdict(folder, "shown", CLOCK.now_ms() - 400 * DAY_MS, "why")
    keep_verdict(folder, "new", CLOCK.now_ms(), "shared")
    (folder / "distrusted.json").write_text(json.dumps({"check": "shown"}))
    done = sweep(books).run(books, CLOCK.now_ms())
    assert (done.verdicts, done.freed_bytes) == (("old",), 7)
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == [
        "distrusted.json", "new.json", "shared", "shown.json", "why",
    ]  # fmt: skip
