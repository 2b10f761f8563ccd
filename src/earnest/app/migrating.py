"""The books of a data directory brought to this version of the program, and back."""

from contextlib import closing
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.judging_settings import ADDRESSES
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.driver import DATABASE_ERROR
from earnest.effects.ground.storage.engines import engine_of
from earnest.effects.ground.storage.former import BooksStanding, migrate, put_back
from earnest.effects.ground.storage.place import Books, ServerBooks, home_of
from earnest.effects.ground.storage.schema import BOOKS
from earnest.foundation.errors import Refused

SQLITE: Final = "sqlite"


def place_of(books: Books, word: str) -> Books:
    """Where `word`, an address or `sqlite`, puts the books of a data directory. Raises `Refused("bad_place")`."""
    home = home_of(books)
    if word == SQLITE:
        return places.books(home)
    if not word.startswith(ADDRESSES["database"]):
        raise Refused("bad_place", f"--to takes {SQLITE} or an address that begins with postgresql://")
    return ServerBooks(word, home)


def go_on(books: Books) -> tuple[BooksStanding, BooksStanding]:
    """See `former.migrate`. Of books on a server no copy is kept: take a backup before."""
    if isinstance(books, Path):
        return migrate(books, BOOKS)
    before = _standing(books)
    with closing(Database.open(books, SystemClock(), alone=True)):
        return before, _standing(books)


def go_back(books: Books, *, lose_facts: bool) -> tuple[BooksStanding, BooksStanding]:
    """See `former.put_back`. How far the records were verified is forgotten: it was said of other books.

    Raises `Refused("books_on_server")` for those of which no copy is kept.
    """
    if not isinstance(books, Path):
        raise Refused("books_on_server", f"of books on {books} no former ones are kept: restore a backup of before")
    places.verified(books.parent).unlink(missing_ok=True)
    return put_back(books, lose_facts=lose_facts)


def _standing(books: ServerBooks) -> BooksStanding:
    with closing(engine_of(books).reader()) as reading:
        try:
            (revision,) = reading.session.execute("SELECT revision FROM schema_version").fetchone()
            (facts,) = reading.session.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()
        except DATABASE_ERROR as error:
            raise Refused("no_database", f"there are no books on {books} yet: {error}") from error
    return BooksStanding(str(revision), int(facts))
