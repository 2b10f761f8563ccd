"""The books of the town: who is where, what was said, what was posted."""

from typing import Any, Final

from earnest.effects.storage.book import Book
from earnest.world.resident import Resident
from earnest.world.talk import Post, Remark

RESIDENTS: Final = Book("resident", Resident, "residents")
REMARKS: Final = Book("remark", Remark, "remarks")
POSTS: Final = Book("post", Post, "posts")

BOOKS: Final[tuple[Book[Any], ...]] = (RESIDENTS, REMARKS, POSTS)
