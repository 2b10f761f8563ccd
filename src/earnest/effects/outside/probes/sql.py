"""The answer of one query to a database, which is only read."""

import contextlib
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from earnest.effects.outside.probes.api import ProbeQuestion, Unknown

SQLITE: Final = "sqlite:///"


def measured(question: ProbeQuestion) -> bool | int | float | str | None:
    """The first column of the only row, or None without rows. Raises `Unknown` for more rows, or no plain value."""
    url, query = question.text("url"), question.text("query")
    rows = _sqlite(url, query) if url.startswith(SQLITE) else _postgresql(url, query)
    if len(rows) > 1:
        raise Unknown("the query answered more than one row")
    value = rows[0][0] if rows else None
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if not isinstance(value, bool | int | float | str | None):
        raise Unknown(f"the query answered a {type(value).__name__}")
    return value


def _sqlite(url: str, query: str) -> list[tuple[Any, ...]]:
    path = Path(unquote(url.removeprefix(SQLITE)))
    if not path.is_file():
        raise Unknown("there is no such database")
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchmany(2)


def _postgresql(url: str, query: str) -> list[tuple[Any, ...]]:
    try:
        import psycopg  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError:
        raise Unknown("what asks PostgreSQL is not installed: install 'earnest[postgresql]'") from None
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        connection.read_only = True
        return connection.execute(query.encode()).fetchmany(2)
