"""An operator's stories under faults, by seed: killed, or with a disk that fails or is full, at any boundary.

`EARNEST_FAULT_ROUNDS` says how many rounds (100 for all), `EARNEST_FAULT_SEED` plays one again.
"""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from earnest.app import places
from earnest.app.home_check import verify_records
from earnest.app.log_key import new_log_key, open_log_key
from earnest.audit.files import full_files
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.former import standing_of
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS
from earnest.foundation.errors import Refused
from old_books import REVISION, take_back
from postgresql import database

from .homes import listing, live_in, open_account
from .mortal_operator import books_in

FAULTS = ("SIGKILL", "EIO", "ENOSPC")
ROUNDS = int(os.environ.get("EARNEST_FAULT_ROUNDS", "12"))
SEEDS = [int(os.environ["EARNEST_FAULT_SEED"])] if "EARNEST_FAULT_SEED" in os.environ else list(range(ROUNDS))
CACHES = ("audit/audit_stats.json", "artifacts/arriving", "trash")
SECRET = "What nobody else may know"
Story = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def play() -> Iterator[Story]:
    """Works a story in a child: its exit code, and what it said, the number of its boundaries if it went well."""
    program = [sys.executable, str(Path(__file__).with_name("mortal_operator.py"))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def played(story: str, folder: Path, at: int = 0, fault: str = "") -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            print(json.dumps({"story": story, "folder": str(folder), "at": at, "fault": fault}), file=process.stdin)
            process.stdin.flush()
            found: dict[str, Any] = json.loads(process.stdout.readline())
            return found

        yield played
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, play: Story) -> Path:
    """A home with three runs, two of them ended; a backup of what it was before the last of them."""
    folder = tmp_path_factory.mktemp("prepared")
    live_in(folder / "home")
    open_account(folder / "home", SECRET)
    keep_verdict(folder / "home" / "verdicts")
    assert (play("backup", folder)["code"], play("restore", folder)["code"]) == (0, 0)
    live_in(folder / "home", runs=3)
    return folder


def keep_verdict(folder: Path) -> None:
    (folder / "content").mkdir(parents=True)
    (folder / "content" / "one").write_bytes(b"content")
    files = [["work", 7, "sha256:one", False]]
    (folder / "old.json").write_text(json.dumps({"at_ms": 1, "files": files, "beside": []}))


@dataclass(frozen=True, slots=True)
class State:
    """What a data directory holds."""

    files: dict[str, str]
    facts: list[bytes]


def leaves(books: Books) -> list[bytes]:
    with closing(ReadPool.open_reader(books)) as pool:
        return pool.read_sync(lambda reader: list(reader.leaves()))


def state_of(home: Path, books: Books | None = None) -> State:
    files = {path: what for path, what in listing(home).items() if not path.startswith(CACHES)}
    return State(files, leaves(books or places.books(home)))


@pytest.fixture(params=["file", "server"])
def servers(request: pytest.FixtureRequest) -> Iterator[tuple[str, str] | None]:
    """Where the books of a data directory and of its copy are moved first; None: they stay in files."""
    if request.param == "file":
        yield None
        return
    address = request.getfixturevalue("postgresql_server")
    with database(address) as one, database(address) as other:
        yield one, other


def cut(
    story: str, play: Story, prepared: Path, folder: Path, seed: int, servers: tuple[str, str] | None = None
) -> str:
    """The story, cut off somewhere in a copy of what was prepared; how it was. `servers`: where books may move to."""
    chance = random.Random(f"{story} {seed}")
    for copy, server in zip(("counted", "cut"), servers or ("", ""), strict=True):
        shutil.copytree(prepared, folder / copy, symlinks=True, ignore=shutil.ignore_patterns("again"))
        (folder / copy / "address").write_text(server)
        if server and story not in {"move", "settle"}:
            assert play("move", folder / copy)["code"] == 0
            places.books(folder / copy / "home").unlink()
    boundaries = int(play(story, folder / "counted")["said"])
    at, fault = chance.randint(1, boundaries), FAULTS[seed % len(FAULTS)]
    ended = play(story, folder / "cut", at, fault)
    told = f"EARNEST_FAULT_SEED={seed}: {fault} at {at} of {boundaries}: {ended}"
    assert ended["code"] in {-9, 0, 3}, told
    return told


