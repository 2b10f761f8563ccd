"""The note in a data directory that its books were moved elsewhere: to write to the old ones would fork the log."""

import json
from pathlib import Path
from typing import Final

from earnest.effects.ground.durable import put_file
from earnest.effects.ground.storage.place import Books, home_of
from earnest.foundation.errors import Refused

FILE_NAME: Final = "moved.json"


def note_moved(source: Books, target: Books) -> None:
    """Note it; a note of an earlier moving goes, so that books that were moved back are open again."""
    note = {"from": str(source), "to": str(target), "source": _identity(source)}
    put_file(home_of(source) / FILE_NAME, json.dumps(note).encode())


def check_not_moved(books: Books) -> None:
    """Raises `Refused("books_moved")` where the data directory says that these are not its books any more."""
    note: Path = home_of(books) / FILE_NAME
    try:
        moved = json.loads(note.read_bytes())
    except FileNotFoundError:
        return
    if moved["source"] == _identity(books):
        raise Refused("books_moved", f"{books} was moved to {moved['to']}: set `database` to it, or remove {note}")


def _identity(books: Books) -> str:
    return books.name if isinstance(books, Path) else books.digest
