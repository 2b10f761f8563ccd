"""How commands that only ask open the books: read-only, beside whoever is writing."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from earnest.app.settings import Settings
    from earnest.effects.storage.reader import ReadPool


@contextlib.contextmanager
def reading() -> Iterator[tuple["ReadPool", "Settings"]]:
    """The books and the settings. Raises `Refused("no_database")` before the first run."""
    from earnest.app import places  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.effects.storage.reader import ReadPool  # noqa: PLC0415

    settings = read_settings()
    books = ReadPool.open_reader(places.books(settings.home))
    try:
        yield books, settings
    finally:
        books.close()
