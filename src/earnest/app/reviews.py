"""Where people are asked: in books that this process writes, or beside whoever does."""

from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import ReadPool
from earnest.runtime.review_book import ReviewBook


def reviews_in(database: Database, clock: Clock) -> ReviewBook:
    """People are asked in books that this process writes."""
    return ReviewBook(clock=clock, reading=lambda: nullcontext(database), writing=lambda: nullcontext(database))


def reviews_beside(books: Books, clock: Clock) -> ReviewBook:
    """People are asked in books that are opened only when somebody must be asked: they may be another process's."""

    def reading() -> AbstractContextManager[ReadPool | None]:
        if isinstance(books, Path) and not books.is_file():
            return nullcontext()
        return closing(ReadPool.open_reader(books))

    return ReviewBook(clock=clock, reading=reading, writing=lambda: closing(Database.open(books, clock)))
