"""Where books may be: in a file of the data directory, or on a server.

A note in a data directory says that its books were moved elsewhere: to write to the old ones would fork the log.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from earnest.effects.ground.durable import put_file
from earnest.foundation.canonical import digest_bytes
from earnest.foundation.errors import Refused

MOVED: Final = "moved.json"


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


def note_moved(source: Books, target: Books) -> None:
    """Note it; a note of an earlier moving goes, so that books that were moved back are open again."""
    note = {"from": str(source), "to": str(target), "source": _identity(source)}
    put_file(home_of(source) / MOVED, json.dumps(note).encode())


def check_not_moved(books: Books) -> None:
    """Raises `Refused("books_moved")` where the data directory says that these are not its books any more."""
    note: Path = home_of(books) / MOVED
    try:
        moved = json.loads(note.read_bytes())
    except FileNotFoundError:
        return
    if moved["source"] == _identity(books):
        raise Refused("books_moved", f"{books} was moved to {moved['to']}: set `database` to it, or remove {note}")


def _identity(books: Books) -> str:
    return books.name if isinstance(books, Path) else books.digest
