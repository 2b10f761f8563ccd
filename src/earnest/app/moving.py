"""The books of a data directory brought to this version of the program, or moved to a server, and back.

Moved books are the same facts at the same places, and verified before use.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.backup import Tell
from earnest.app.judging_settings import ADDRESSES
from earnest.audit.files import has_log
from earnest.audit.reading import heads_in
from earnest.effects.ground.clock import Clock, SystemClock
from earnest.effects.ground.storage.database import FILE_NAME, Database
from earnest.effects.ground.storage.driver import DATABASE_ERROR
from earnest.effects.ground.storage.engine import engine_of
from earnest.effects.ground.storage.filling import Filled, Filling, differences
from earnest.effects.ground.storage.former import BooksStanding, migrate, put_back
from earnest.effects.ground.storage.lock import HomeLock
from earnest.effects.ground.storage.place import Books, ServerBooks, check_not_moved, home_of, note_moved
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.schema import BOOKS
from earnest.foundation.errors import Refused, Unavailable
from earnest.journal.heads import Head
from earnest.journal.verify import verify_journal
from earnest.runtime.recompute import recompute

SQLITE: Final = "sqlite"
FAULTS_TOLD_MAX: Final = 3
_NEWEST: Final = "SELECT coalesce(max(seq), 0) FROM facts"
_BALANCES: Final = (
    "SELECT currency, sum(credits_posted - debits_posted) FROM ledger_accounts GROUP BY currency ORDER BY currency"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedBooks:
    """Books that stand at their new place, compared row by row with the old one.

    `went_on_at`: the fact after which an earlier moving, cut off, was gone on with. `rows` by table. `head` is the last
    one sealed, None before the first. `balances`: the sums of all accounts by currency, each 0.
    """

    source: str
    target: str
    facts: int
    went_on_at: int
    rows: dict[str, int]
    head: Head | None
    balances: dict[str, int]


def place_of(books: Books, word: str) -> Books:
    """Where `word`, an address or `sqlite`, puts the books of a data directory. Raises `Refused("bad_place")`."""
    home = home_of(books)
    if word == SQLITE:
        return places.books(home)
    if not word.startswith(ADDRESSES["database"]):
        raise Refused("bad_place", f"--to takes {SQLITE} or an address that begins with postgresql://")
    return ServerBooks(word, home)


def go_on(books: Books) -> tuple[BooksStanding, BooksStanding]:
    """See `former.migrate`. Of books on a server no copy is kept: take a backup before."""
    if isinstance(books, Path):
        return migrate(books, BOOKS)
    before = _standing(books)
    with contextlib.closing(Database.open(books, SystemClock(), alone=True)):
        return before, _standing(books)


def go_back(books: Books, *, lose_facts: bool) -> tuple[BooksStanding, BooksStanding]:
    """See `former.put_back`. How far the records were verified is forgotten: it was said of other books.

    Raises `Refused("books_on_server")` for those of which no copy is kept.
    """
    if not isinstance(books, Path):
        raise Refused("books_on_server", f"of books on {books} no former ones are kept: restore a backup of before")
    places.verified(books.parent).unlink(missing_ok=True)
    return put_back(books, lose_facts=lose_facts)


def move_books(source: Books, target: Books, clock: Clock, tell: Tell = lambda _: None) -> MovedBooks:
    """Copy the books of a data directory to another place, then note that they are there.

    The source is read and never changed. Cut off at any point, the same call goes on. Raises `Refused`:
    `data_directory_in_use` while anybody has the books open, `no_database`, `database_too_old`, `target_not_empty`,
    `books_moved`, `books_differ`; `Unavailable` where others write to the source meanwhile; `Broken`, `OSError`.
    """
    if target == source:
        raise Refused("target_not_empty", f"the books are on {source} already")
    home = home_of(source)
    with contextlib.closing(HomeLock(home / FILE_NAME)) as lock:
        lock.take(alone=True)
        check_not_moved(source)
        moved = copy_to(source, target, places.audit_log(home), clock, tell)
        note_moved(source, target)
    return moved


def copy_to(source: Books, target: Books, audit_log: Path, clock: Clock, tell: Tell) -> MovedBooks:
    """Copy, compare, verify, open: what is not found whole stays closed. Raises as `move_books`."""
    with contextlib.ExitStack() as stack:
        books = stack.enter_context(contextlib.closing(ReadPool.open_reader(source)))
        filling = stack.enter_context(contextlib.closing(Filling(engine_of(target), BOOKS)))

        def moment(reader: BooksReader) -> MovedBooks:
            is_new = filling.begin(reader)
            (facts,) = reader.execute(_NEWEST).fetchone()
            went_on_at = filling.fill(reader, _told(tell, f"of {facts} facts copied")) if is_new else int(facts)
            with contextlib.closing(filling.reader()) as filled:
                head = filled.read_sync(lambda other: _verified(reader, other, audit_log, clock, tell))
            return MovedBooks(
                source=str(source),
                target=str(target),
                facts=int(facts),
                went_on_at=went_on_at,
                rows={table: _count(reader, table) for table in BOOKS.tables()},
                head=head,
                balances=_balances(reader),
            )

        moved = books.read_sync(moment)
        if books.read_sync(lambda reader: reader.execute(_NEWEST).fetchone()[0]) != moved.facts:
            raise Unavailable(f"others write to {source}: end them, then move again")
        filling.open_up()
    return moved


def _standing(books: ServerBooks) -> BooksStanding:
    with contextlib.closing(engine_of(books).reader()) as reading:
        try:
            (revision,) = reading.session.execute("SELECT revision FROM schema_version").fetchone()
            (facts,) = reading.session.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()
        except DATABASE_ERROR as error:
            raise Refused("no_database", f"there are no books on {books} yet: {error}") from error
    return BooksStanding(str(revision), int(facts))


def _verified(source: BooksReader, target: BooksReader, audit_log: Path, clock: Clock, tell: Tell) -> Head | None:
    """The last head of books that are the same as the source, and right. Raises `Refused("books_differ")`."""
    heads = [Head(size=n, root=bytes.fromhex(root)) for n, root in heads_in(audit_log)] if has_log(audit_log) else []
    report = verify_journal(target, heads)
    faults = [*_faults(source, target, clock, tell)]
    faults += [f"{one.what}, facts {one.first_seq} to {one.last_seq}: {one.detail}" for one in report.findings]
    if faults:
        raise Refused("books_differ", "; ".join(faults[:FAULTS_TOLD_MAX]))
    return report.last_head


def _faults(source: BooksReader, target: BooksReader, clock: Clock, tell: Tell) -> Iterator[str]:
    yield from differences(source, target, BOOKS, _told(tell, "compared"))
    yield from recompute(target, clock, lambda count: tell(f"{count} facts made rows")).differences
    yield from (f"the accounts in {one} add up to {sum_}" for one, sum_ in _balances(target).items() if sum_)


def _count(reader: BooksReader, table: str) -> int:
    return int(reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - a name of ours


def _balances(reader: BooksReader) -> dict[str, int]:
    return {str(currency): int(balance) for currency, balance in reader.execute(_BALANCES).fetchall()}


def _told(tell: Tell, what: str) -> Filled:
    return lambda table, count, _: tell(f"{table}: {count} {what}")
