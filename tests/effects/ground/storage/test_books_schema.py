"""Do new and migrated tables agree, and is what does not fit refused?"""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS, Schema, faults, prepare, revision_of
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact

MADE_BY_ALEMBIC = {
    "0001": "4d732c0c17999c6d61b642d8e6c67f1c4abdb188df72795829a9c6a611c1e492",
    "0002": "7adb4e9e62cf942ed69de26af0041c31418088a4157797bb8cc9f5ffd2e056e8",
    "0003": "c3c5842e612572d6de1f0cad6da3e35b04fac422ea15e6e43eff8a56554c3152",
    "0004": "5656a3dd5e9659e81271f118a8ea53877408f1a7ab5adf6678de6cd4434de9c5",
}
"""A digest of the tables, indexes and triggers of books that earlier versions made, at each revision."""


@pytest.fixture
def empty() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def copied(folder: Path, until: str = BOOKS.head) -> Schema:
    """The files up to a revision, in a folder of their own."""
    shutil.copytree(BOOKS.folder, folder)
    for file in folder.iterdir():
        if file.name[:4] > until:
            file.unlink()
    return Schema(folder)


def newer_schema(folder: Path, sql: str = "CREATE TABLE news (id INTEGER);") -> Schema:
    """The schema of a later program, with one revision more."""
    schema = copied(folder)
    (folder / f"{int(schema.head) + 1:04d}_news.sql").write_text(sql)
    return schema


def openings(path: Path, clock: VirtualClock) -> list[Callable[[], ReadPool]]:
    return [lambda: Database.open_reader(path), lambda: Database.open(path, clock)]


def test_a_new_database_has_no_faults(empty: sqlite3.Connection) -> None:
    prepare(empty, BOOKS)
    assert revision_of(empty) == BOOKS.head
    assert faults(empty, BOOKS) == ()


@pytest.mark.parametrize(("revision", "digest"), MADE_BY_ALEMBIC.items())
def test_the_tables_of_every_revision_are_those_that_alembic_made(
    empty: sqlite3.Connection, revision: str, digest: str, tmp_path: Path
) -> None:
    prepare(empty, copied(tmp_path / "then", revision))
    rows = empty.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'schema_version'")
    objects = sorted((name, "".join(sql.split())) for name, sql in rows)
    assert hashlib.sha256(repr(objects).encode()).hexdigest() == digest


@pytest.mark.parametrize("revision", MADE_BY_ALEMBIC)
def test_books_of_every_revision_become_those_of_this_one(
    empty: sqlite3.Connection, revision: str, tmp_path: Path
) -> None:
    prepare(empty, copied(tmp_path / "then", revision))
    empty.executescript(
        "DROP TABLE schema_version; CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);"
        f"INSERT INTO alembic_version VALUES ('{revision}');"
    )
    assert revision_of(empty) == revision
    prepare(empty, BOOKS)
    assert (revision_of(empty), faults(empty, BOOKS)) == (BOOKS.head, ())


def test_revisions_are_numbered_without_gaps_and_each_engine_has_its_own_part() -> None:
    names = sorted(file.name for file in BOOKS.folder.iterdir() if file.suffix == ".sql")
    portable = [name for name in names if name.count(".") == 1]
    own = {
        name.removesuffix(f".{engine}.sql") for engine in ("sqlite", "postgresql") for name in names if engine in name
    }
    assert own == {"0001_facts", "0010_memory", "0012_order_of_facts"}
    alone = {name[:4] for name in own} - {name[:4] for name in portable} | {"0008", "0009"}  # two never were
    expected = (f"{number:04d}" for number in range(1, int(portable[-1][:4]) + 1))
    assert [name[:4] for name in portable] == [number for number in expected if number not in alone]
    assert {f"0001_facts.{engine}.sql" for engine in ("sqlite", "postgresql")} <= set(names)


def test_no_constraint_waits_for_the_commit_that_others_share() -> None:
    assert "DEFERR" not in BOOKS.script().upper()


def test_a_database_of_an_older_program_is_migrated_and_keeps_its_facts(
    path: Path, clock: VirtualClock, tmp_path: Path
) -> None:
    with closing(Database.open(path, clock)) as database:
        database.write_sync(lambda t: t.record(Fact(kind="test.old", subject="s", at_ms=1, body={})))
    newer = newer_schema(tmp_path / "newer")
    with pytest.raises(Refused) as refused:
        Database.open_reader(path, newer)
    assert refused.value.code == "database_too_old"
    with closing(Database.open(path, clock, newer)) as database:
        assert database.read_sync(lambda reader: [fact.kind for fact in reader.facts()]) == ["test.old"]
        assert database.read_sync(lambda reader: reader.faults()) == ()


def test_a_migration_that_fails_leaves_the_database_as_it_was(path: Path, clock: VirtualClock, tmp_path: Path) -> None:
    Database.open(path, clock).close()
    failing = newer_schema(tmp_path / "failing", "CREATE TABLE news (id INTEGER); SELECT half_way();")
    with pytest.raises(Broken, match="half_way"):
        Database.open(path, clock, failing)
    with closing(Database.open(path, clock)) as database:
        assert database.read_sync(lambda reader: reader.faults()) == ()


def test_a_database_of_a_newer_program_is_refused(path: Path, clock: VirtualClock, tmp_path: Path) -> None:
    Database.open(path, clock, newer_schema(tmp_path / "newer")).close()
    for opening in openings(path, clock):
        with pytest.raises(Refused, match="update earnest") as refused:
            opening()
        assert refused.value.code == "database_too_new"


def test_a_database_of_another_program_is_refused_untouched(path: Path, clock: VirtualClock) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    for opening in openings(path, clock):
        with pytest.raises(Refused) as refused:
            opening()
        assert refused.value.code == "not_our_database"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("DROP TRIGGER facts_kept", "facts_kept is missing or was altered"),
        ("DROP INDEX facts_by_kind", "facts_by_kind is missing or was altered"),
        ("CREATE TABLE theirs (id INTEGER)", "theirs is not ours"),
    ],
)
def test_a_missing_guard_and_a_strange_table_are_faults(empty: sqlite3.Connection, sql: str, fault: str) -> None:
    prepare(empty, BOOKS)
    empty.execute(sql)
    assert faults(empty, BOOKS) == (fault,)


def test_a_full_disk_at_the_first_start_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    schema = copied(tmp_path / "small")
    (schema.folder / "0000_small.sql").write_text("PRAGMA max_page_count = 2;")
    books = tmp_path / "home" / "books.sqlite3"
    with pytest.raises(Broken, match="the database failed: database or disk is full"):
        Database.open(books, VirtualClock(), schema)
    Database.open(books, VirtualClock()).close()
