"""How are the books of a data directory opened, written and read?"""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from earnest.effects.clock import Clock
from earnest.effects.storage.driver import connect_writer, meaning_of
from earnest.effects.storage.lock import WriterLock
from earnest.effects.storage.reader import ReadPool
from earnest.effects.storage.schema import BOOKS, Schema, prepare
from earnest.effects.storage.transaction import Transaction
from earnest.effects.storage.writer import Writer
from earnest.foundation.errors import Unavailable

T = TypeVar("T")


class Database(ReadPool):
    """The books, held by the one process that may write them. Others read them through `Database.open_reader`."""

    def __init__(self, path: Path, schema: Schema, writer: Writer, lock: WriterLock) -> None:
        super().__init__(path, schema)
        self._writer = writer
        self._lock = lock

    @classmethod
    def open(cls, path: Path, clock: Clock, schema: Schema = BOOKS, *, is_durable: bool = True) -> "Database":
        """Take the data directory that `path` lies in; create or migrate the database if need be.

        Not durable: nothing waits for the disk, for books that are thrown away, as those of a simulation.

        Raises `Refused`: `data_directory_in_use` (with the holder's pid), `not_our_database`, `database_too_new`; and
        `Unavailable` where the directory cannot be written, `Broken` if the disk failed or is full.
        """
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = WriterLock(path.with_name(f"{path.name}.lock"))
        except OSError as error:
            raise Unavailable(f"the data directory {path.parent} cannot be used: {error}") from error
        try:
            driver = connect_writer(path, is_durable=is_durable)
            try:
                prepare(driver, schema)
                writer = Writer(driver, schema, clock)
            except BaseException:
                driver.close()
                raise
        except BaseException as error:
            lock.release()
            cause = getattr(error, "orig", error)  # SQLAlchemy, which migrates, wraps what SQLite raised
            if isinstance(cause, sqlite3.Error):
                raise meaning_of(cause) from error
            raise
        return cls(path, schema, writer, lock)

    @property
    def last_seq(self) -> int:
        """The number of the newest durable fact; 0 if there is none."""
        return self._writer.last_seq

    async def write(self, fn: Callable[[Transaction], T]) -> T:
        """What `fn` returns, once everything that it wrote is on the disk.

        `fn` is a plain function without other effects: it runs in the writer's thread, waits for nothing and may run
        again. What it raises is raised here, and nothing of it is kept. A caller that is cancelled before its turn has
        written nothing; later, everything.

        Raises `Refused("silent_write")` if rows changed and no fact was recorded, `Refused("statement_not_allowed")`,
        `Unavailable` if too many wait or another program holds the file, `Broken` if the disk failed or is full.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.put(fn, answer)
        return await answer

    def put(self, fn: Callable[[Transaction], T], answer: asyncio.Future[T]) -> None:
        """As `write`, from within the event loop of `answer`: what `write` would return or raise, that future is told.

        Whether it can be cancelled is for its maker to say.
        """
        self._writer.put(fn, answer)

    def write_sync(self, fn: Callable[[Transaction], T]) -> T:
        """As `write`, for a caller without an event loop; it waits in the same queue."""
        return self._writer.write_sync(fn)

    def close(self) -> None:
        """Write what waits, wait for reads, and give the data directory back. A second time does nothing."""
        if self._closed:
            return
        self._writer.close()
        super().close()
        self._lock.release()
