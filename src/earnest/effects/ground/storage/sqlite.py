"""Books in a file of SQLite. Processes take turns by locks beside it."""

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.locks import FileLock, WriteTurn
from earnest.effects.ground.storage.dialects import SQLITE, Dialect
from earnest.effects.ground.storage.driver import SqlParameters, connect_reader, connect_writer, meaning_of
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.schema import VERSION_TABLE, Schema, faults, is_older, prepare, revision_of
from earnest.foundation.errors import Refused

_ALLOWED: Final = frozenset(
    {
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_SAVEPOINT,
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_UPDATE,
    }
)
_CHANGES: Final = frozenset({sqlite3.SQLITE_DELETE, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE})
_UNCHANGED: Final = "SELECT sql FROM sqlite_master WHERE name = 'facts_unchanged'"
OFFICES: Final = "locks"
"""The folder beside the books."""
LOOK_NS: Final = 10_000_000
"""How old what is known of other processes' facts may be."""
LOOKED_AT_MAX: Final = 512
"""Facts that a look reads. Where there are more, some may be of any kind."""
_UNSEEN: Final = "SELECT kind, seq FROM facts WHERE seq > ? ORDER BY seq DESC LIMIT ?"
_OURS: Final = frozenset({"facts", VERSION_TABLE, "sqlite_master", "sqlite_sequence"})


class _Link:
    """A connection."""

    dialect: Dialect = SQLITE
    known = None

    def __init__(self, session: sqlite3.Connection) -> None:
        self.session = session

    def look(self, ahead: Ahead) -> None:
        """See `BooksLink.look`."""

    def stream(self, sql: str, parameters: SqlParameters) -> sqlite3.Cursor:
        """See `BooksLink.stream`."""
        return self.session.execute(sql, parameters)

    def faults(self, schema: Schema, *, whole: bool) -> tuple[str, ...]:
        """See `BooksLink.faults`."""
        return faults(self.session, schema, whole=whole)


class SqliteReading(_Link):
    """A connection that reads."""

    def __init__(self, session: sqlite3.Connection) -> None:
        super().__init__(session)
        self.begin: Callable[[], object] = partial(session.execute, "BEGIN")
        self.end = session.rollback
        self.close = session.close

    def check(self, schema: Schema) -> None:
        """See `ReadLink.check`."""
        revision = revision_of(self.session)
        if revision is None or is_older(revision, schema):
            raise Refused("database_too_old", "the database must be migrated first: open it once for writing")


class SqliteWriting(_Link):
    """The connection that writes, asked by SQLite about every statement.

    Without that a statement could commit, change a table's form or write facts by hand, unseen by the count of changes.
    """

    is_careful = is_unclear = False

    def __init__(self, session: sqlite3.Connection, turn: WriteTurn) -> None:
        super().__init__(session)
        self.on_watch = False
        self._changes_before = 0
        self._turn = turn
        self.try_take = turn.try_take
        self.give = turn.give
        self.change = session.executemany
        self.release = partial(session.execute, "RELEASE part")
        self.rollback = session.rollback
        session.set_authorizer(self._guard)

    def take(self, ahead: Ahead = ()) -> None:  # noqa: ARG002 - there is no trip to be saved
        """See `WriteLink.take`."""
        self._turn.take()

    def begins_again(self) -> bool:
        """See `WriteLink.begins_again`: each statement is answered at once."""
        return False

    def begin(self, ahead: Ahead = ()) -> int:  # noqa: ARG002 - there is no trip to be saved
        """See `WriteLink.begin`."""
        self.session.execute("BEGIN IMMEDIATE")
        (last,) = self.session.execute("SELECT max(seq) FROM facts").fetchone()
        return int(last or 0)

    def commit(self, newest: int = 0, kinds: Collection[str] = ()) -> None:  # noqa: ARG002 - others look
        """See `WriteLink.commit`."""
        self.session.commit()

    def savepoint(self) -> None:
        """See `WriteLink.savepoint`."""
        self._changes_before = self.session.total_changes
        self.session.execute("SAVEPOINT part")

    def undo(self) -> None:
        """See `WriteLink.undo`."""
        self.session.execute("ROLLBACK TO part")
        self.release()

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """See `WriteLink.rewriting`. Nothing of the old bodies is left in their pages."""
        self.on_watch = False
        try:
            (trigger,) = self.session.execute(_UNCHANGED).fetchone()
            self.session.execute("PRAGMA secure_delete = ON")
            self.session.execute("DROP TRIGGER facts_unchanged")
            yield
            self.session.execute(trigger)
        finally:
            self.on_watch = True

    @property
    def changes(self) -> int:
        """See `WriteLink.changes`."""
        return self.session.total_changes - self._changes_before

    def close(self) -> None:
        """See `BooksLink.close`."""
        self.session.close()
        self._turn.close()

    def _guard(self, action: int, first: str | None, *_: str | None) -> int:
        """SQLite's question. `first` is the table where rows are changed."""
        allowed = action in _ALLOWED and not (action in _CHANGES and first in _OURS)
        return sqlite3.SQLITE_OK if allowed or not self.on_watch else sqlite3.SQLITE_DENY