@pytest.mark.slow  # each round copies a home, and works two stories
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_backup_cut_off_anywhere_leaves_the_home_and_earlier_backups_as_they_were(
    seed: int, tmp_path: Path, play: Story, prepared: Path
) -> None:
    told = cut("backup", play, prepared, tmp_path, seed)
    before, folder = state_of(prepared / "home"), tmp_path / "cut"
    assert state_of(folder / "home") == before, told
    restoring = play("restore", folder)
    assert restoring["code"] == 0, (told, restoring)
    known, earlier = state_of(folder / "again").facts, state_of(prepared / "again").facts
    assert known in (earlier, before.facts), told
    shutil.rmtree(folder / "again")
    assert (play("backup", folder)["code"], play("restore", folder)["code"]) == (0, 0), told
    assert state_of(folder / "again") == before, told
    assert list((folder / "backup" / "contents" / "arriving").iterdir()) == [], told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_restoring_cut_off_anywhere_leaves_a_whole_home_or_none(
    seed: int, tmp_path: Path, play: Story, prepared: Path
) -> None:
    told = cut("restore", play, prepared, tmp_path, seed)
    folder = tmp_path / "cut"
    whole = state_of(tmp_path / "counted" / "again")
    if not (folder / "again").exists():
        assert play("restore", folder)["code"] == 0, told
    assert state_of(folder / "again") == whole, told
    assert verify_records(folder / "again").intact, told
    assert not (folder / ".again.restoring").exists(), told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_sweep_cut_off_anywhere_leaves_each_thing_whole_or_gone(
    seed: int, tmp_path: Path, play: Story, prepared: Path, servers: tuple[str, str] | None
) -> None:
    told = cut("gc", play, prepared, tmp_path, seed, servers)
    after = state_of(tmp_path / "counted" / "home", books_in(tmp_path / "counted"))
    home, books = tmp_path / "cut" / "home", books_in(tmp_path / "cut")
    before, found = state_of(prepared / "home"), state_of(home, books)
    assert found.facts == before.facts, told
    for thing in {"/".join(path.split("/")[:2]) for path in before.files if "/" in path}:
        parts = [
            {p: w for p, w in one.files.items() if f"{p}/".startswith(f"{thing}/")} for one in (found, before, after)
        ]
        assert parts[0] in parts[1:] or thing.startswith("verdicts"), (told, thing)
    assert play("gc", tmp_path / "cut")["code"] == 0, told
    left = {path for path in state_of(home, books).files if path != "verdicts/content/one"}
    assert left == set(after.files), told
    assert list((home / "trash").iterdir()) == [], told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("story", ["migrate", "back"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_migration_or_its_way_back_cut_off_anywhere_leaves_the_books_as_before_or_as_after(
    seed: int, story: str, tmp_path: Path, play: Story, prepared: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(prepared, old, symlinks=True)
    books = places.books(old / "home")
    facts = state_of(old / "home").facts
    with closing(sqlite3.connect(books, isolation_level=None)) as driver:
        take_back(driver)
    if story == "back":
        assert play("migrate", old)["code"] == 0
    told = cut(story, play, old, tmp_path, seed)
    home = tmp_path / "cut" / "home"
    assert standing_of(places.books(home)) in {(REVISION, len(facts)), (BOOKS.head, len(facts))}, told
    if standing_of(places.books(home)).revision == REVISION:
        assert play("migrate", tmp_path / "cut")["code"] == 0, told
    assert state_of(home).facts == facts, told
    assert verify_records(home).intact, told
    assert standing_of(home / "former" / f"books-{REVISION}.sqlite3") == (REVISION, len(facts)), told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_audit_log_cut_off_while_a_file_is_put_aside_or_removed_is_whole(
    seed: int, tmp_path: Path, play: Story, prepared: Path
) -> None:
    told = cut("turn", play, prepared, tmp_path, seed)
    home = tmp_path / "cut" / "home"
    assert verify_records(home).intact, told
    begun = state_of(prepared / "home").files["audit/audit.jsonl"]
    assert play("turn", tmp_path / "cut")["code"] == 0, told
    assert verify_records(home).intact, told
    assert begun != state_of(home).files["audit/audit.jsonl"], told
    assert len(full_files(places.audit_log(home))) > 3, told

    (tmp_path / "shed").mkdir()
    told = cut("shed", play, tmp_path / "cut", tmp_path / "shed", seed)
    home = tmp_path / "shed" / "cut" / "home"
    assert verify_records(home).intact, told
    assert play("shed", tmp_path / "shed" / "cut")["code"] == 0, told
    assert full_files(places.audit_log(home)) == [], told
    assert verify_records(home).intact, told
    assert rows_of(places.books(home), "artifacts") == [], told


def rows_of(books: Books, table: str) -> list[Any]:
    with closing(ReadPool.open_reader(books)) as pool:
        return pool.read_sync(lambda reader: reader.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall())


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_account_whose_forgetting_is_cut_off_anywhere_is_as_before_or_forgotten(
    seed: int, tmp_path: Path, play: Story, prepared: Path, servers: tuple[str, str] | None
) -> None:
    told = cut("forget", play, prepared, tmp_path, seed, servers)
    home, books, after = tmp_path / "cut" / "home", books_in(tmp_path / "cut"), books_in(tmp_path / "counted")
    is_forgotten = rows_of(books, "artifacts") == []
    as_it_was = after if is_forgotten else places.books(prepared / "home")
    for table in ("accounts", "artifacts"):
        assert rows_of(books, table) == rows_of(as_it_was, table), told
    assert len(leaves(books)) == len(leaves(as_it_was)), told
    assert verify_records(home, books).intact, told
    assert play("forget", tmp_path / "cut")["code"] == 0, told
    assert rows_of(books, "accounts") == rows_of(after, "accounts"), told
    assert verify_records(home, books).intact, told
    assert [table for table in BOOKS.tables() if SECRET in str(rows_of(books, table))] == [], told
    assert SECRET in str(rows_of(places.books(prepared / "home"), "facts")), "else nothing was to be forgotten"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_export_cut_off_anywhere_is_whole_or_none_and_leaves_the_home_as_it_was(
    seed: int, tmp_path: Path, play: Story, prepared: Path, servers: tuple[str, str] | None
) -> None:
    told = cut("export", play, prepared, tmp_path, seed, servers)
    folder = tmp_path / "cut"
    assert state_of(folder / "home", books_in(folder)).facts == leaves(places.books(prepared / "home")), told
    if servers is None:
        assert state_of(folder / "home").files == state_of(prepared / "home").files, told
    if not (folder / "out").exists():
        assert play("export", folder)["code"] == 0, told
    assert listing(folder / "out") == listing(tmp_path / "counted" / "out"), told
    assert not (folder / ".out.exporting").exists(), told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_whose_taking_of_keys_is_cut_off_anywhere_signs_with_the_one_that_it_took_last(
    seed: int, tmp_path: Path, play: Story, prepared: Path
) -> None:
    told = cut("key", play, prepared, tmp_path, seed)
    home = tmp_path / "cut" / "home"
    with closing(Database.open(places.books(home), SystemClock())) as books:
        found = open_log_key(home, books, SystemClock(), SystemChance())
        keys = books.read_sync(lambda reader: [fact.body["key"] for fact in reader.facts(kind="log_key.made")])
        assert [*map(str, found.former), str(found.key.public)] == keys, told
        assert len(keys) in {1, 2}, told
        other = new_log_key(home, books, SystemClock(), SystemChance())
    assert [*map(str, other.former)] == keys, told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("story", ["move", "return"])
@pytest.mark.parametrize("seed", SEEDS)
def test_books_whose_moving_is_cut_off_anywhere_stand_whole_in_one_place_and_go_on(
    seed: int, story: str, tmp_path: Path, play: Story, prepared: Path, postgresql_server: str
) -> None:
    facts, folder = state_of(prepared / "home").facts, tmp_path / "cut"
    with database(postgresql_server) as one, database(postgresql_server) as other:
        told = cut(story, play, prepared, tmp_path, seed, (one, other))
        both: list[Books] = [places.books(folder / "home"), ServerBooks(other, folder / "home")]
        source, target = both if story == "move" else reversed(both)
        assert leaves(source) == facts, told
        with suppress(Refused):  # closed until it is whole
            assert leaves(target) == facts, told
        again = play(story, folder)
        assert again["code"] == 0 or "was moved to" in again["said"], (told, again)
        assert leaves(target) == facts, told
        assert verify_records(folder / "home", target).intact, told
        with pytest.raises(Refused) as refused:
            Database.open(source, SystemClock())
        assert refused.value.code == "books_moved", told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_backup_of_a_server_cut_off_anywhere_leaves_its_books_and_the_next_one_is_whole(
    seed: int, tmp_path: Path, play: Story, prepared: Path, postgresql_server: str
) -> None:
    facts, folder = state_of(prepared / "home").facts, tmp_path / "cut"
    with database(postgresql_server) as one, database(postgresql_server) as other:
        told = cut("save", play, prepared, tmp_path, seed, (one, other))
        assert leaves(ServerBooks(other, folder / "home")) == facts, told
        assert play("restore", folder)["code"] == 0, told
        assert leaves(places.books(folder / "again")) in (state_of(prepared / "again").facts, facts), told
        shutil.rmtree(folder / "again")
        assert (play("save", folder)["code"], play("restore", folder)["code"]) == (0, 0), told
        assert leaves(places.books(folder / "again")) == facts, told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_restoring_to_a_server_cut_off_anywhere_goes_on(
    seed: int, tmp_path: Path, play: Story, prepared: Path, postgresql_server: str
) -> None:
    facts, folder = state_of(prepared / "again").facts, tmp_path / "cut"
    with database(postgresql_server) as one, database(postgresql_server) as other:
        told = cut("settle", play, prepared, tmp_path, seed, (one, other))
        target = ServerBooks(other, folder / "again")
        with suppress(Refused):  # closed until it is whole
            assert leaves(target) == facts, told
        if not (folder / "again").exists():
            again = play("settle", folder)
            assert again["code"] == 0, (told, again)
        assert leaves(target) == facts, told
        assert verify_records(folder / "again", target).intact, told
