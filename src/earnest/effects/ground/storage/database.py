"""The books of a data directory: opened, written and read."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, TypeVar

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.faults import why
from earnest.effects.ground.storage.driver import DATABASE_ERROR, meaning_of
from earnest.effects.ground.storage.engine import BooksEngine, Watch
from earnest.effects.ground.storage.engines import engine_of
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.lock import HomeLock
from earnest.effects.ground.storage.moved import check_not_moved
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.place import Books, home_of
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS, Schema
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.ground.storage.writer import GroupWriter
from earnest.foundation.errors import Unavailable

T = TypeVar("T")

FILE_NAME: Final = "books.sqlite3"
"""Of books in a file; the lock of a data directory has its name in any case."""


class Database(ReadPool):
    """The books. Any number of processes write to them, in turns; whoever only reads uses `Database.open_reader`."""

    def __init__(
        self,
        engine: BooksEngine,
        schema: Schema,
        writer: GroupWriter,
        *,
        watch: Watch,
        held: ExitStack,
    ) -> None:
        """`held` is closed at the end."""
        super().__init__(engine, schema)
        self.news: Final = writer.news
        self._writer = writer
        self._watch = watch
        self._held = held

    @classmethod
    def open(
        cls, books: Books, clock: Clock, schema: Schema = BOOKS, *, is_durable: bool = True, alone: bool = False
    ) -> "Database":
        """Share the data directory that goes with `books`; create or migrate the database if need be.

        Not durable: nothing waits for the disk, for books that are thrown away, as those of a simulation. `alone`: no
        other process has them, as for a migration.

        Raises `Refused`: `data_directory_in_use` (with the holders' pids) where somebody has the directory alone, or
        shares what is wanted alone; `not_our_database`, `database_too_new`, `books_filling`, `books_moved`; and
        `Unavailable` where the directory cannot be written, the turn does not come or the server does not answer,
        `Broken` if the disk failed or is full.
        """
        home = home_of(books)
        engine = engine_of(books)
        with ExitStack() as stack:
            try:
                home.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = stack.enter_context(closing(HomeLock(books if isinstance(books, Path) else home / FILE_NAME)))
            except OSError as error:
                raise Unavailable(f"the data directory {home} cannot be used: {why(error)}") from error
            lock.take(alone=alone)
            check_not_moved(books)
            try:
                writing = stack.enter_context(closing(engine.writer(schema, lock.migrating, is_durable=is_durable)))
                news = News()
                watch = stack.enter_context(closing(engine.watch(clock, news)))
                writer = GroupWriter(writing, schema, clock, news)
                return cls(engine, schema, writer, watch=watch, held=stack.pop_all())
            except DATABASE_ERROR as error:
                raise meaning_of(error) from error

    @property
    def last_seq(self) -> int:
        """The number of the newest durable fact; 0 if there is none. Those of other processes show a little later.

        Raises `Broken`, `Unavailable` as a read does.
        """
        if self._closed:
            raise Unavailable("the database is closed")
        return max(self._watch.newest(), self._writer.last_seq)

    def leads(self, office: str) -> bool:
        """Whether this process does what one does for all, such as sealing. Another takes over when it ends.

        Asked anew before each piece of that work: it may be lost. Who has lost it may still be at work, so what is done
        is guarded by the transaction that records it.
        """
        return not self._closed and self._watch.leads(office)

    async def write(self, fn: Callable[[Transaction], T], *, ahead: Ahead = ()) -> T:
        """What `fn` returns, once everything that it wrote is on the disk.

        `fn` is a plain function without other effects: it runs in the writer's thread, waits for nothing and may run
        again. What it raises is raised here, and nothing of it is kept. A caller that is cancelled before its turn has
        written nothing; later, everything. What it will look for may be told `ahead`, and is then looked for once for
        all who wait.

        Raises `Refused("silent_write")` if rows changed and no fact was recorded, `Refused("statement_not_allowed")`,
        `Unavailable` if too many wait or another program holds the file, `Broken` if the disk failed or is full.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._writer.put(fn, answer, ahead)
        return await answer

    def put(self, fn: Callable[[Transaction], T], answer: asyncio.Future[T], ahead: Ahead = ()) -> None:
        """As `write`, from within the event loop of `answer`: what `write` would return or raise, that future is told.

        Whether it can be cancelled is for its maker to say.
        """
        self._writer.put(fn, answer, ahead)

    def write_sync(self, fn: Callable[[Transaction], T]) -> T:
        """As `write`, for a caller without an event loop; it waits in the same queue."""
        return self._writer.write_sync(fn)

    def close(self) -> None:
        """Write what waits, wait for reads, and give the data directory back. A second time does nothing."""
        if self._closed:
            return
        self._writer.close()
        super().close()
        self._held.close()
