"""The books at one moment, copied to a file beside whoever writes them.

Those of a file are copied page by page, those of a server row by row: a backup is the same for both.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from earnest.effects.ground.storage.driver import connect_reader, meaning_of
from earnest.effects.ground.storage.filling import Filling
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import BooksReader, read_once
from earnest.effects.ground.storage.schema import BOOKS, revision_of
from earnest.effects.ground.storage.sqlite import SqliteEngine
from earnest.foundation.errors import Broken, Refused

PAGES_AT_ONCE: Final = 512


def copy_books(books: Books, target: Path, moved: Callable[[int], None]) -> tuple[str, int]:
    """Copy the books as they are now to `target`; the revision of their tables, and the number of the newest fact.

    The copy is of one moment, however long it takes: writers go on, and what they commit meanwhile is not in it.
    `moved` is told after each some pages how many bytes they were. Raises `Refused("no_database")`, `Broken`.
    """
    if not isinstance(books, Path):
        return read_once(books, lambda reader: _copy_rows(reader, target, moved))
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
                copy.execute("PRAGMA synchronous = OFF")  # read once and removed: its way to the disk is others' wait
                source.backup(copy, pages=PAGES_AT_ONCE, progress=lambda *_: moved(PAGES_AT_ONCE * page_bytes))
        except sqlite3.Error as error:
            raise meaning_of(error) from error
    if revision is None:
        raise Broken(f"{books} holds no tables")
    return revision, int(last_seq)


def _copy_rows(reader: BooksReader, target: Path, moved: Callable[[int], None]) -> tuple[str, int]:
    """Facts first and indexes last: the pages of facts that two copies share lie at the same places in both."""
    target.unlink(missing_ok=True)
    with contextlib.closing(Filling(SqliteEngine(target), BOOKS, is_durable=False)) as filling:
        session = filling.writing.session
        indexes = session.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql <> ''").fetchall()
        for name, _ in indexes:
            session.execute(f"DROP INDEX {name}")
        filling.begin(reader)
        filling.fill(reader, lambda _, __, size_bytes: moved(size_bytes))
        for _, sql in indexes:
            session.execute(sql)
        filling.open_up()
    (last_seq,) = reader.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()
    return BOOKS.head, int(last_seq)
