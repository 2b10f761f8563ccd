"""The books at one moment, copied page by page beside whoever writes them."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from earnest.effects.ground.storage.driver import connect_reader, meaning_of
from earnest.effects.ground.storage.schema import revision_of
from earnest.foundation.errors import Broken, Refused

PAGES_AT_ONCE: Final = 512


def copy_books(books: Path, target: Path, moved: Callable[[int], None]) -> tuple[str, int]:
    """Copy the books as they are now to `target`; the revision of their tables, and the number of the newest fact.

    The copy is of one moment, however long it takes: writers go on, and what they commit meanwhile is not in it.
    `moved` is told after each some pages how many bytes they were. Raises `Refused("no_database")`, `Broken`.
    """
    if not books.is_file():
        raise Refused("no_database", f"there is no database at {books}")
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with contextlib.closing(connect_reader(books)) as source:
        try:
            source.execute("BEGIN")  # held until the end: else each commit of a writer would begin the copy anew
            (last_seq,) = source.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()
            revision = revision_of(source)
            (page_bytes,) = source.execute("PRAGMA page_size").fetchone()
            with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy:
                source.backup(copy, pages=PAGES_AT_ONCE, progress=lambda *_: moved(PAGES_AT_ONCE * page_bytes))
        except sqlite3.Error as error:
            raise meaning_of(error) from error
    if revision is None:
        raise Broken(f"{books} holds no tables")
    return revision, int(last_seq)
