"""The tables of the books: numbered files of SQL, run in order, each once."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from earnest.effects.ground.storage.dialects import SQLITE, Dialect
from earnest.foundation.errors import Refused

if TYPE_CHECKING:
    from earnest.effects.ground.storage.engine import DriverSession

VERSION_TABLE: Final = "schema_version"
FORMER_TABLE: Final = "alembic_version"
"""Where books before revision 0005 say theirs."""
FILLING: Final = "filling"
"""The revision of books that do not hold yet all that is being copied into them."""


@dataclass(frozen=True, slots=True)
class Schema:
    """`folder` holds `NNNN_<what>.sql`, each a revision; `NNNN_<what>.<dialect>.sql` comes after it in that one.

    `fills`: for who copies other books into these; to everybody else they are closed until that has ended.
    """

    folder: Path
    fills: bool = False

    @property
    def filling(self) -> "Schema":
        """The same tables, for who fills them."""
        return replace(self, fills=True)

    @property
    def head(self) -> str:
        """The last revision: four digits."""
        return max(file.name[:4] for file in self.folder.glob("[0-9]*.sql"))

    def script(self, after: str = "", dialect: Dialect = SQLITE) -> str:
        """The statements that lead from revision `after`, by default from nothing, to the last one."""
        files = sorted((file.name[:4], len(file.suffixes), file) for file in self.folder.glob("[0-9]*.sql"))
        steps = [
            file.read_text(encoding="utf-8")
            for revision, _, file in files
            if revision > after and file.suffixes[:-1] in ([], [f".{dialect.name}"])
        ]
        made = f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (\n    revision TEXT NOT NULL\n);"
        return dialect.migration("\n".join((made, *steps, self.marked(FILLING if self.fills else self.head))))

    @staticmethod
    def marked(revision: str) -> str:
        """The statements that write down the revision, which is one of ours."""
        return f"DELETE FROM {VERSION_TABLE};\nINSERT INTO {VERSION_TABLE} VALUES ('{revision}');"  # noqa: S608 - ours

    def tables(self) -> dict[str, "TableColumns"]:
        """All tables but that of the revision, in the order of their making."""
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(self.script())
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: _columns(connection, name) for name in names if name != VERSION_TABLE}


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The names of a table's columns, and those of its primary key."""

    names: tuple[str, ...]
    key: tuple[str, ...]


def _columns(connection: sqlite3.Connection, table: str) -> TableColumns:
    found = connection.execute("SELECT name, pk FROM pragma_table_info(?)", (table,)).fetchall()
    return TableColumns(
        names=tuple(name for name, _ in found),
        key=tuple(name for name, _ in sorted(found, key=itemgetter(1)) if dict(found)[name]),
    )


BOOKS: Final = Schema(Path(__file__).with_name("migrations"))


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
        _run(connection, schema.script())
    elif is_older(revision, schema):
        with migrating():
            _upgrade(connection, schema, revision)


def revision_of(connection: sqlite3.Connection) -> str | None:
    """The revision that the database is at, or None for an empty one. Raises `Refused("not_our_database")`."""
    try:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        return revision_among(names, connection)
    except sqlite3.DatabaseError as error:
        raise Refused("not_our_database", f"it cannot be read as books of earnest: {error}") from error


def revision_among(tables: set[str], session: "DriverSession") -> str | None:
    """The revision of a database with these tables, or None without any. Raises `Refused("not_our_database")`."""
    if not tables:
        return None
    table = VERSION_TABLE if VERSION_TABLE in tables else FORMER_TABLE
    row = session.execute(f"SELECT * FROM {table}").fetchone() if table in tables else None  # noqa: S608 - ours
    if row is None or len(row) != 1:
        raise Refused("not_our_database", "it cannot be read as books of earnest: it does not say which revision")
    return str(row[0])


def is_older(revision: str, schema: Schema) -> bool:
    """Whether it must be migrated. Raises `Refused`: `database_too_new`, `books_filling`."""
    if revision == FILLING:
        if not schema.fills:
            raise Refused("books_filling", "other books are being copied into these: let `earnest migrate --to` end")
        return False
    head = schema.head
    if not (revision.isascii() and revision.isdigit()) or int(revision) > int(head):
        raise Refused(
            "database_too_new",
            f"the database has revision {revision}, this program knows {head}: update earnest",
        )
    return int(revision) < int(head)


def _upgrade(connection: sqlite3.Connection, schema: Schema, revision: str) -> None:
    from earnest.effects.ground.storage.former import keep_former  # noqa: PLC0415 - it imports this file

    place = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    if place:  # else it lies in memory
        keep_former(Path(place))
    _run(connection, schema.script(revision))


def _run(connection: sqlite3.Connection, script: str) -> None:
    """All of a script, or nothing."""
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nCOMMIT;")
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
    return (*problems, *compared(_objects_of(schema), _objects_in(connection)))


def compared(expected: Mapping[str, str], present: Mapping[str, str]) -> tuple[str, ...]:
    """Where the objects of a database differ from what they should be, in words."""
    altered = [name for name in sorted(expected) if present.get(name) != expected[name]]
    return (
        *(f"{name} is missing or was altered" for name in altered),
        *(f"{name} is not ours" for name in sorted(present.keys() - expected.keys())),
    )


def _objects_of(schema: Schema) -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema.script())
        return _objects_in(connection)


def _objects_in(connection: sqlite3.Connection) -> dict[str, str]:
    """The SQL of every table, index and trigger, by name, apart from white space."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {str(name): "".join(str(sql).split()) for name, sql in rows}
