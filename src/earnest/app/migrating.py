"""The books of a data directory brought to this version of the program, and back."""

from pathlib import Path

from earnest.app import places
from earnest.effects.ground.storage.former import BooksStanding, migrate, put_back
from earnest.effects.ground.storage.schema import BOOKS


def go_on(home: Path) -> tuple[BooksStanding, BooksStanding]:
    """See `former.migrate`."""
    return migrate(places.books(home), BOOKS)


def go_back(home: Path, *, lose_facts: bool) -> tuple[BooksStanding, BooksStanding]:
    """See `former.put_back`. How far the records were verified is forgotten: it was said of other books."""
    places.verified(home).unlink(missing_ok=True)
    return put_back(places.books(home), lose_facts=lose_facts)
