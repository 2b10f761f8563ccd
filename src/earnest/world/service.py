"""The books of the town: who is where, what was said, what was posted."""

from typing import Any, Final

from earnest.effects.ground.storage.rows import Book
from earnest.world import rows

RESIDENTS: Final = Book("resident", rows.RESIDENTS)
REMARKS: Final = Book("remark", rows.REMARKS)
POSTS: Final = Book("post", rows.POSTS)

BOOKS: Final[tuple[Book[Any], ...]] = (RESIDENTS, REMARKS, POSTS)
