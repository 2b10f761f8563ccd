"""The books as they were before a migration, kept beside them, and put back."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from earnest.effects.ground.durable import sync_file, sync_folder
from earnest.effects.ground.storage.driver import connect_reader, connect_writer
from earnest.effects.ground.storage.lock import HomeLock
from earnest.effects.ground.storage.schema import Schema, prepare, revision_of
from earnest.effects.ground.storage.snapshot import copy_books
from earnest.foundation.errors import Refused, Unavailable

FOLDER = "former"


class BooksStanding(NamedTuple):
    """At which revision books are, and the number of their newest fact."""

    revision: str
    facts: int


def keep_former(books: Path) -> Path:
    """Copy the books to a file named by their revision, all of it or nothing. Raises `Broken`, `OSError`."""
    folder = books.parent / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    draft = folder / "arriving"
    revision, _ = copy_books(books, draft, lambda _: None)
    sync_file(draft)
    kept = draft.replace(folder / f"books-{revision}.sqlite3")
    sync_folder(folder)
    return kept


def migrate(books: Path, schema: Schema) -> tuple[BooksStanding, BooksStanding]:
    """Bring the books to the schema, the former kept; how they stood before, and how they do now.

    Raises `Refused`: `no_database`, `data_directory_in_use`, `database_too_new`; `Broken`, `OSError`.
    """
    with _held(books):
        before = standing_of(books)
        with contextlib.closing(connect_writer(books)) as driver:
            prepare(driver, schema)
        return before, standing_of(books)


def put_back(books: Path, *, lose_facts: bool = False) -> tuple[BooksStanding, BooksStanding]:
    """Put the newest of the former books in the place of these, which are kept in turn; how both stand.

    Raises `Refused`: `no_database`, `data_directory_in_use`, `former_missing`, and `facts_since` if the former lack
    facts of these, which they lose with `lose_facts`; `Unavailable` while others read; `OSError`.
    """
    with _held(books):
        now = standing_of(books)
        kept = [
            path for path in sorted((books.parent / FOLDER).glob("books-*.sqlite3")) if path.stem[6:] < now.revision
        ]
        if not kept:
            raise Refused("former_missing", f"{books.parent / FOLDER} holds no books of before revision {now.revision}")
        former = standing_of(kept[-1])
        if former.facts < now.facts and not lose_facts:
            raise Refused("facts_since", f"{now.facts - former.facts} facts were recorded since, and would be lost")
        with contextlib.closing(connect_writer(books)) as driver:
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        log = books.with_name(f"{books.name}-wal")
        if log.exists() and log.stat().st_size:  # it would be taken for that of the others
            raise Unavailable(f"others read {books}: end them first")
        keep_former(books)
        log.unlink(missing_ok=True)
        draft = books.parent / FOLDER / "arriving"
        shutil.copyfile(kept[-1], draft)
        draft.chmod(0o600)
        sync_file(draft)
        draft.replace(books)
        sync_folder(books.parent)
        return now, former


def standing_of(books: Path) -> BooksStanding:
    """How books that are there stand. Raises `Refused("not_our_database")`."""
    with contextlib.closing(connect_reader(books)) as driver:
        (facts,) = driver.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()
        return BooksStanding(revision_of(driver) or "", int(facts))


@contextlib.contextmanager
def _held(books: Path) -> Iterator[None]:
    """The data directory, for us alone."""
    if not books.is_file():
        raise Refused("no_database", f"there is no database at {books}")
    with contextlib.closing(HomeLock(books)) as lock:
        lock.take(alone=True)
        yield
