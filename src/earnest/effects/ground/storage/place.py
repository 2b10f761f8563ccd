"""Where books may be: in a file of the data directory, or on a server."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from earnest.foundation.canonical import digest_bytes


@dataclass(frozen=True, slots=True)
class ServerBooks:
    """Books on a server of PostgreSQL. `home` is the data directory of this machine, for all that is no book."""

    address: str
    home: Path

    def __str__(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"  # an address may hold a password

    @property
    def digest(self) -> str:
        """What tells this database from others, whoever connects to it."""
        parts = urlsplit(self.address)
        return digest_bytes(f"{parts.netloc.rpartition('@')[2]}{parts.path}?{parts.query}".encode())


Books: TypeAlias = Path | ServerBooks
"""The file of SQLite, or the server."""


def home_of(books: Books) -> Path:
    """The data directory that goes with them."""
    return books.parent if isinstance(books, Path) else books.home
