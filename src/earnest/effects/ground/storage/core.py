"""SQLAlchemy Core over a driver connection whose transactions are not its own."""

import sqlite3
from typing import TYPE_CHECKING

from sqlalchemy import Engine, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import StaticPool

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection


class BorrowedDialect(SQLiteDialect_pysqlite):
    """SQLite over a connection whose owner begins, commits, rolls back and closes."""

    supports_statement_cache = True

    def do_begin(self, dbapi_connection: "DBAPIConnection") -> None:
        """Leave it to the owner."""

    def do_rollback(self, dbapi_connection: "DBAPIConnection") -> None:
        """Leave it to the owner."""

    def do_commit(self, dbapi_connection: "DBAPIConnection") -> None:
        """Leave it to the owner."""

    def do_close(self, dbapi_connection: "DBAPIConnection") -> None:
        """Leave it to the owner."""


registry.register("sqlite.borrowed", __name__, BorrowedDialect.__name__)


def engine_over(connection: sqlite3.Connection) -> Engine:
    """An engine whose every connection is `connection`."""
    return create_engine("sqlite+borrowed://", creator=lambda: connection, poolclass=StaticPool)
