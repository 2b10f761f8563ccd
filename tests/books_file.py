"""The file and the connections of books of SQLite, for tests that look beneath them or break them."""

import sqlite3
from pathlib import Path

from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.sqlite import SqliteEngine


def file_of(database: Database) -> Path:
    """Where they lie."""
    assert isinstance(database._engine, SqliteEngine)
    return database._engine.path


def writer_of(database: Database) -> sqlite3.Connection:
    """The connection that writes."""
    session = database._writer._writing.session
    assert isinstance(session, sqlite3.Connection)
    return session


def reader_of(reader: BooksReader) -> sqlite3.Connection:
    """The connection that a reader reads on."""
    assert isinstance(reader.link.session, sqlite3.Connection)
    return reader.link.session
