"""Do new, migrated and declared tables agree, and is what does not fit refused?"""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from earnest.accountability import tables as accountability_tables
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage import schema as schema_module
from earnest.effects.ground.storage.core import engine_over
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS, Schema, faults, prepare, revision_of
from earnest.effects.ground.storage.tables import METADATA
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact
from earnest.identity import tables as identity_tables
from earnest.ledger import tables as ledger_tables
from earnest.market import tables as market_tables
from earnest.world import tables as world_tables

ROOMS = (
    accountability_tables,
    identity_tables,
    ledger_tables,
    market_tables,
    world_tables,
)  # importing them declares their tables
NEXT = '''"""Revision {number}: a table for a test."""

from alembic import op

revision = "{number}"
down_revision = "{before}"


def upgrade() -> None:
    """Create it."""
    op.execute("CREATE TABLE news (id INTEGER PRIMARY KEY)")
    {more}
'''


@pytest.fixture
def empty() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def newer_schema(folder: Path, more: str = "pass") -> Schema:
    """The schema of a later program, with one revision more."""
    shutil.copytree(BOOKS.folder, folder)
    number = f"{int(BOOKS.head) + 1:04d}"
    script = NEXT.format(number=number, before=BOOKS.head, more=more)
    (folder / "versions" / f"r{number}_news.py").write_text(script)
    sql = BOOKS.sql().replace(f"'{BOOKS.head}'", f"'{number}'")
    (folder / "schema.sql").write_text(sql + "CREATE TABLE news (id INTEGER PRIMARY KEY);")
    return Schema(head=number, folder=folder)


def openings(path: Path, clock: VirtualClock) -> list[Callable[[], ReadPool]]:
    return [lambda: Database.open_reader(path), lambda: Database.open(path, clock)]


def test_a_new_database_has_the_tables_that_are_declared(empty: sqlite3.Connection) -> None:
    prepare(empty, BOOKS)
    with engine_over(empty).connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
    assert revision_of(empty) == BOOKS.head
    assert faults(empty, BOOKS) == ()


def test_the_migrations_from_nothing_end_at_the_tables_of_a_new_database(empty: sqlite3.Connection) -> None:
    schema_module._upgrade(empty, BOOKS)
    assert faults(empty, BOOKS) == ()
    assert revision_of(empty) == BOOKS.head
    with engine_over(empty).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_no_constraint_waits_for_the_commit_that_others_share() -> None:
    constraints = [constraint for table in METADATA.tables.values() for constraint in table.constraints]
    assert constraints
    assert not any(constraint.deferrable or constraint.initially for constraint in constraints)


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
    failing = newer_schema(tmp_path / "failing", more='raise RuntimeError("half way")')
    with pytest.raises(RuntimeError, match="half way"):
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


def test_neither_alembic_nor_sqlalchemy_is_imported_to_record_and_read_facts(path: Path) -> None:
    program = f"""
import pathlib, sys
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.facts import Fact
database = Database.open(pathlib.Path({str(path)!r}), SystemClock())
database.write_sync(lambda t: t.record(Fact(kind="a.b", subject="c", at_ms=1, body={{}})))
assert database.read_sync(lambda reader: len(list(reader.facts()))) == 1
database.close()
print([name for name in ("alembic", "sqlalchemy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_full_disk_at_the_first_start_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("PRAGMA max_page_count = 2;\n" + BOOKS.sql())
    books = tmp_path / "home" / "books.sqlite3"
    with pytest.raises(Broken, match="the database failed: database or disk is full"):
        Database.open(books, VirtualClock(), Schema(head=BOOKS.head, folder=tmp_path))
    Database.open(books, VirtualClock()).close()