class SqliteWatch:
    """Looks for the facts of other processes, at most every `LOOK_NS`. An office is a lock on a file beside the books.

    A holder that is stopped keeps its offices until it goes on or dies, as it keeps its turn.
    """

    def __init__(self, path: Path, clock: Clock, news: News) -> None:
        self._session = connect_reader(path)
        self._session.text_factory = partial(str, encoding="utf-8", errors="replace")  # somebody may have altered it
        self._news = news
        self._offices = path.parent / OFFICES
        self._held: dict[str, FileLock] = {}
        self._clock = clock
        self._looked_ns = -LOOK_NS
        self._newest = 0

    def newest(self) -> int:
        """See `Watch.newest`. Raises `Broken`, `Unavailable` as a read does."""
        now_ns = self._clock.ticks_ns()
        if now_ns - self._looked_ns >= LOOK_NS:
            self._looked_ns = now_ns
            try:
                unseen = self._session.execute(_UNSEEN, (self._newest, LOOKED_AT_MAX)).fetchall()
            except sqlite3.Error as error:
                raise meaning_of(error) from error
            if unseen:
                self._newest = unseen[0][1]
                kinds = {kind for kind, seq in unseen if seq > self._news.ours.get(kind, 0)}
                is_all = len(unseen) < LOOKED_AT_MAX
                if kinds or not is_all:
                    self._news.tell(kinds if is_all else None, self._newest)
        return self._newest

    def hears(self) -> bool:
        """See `Watch.hears`: all that it has seen it has told."""
        return True

    def leads(self, office: str) -> bool:
        """See `Watch.leads`."""
        lock = self._held.get(office)
        if lock is None:
            self._offices.mkdir(mode=0o700, exist_ok=True)
            lock = self._held[office] = FileLock(self._offices / office)
        return lock.try_take()

    def close(self) -> None:
        """See `Watch.close`."""
        self._session.close()
        while self._held:
            self._held.popitem()[1].close()


class SqliteEngine:
    """The books in the file `path`."""

    is_near = True

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def check_exists(self) -> None:
        """See `BooksEngine.check_exists`."""
        if not self.path.is_file():
            raise Refused(
                "no_database",
                f"there is no database at {self.path} yet: the first `earnest run` or `earnest serve` makes it",
            )

    def reader(self) -> SqliteReading:
        """See `BooksEngine.reader`."""
        return SqliteReading(connect_reader(self.path))

    def watch(self, clock: Clock, news: News) -> SqliteWatch:
        """See `BooksEngine.watch`."""
        return SqliteWatch(self.path, clock, news)

    def writer(
        self, schema: Schema, migrating: Callable[[], AbstractContextManager[None]], *, is_durable: bool
    ) -> SqliteWriting:
        """See `BooksEngine.writer`."""
        with ExitStack() as stack:
            turn = stack.enter_context(closing(WriteTurn(self.path)))
            with turn.taken():  # of two that begin a file at once, SQLite refuses one without letting it wait
                session = stack.enter_context(closing(connect_writer(self.path, is_durable=is_durable)))
                prepare(session, schema, migrating)
                # What a part is undone with would be a temporary file for each commit; a migration may sort too much.
                session.execute("PRAGMA temp_store = MEMORY")
            stack.pop_all()
        return SqliteWriting(session, turn)
