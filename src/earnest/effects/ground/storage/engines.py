"""The engine of the books of a place."""

from pathlib import Path

from earnest.effects.ground.storage.engine import BooksEngine
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.sqlite import SqliteEngine


def engine_of(books: Books) -> BooksEngine:
    """The engine of these books. Raises `Unavailable` where what speaks to a server is not installed."""
    if isinstance(books, Path):
        return SqliteEngine(books)
    from earnest.effects.ground.storage.postgresql import PostgresqlEngine  # noqa: PLC0415 - of an extra

    return PostgresqlEngine(books.address)
