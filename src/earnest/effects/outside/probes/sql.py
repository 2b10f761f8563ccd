"""A probe that asks a database one query. It only reads, and rolls back."""

from decimal import Decimal
from pathlib import Path

import sqlalchemy
from sqlalchemy.engine import make_url

from earnest.effects.outside.probes.question import Question, Unknown


def measured(question: Question) -> bool | int | float | str | None:
    """The first column of the only row, or None without rows. Raises `Unknown` for more rows, or no plain value."""
    address = make_url(question.text("url"))
    if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
        raise Unknown("there is no such database")  # SQLite would make an empty one, which then has no rows
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        if address.get_backend_name() == "sqlite":
            connection.execute(sqlalchemy.text("PRAGMA query_only = ON"))
        rows = connection.execute(sqlalchemy.text(question.text("query"))).fetchmany(2)
        connection.rollback()
    if len(rows) > 1:
        raise Unknown("the query answered more than one row")
    value = rows[0][0] if rows else None
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if not isinstance(value, bool | int | float | str | None):
        raise Unknown(f"the query answered a {type(value).__name__}")
    return value
