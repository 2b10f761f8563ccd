"""Two dialects of one SQL: statements and tables are written once, in what SQLite and PostgreSQL both understand.

What they do not share is here, and in the migrations that have a dialect's name.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from earnest.effects.ground.storage.driver import SqlParameters, SqlValue

STATEMENTS_KEPT: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`name` stands in the names of its own files; `forms` are patterns in a migration, and what is put for each.

    `facts` selects facts so that those altered by hand do not stop a reader: text as bytes, NULL as empty.
    """

    name: str
    facts: str
    forms: tuple[tuple[str, str], ...]

    def migration(self, sql: str) -> str:
        """The statements of a migration that is common to all, in this dialect."""
        for pattern, form in self.forms:
            sql = re.sub(pattern, form, sql)
        return sql


SQLITE: Final = Dialect(
    name="sqlite",
    facts="SELECT seq, coalesce(CAST(at_ms AS INTEGER), 0), coalesce(CAST(kind AS BLOB), x''), "
    "coalesce(CAST(subject AS BLOB), x''), coalesce(CAST(body AS BLOB), x''), coalesce(CAST(leaf AS BLOB), x'') "
    "FROM facts",
    forms=((r"\n\);", "\n) STRICT;"),),
)
"""Columns keep to their types."""
POSTGRESQL: Final = Dialect(
    name="postgresql",
    facts="SELECT seq, at_ms, convert_to(kind, 'UTF8'), convert_to(subject, 'UTF8'), body, leaf FROM facts",
    forms=((r"\bINTEGER\b", "BIGINT"), (r"\bBLOB\b", "BYTEA"), (r"\bTEXT\b", 'TEXT COLLATE "C"')),
)
"""Integers of 8 bytes; texts compare as their bytes do, whatever the language of the server."""

_PARTS: Final = re.compile(r"'(?:[^']|'')*'|\?|(?<!:):[a-z_][a-z0-9_]*")


def spelled_out(sql: str, parameters: SqlParameters, spelled: Callable[[SqlValue], str]) -> str:
    """A statement with its values in the places of its parameters."""
    values = iter(parameters) if isinstance(parameters, Sequence) else iter(())

    def put(found: re.Match[str]) -> str:
        part = found[0]
        if part == "?":
            return spelled(next(values))
        return spelled(parameters[part[1:]]) if part[0] == ":" else part  # type: ignore[call-overload]

    return _PARTS.sub(put, sql)


@lru_cache(maxsize=STATEMENTS_KEPT)
def numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """A statement with `$1`, `$2` … for its parameters; and their names, in that order, where they have some."""
    names: list[str] = []
    marks = 0

    def mark(found: re.Match[str]) -> str:
        nonlocal marks
        part = found[0]
        if part == "?":
            marks += 1
            return f"${marks}"
        if part.startswith(":"):
            if part[1:] not in names:
                names.append(part[1:])
            return f"${names.index(part[1:]) + 1}"
        return part

    return _PARTS.sub(mark, sql), tuple(names)
