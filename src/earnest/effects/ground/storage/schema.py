"""The schema of a database: checked, made and migrated."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.foundation.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """`folder` holds `schema.sql`, which makes a new database, and the Alembic scripts that lead to the same.

    `head` is the last revision: four digits, each revision one more than the one before.
    """

    head: str
    folder: Path

    def sql(self) -> str:
        """The statements that make a new database."""
        return (self.folder / "schema.sql").read_text(encoding="utf-8")


BOOKS: Final = Schema(head="0004", folder=Path(__file__).with_name("migrations"))


def prepare(
    connection: sqlite3.Connection,
    schema: Schema,
    migrating: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Create, or keep a copy and migrate, in one transaction; within `migrating` where others may use it meanwhile.

    The caller has the writer's turn. Raises `Refused` for a newer database and for one that is not ours; `OSError`
    where there is no room for the copy.
    """
    revision = revision_of(connection)
    if revision is None:
        # Not through Alembic: importing it takes longer than everything else that a first start does.
        connection.executescript(f"BEGIN IMMEDIATE;\n{schema.sql()}\nCOMMIT;")
    elif _is_older(revision, schema):
        with migrating():
            _upgrade(connection, schema)


def check_readable(connection: sqlite3.Connection, schema: Schema) -> None:
    """Raises `Refused` unless the database has exactly this schema's revision: a reader does not migrate."""
    revision = revision_of(connection)
    if revision is None or _is_older(revision, schema):
        raise Refused("database_too_old", "the database must be migrated first: open it once for writing")


def revision_of(connection: sqlite3.Connection) -> str | None:
    """The revision that the database is at, or None for an empty one. Raises `Refused("not_our_database")`."""
    try:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            return None
        (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.DatabaseError, TypeError) as error:
        raise Refused("not_our_database", f"it cannot be read as books of earnest: {error}") from error
    return str(revision)


def _is_older(revision: str, schema: Schema) -> bool:
    if not (revision.isascii() and revision.isdigit()) or int(revision) > int(schema.head):
        raise Refused(
            "database_too_new",
            f"the database has revision {revision}, this program knows {schema.head}: update earnest",
        )
    return int(revision) < int(schema.head)


def _upgrade(connection: sqlite3.Connection, schema: Schema) -> None:
    from alembic import command  # noqa: PLC0415 - takes most of a second
    from alembic.config import Config  # noqa: PLC0415

    from earnest.effects.ground.storage.core import engine_over  # noqa: PLC0415
    from earnest.effects.ground.storage.former import keep_former  # noqa: PLC0415

    place = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    if place:  # else it lies in memory
        keep_former(Path(place))
    config = Config()
    config.set_main_option("script_location", str(schema.folder).replace("%", "%%"))
    connection.execute("BEGIN IMMEDIATE")
    try:
        with engine_over(connection).connect() as core:
            config.attributes["connection"] = core
            command.upgrade(config, schema.head)
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def faults(connection: sqlite3.Connection, schema: Schema, *, whole: bool = True) -> tuple[str, ...]:
    """What is wrong with tables, indexes and triggers, in SQLite's words and ours; empty if nothing is.

    A row hidden from an index, a value of a type that its column does not have and a missing trigger are all found;
    not `whole`, the last alone, without reading every page.
    """
    lines = connection.execute("PRAGMA integrity_check") if whole else ()
    problems = [str(line) for (line,) in lines if line != "ok"]
    expected, present = _objects_of(schema), _objects_in(connection)
    problems += [
        f"{name} is missing or was altered" for name in sorted(expected) if present.get(name) != expected[name]
    ]
    problems += [f"{name} is not ours" for name in sorted(present.keys() - expected.keys())]
    return tuple(problems)


def _objects_of(schema: Schema) -> dict[str, str]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(schema.sql())
        return _objects_in(connection)
    finally:
        connection.close()


def _objects_in(connection: sqlite3.Connection) -> dict[str, str]:
    """The SQL of every table, index and trigger, by name, apart from white space."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {str(name): "".join(str(sql).split()) for name, sql in rows}
