"""Reading the books: many readers at a time, each from one unchanging moment."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar, cast

from earnest.effects.ground.storage.driver import (
    DATABASE_ERROR,
    SqlParameters,
    SqlValue,
    ends_transaction,
    meaning_of,
)
from earnest.effects.ground.storage.engine import BooksEngine, BooksLink, Cursor, ReadLink, engine_of
from earnest.effects.ground.storage.facts import StoredFact
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.schema import BOOKS, Schema
from earnest.foundation.errors import Broken, Refused, Unavailable

T = TypeVar("T")

READERS_MAX: Final = 4
READS_WAITING_MAX: Final = 1_024
ROWS_FETCHED: Final = 512
KINDS_MAX: Final = 64
ROWS_MAX: Final = 2**62
"""A limit that is none."""


class _Ended:
    """In the place of a link whose time is over."""

    def __getattr__(self, name: str) -> object:
        raise Broken("a transaction was used after its end: let the function return what it has read")


ENDED: Final = _Ended()


class BooksReader:
    """The books at one moment. Usable only inside the function it was handed to, and so is what iterates over it."""

    def __init__(self, link: BooksLink, schema: Schema) -> None:
        self.link = link
        self._schema = schema

    def execute(self, sql: str, parameters: SqlParameters = ()) -> Cursor:
        """One statement."""
        return self.link.session.execute(sql, parameters)

    def facts(
        self,
        *,
        kind: str | Collection[str] | None = None,
        subject: str | None = None,
        after_seq: int = 0,
        up_to_seq: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[StoredFact]:
        """Facts in order of `seq`, streamed; of one of at most 64 kinds, about one subject, if these are given.

        `after_seq` is left out itself, `up_to_seq` is not; an `after_seq` below 0 lets rows through that no earnest
        wrote. No `limit` means all.
        """
        conditions = ["seq > ?"]
        parameters: list[SqlValue] = [after_seq]
        if up_to_seq is not None:
            conditions.append("seq <= ?")
            parameters.append(up_to_seq)
        if kind is not None:
            kinds = (kind,) if isinstance(kind, str) else tuple(kind)
            if len(kinds) > KINDS_MAX:
                raise Refused("too_many_kinds", f"at most {KINDS_MAX} kinds of fact can be asked for at a time")
            # An expression keeps SQLite from the index of kinds where the far narrower one of subjects fits.
            column = "kind" if subject is None else "kind || ''"
            conditions.append(f"{column} IN ({', '.join('?' * len(kinds)) or 'NULL'})")
            parameters += kinds
        if subject is not None:
            conditions.append("subject = ?")
            parameters.append(subject)
        order = "DESC" if newest_first else "ASC"
        parameters.append(ROWS_MAX if limit is None else limit)
        sql = f"{self.link.dialect.facts} WHERE {' AND '.join(conditions)} ORDER BY seq {order} LIMIT ?"
        return self._stored(sql, parameters)

    def leaves(self, *, after_seq: int = 0, limit: int = ROWS_MAX) -> Iterator[bytes]:
        """The leaf hashes of the facts after `after_seq`, in order, streamed; at most `limit`."""
        for (leaf,) in self._rows("SELECT leaf FROM facts WHERE seq > ? ORDER BY seq LIMIT ?", [after_seq, limit]):
            yield leaf

    def rows(self, table: str, *, after_seq: int | None = None) -> Iterator[tuple[Any, ...]]:
        """All rows of a table of the schema as they are, streamed, by its key; facts after `after_seq` alone."""
        columns = self._schema.tables()[table]
        since = "" if after_seq is None else "WHERE seq > ? "
        names, key = ", ".join(columns.names), ", ".join(columns.key)
        sql = f"SELECT {names} FROM {table} {since}ORDER BY {key} LIMIT ?"  # noqa: S608 - names of ours
        limits = [ROWS_MAX] if after_seq is None else [after_seq, ROWS_MAX]
        return self._drained(lambda: self._settled().stream(sql, limits))

    def subjects(self, *, kind: str, after_seq: int = 0) -> Iterator[str]:
        """What the facts of a kind after `after_seq` are about, in order, streamed: their bodies are not read."""
        sql = "SELECT subject FROM facts WHERE kind = ? AND seq > ? ORDER BY seq LIMIT ?"
        return (subject for (subject,) in self._rows(sql, [kind, after_seq, ROWS_MAX]))

    def touched(self, *subjects: str) -> int:
        """The newest fact that may have changed what one of `subjects` sees (`Transaction.record`); 0 if none has."""
        marks = ", ".join("?" * len(subjects)) or "NULL"
        sql = f"SELECT max(seq) FROM touches WHERE subject IN ({marks})"  # noqa: S608 - marks alone
        return int(self.execute(sql, subjects).fetchone()[0] or 0)

    def subjects_like(self, beginning: str, limit: int) -> list[str]:
        """The first `limit` different subjects that begin so, in their order: one step in the index for each."""
        found: list[str] = []
        sql = "SELECT min(subject) FROM facts WHERE subject >= ? AND subject > ?"
        after = ""
        while len(found) < limit:
            (after,) = self.execute(sql, (beginning, after)).fetchone()
            if after is None or not after.startswith(beginning):
                break
            found.append(after)
        return found

    def faults(self, *, whole: bool = True) -> tuple[str, ...]:
        """Damage to tables, indexes or triggers, in words; empty if there is none. Raises `Broken` if it is too bad.

        Not `whole`: whether they are there and as they were made, without a look at every page.
        """
        try:
            return self._settled().faults(self._schema, whole=whole)
        except DATABASE_ERROR as error:
            raise meaning_of(error) from error

    def end(self) -> None:
        """Refuse whatever comes later."""
        self.link = cast("BooksLink", ENDED)

    def _stored(self, sql: str, parameters: list[SqlValue]) -> Iterator[StoredFact]:
        for seq, at_ms, kind, subject, body, leaf in self._rows(sql, parameters):
            yield StoredFact(
                seq, at_ms, str(kind, "utf-8", "surrogateescape"), str(subject, "utf-8", "surrogateescape"), body, leaf
            )

    def _rows(self, sql: str, parameters: list[SqlValue]) -> Iterator[tuple[Any, ...]]:
        """`parameters` end with the limit. Raises `Broken` if the engine cannot read them."""
        return self._drained(lambda: self._settled().stream(sql, parameters))

    def _drained(self, begin: Callable[[], Cursor]) -> Iterator[tuple[Any, ...]]:
        """What a cursor gives, in batches."""
        try:
            cursor = begin()
            while rows := cursor.fetchmany(ROWS_FETCHED):
                yield from rows
                _ = self.link.dialect  # it may have ended meanwhile
        except DATABASE_ERROR as error:
            raise meaning_of(error) from error

    def _settled(self) -> BooksLink:
        """The link, once all that was recorded can be read by it."""
        return self.link


class ReadPool:
    """Connections that can only read, used by at most four threads at a time. Works beside a running writer."""

    def __init__(self, engine: BooksEngine, schema: Schema) -> None:
        self.is_near: Final = engine.is_near
        """Whether an event loop may wait for a short read."""
        self._engine = engine
        self._schema = schema
        self._idle: list[ReadLink] = []
        self._free = threading.BoundedSemaphore(READERS_MAX)
        self._threads = ThreadPoolExecutor(READERS_MAX, thread_name_prefix="earnest-reader")
        self._waiting = 0
        self._closed = False

    @classmethod
    def open_reader(cls, books: Books, schema: Schema = BOOKS) -> "ReadPool":
        """Read a database that another process may be writing to.

        Raises `Refused`: `no_database`, `not_our_database`, `database_too_new`, `database_too_old`; else as `read`.
        """
        pool = ReadPool(engine_of(books), schema)
        pool._engine.check_exists()
        with contextlib.closing(pool._opened()) as reading:
            reading.check(schema)
        return pool

    async def read(self, fn: Callable[[BooksReader], T]) -> T:
        """What `fn` returns, run in a thread of its own. Raises `Unavailable` if too many already wait."""
        if self._closed:
            raise Unavailable("the database is closed")
        if self._waiting >= READS_WAITING_MAX:
            raise Unavailable("too many reads wait for the database", retry_after_ms=1_000)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.read_sync, fn)
        finally:
            self._waiting -= 1

    async def ask(self, fn: Callable[[BooksReader], T]) -> T:
        """As `read`, for a short read by index: here and now where the books are a file, which takes less than to ask a
        thread. For a server nobody's event loop waits.
        """
        return self.read_sync(fn) if self.is_near else await self.read(fn)

    def read_sync(self, fn: Callable[[BooksReader], T]) -> T:
        """What `fn` returns, run here and now, for whoever has no event loop or holds up nobody in it."""
        with self._free:
            if self._closed:
                raise Unavailable("the database is closed")
            try:
                reading = self._idle.pop()
            except IndexError:
                reading = self._opened()
            reader = BooksReader(reading, self._schema)
            try:
                reading.begin()
                return fn(reader)
            except DATABASE_ERROR as error:
                if ends_transaction(error):
                    raise meaning_of(error) from error
                raise
            except StopIteration as error:  # a future cannot hold it: whoever awaits the read would wait for ever
                raise Broken("a read ran past the end of what the books hold") from error
            finally:
                reader.end()
                self._give_back(reading)

    def close(self) -> None:
        """Wait for reads under way, then close what they used."""
        self._closed = True
        self._threads.shutdown(wait=True)
        while self._idle:
            self._idle.pop().close()

    def _opened(self) -> ReadLink:
        """A new connection. Raises as a read does."""
        try:
            return self._engine.reader()
        except DATABASE_ERROR as error:
            raise meaning_of(error) from error

    def _give_back(self, reading: ReadLink) -> None:
        try:
            reading.end()
        except DATABASE_ERROR:  # the connection is lost: the next read has another
            reading.close()
            return
        if self._closed:
            reading.close()
        else:
            self._idle.append(reading)


def read_once(books: Books, fn: Callable[[BooksReader], T]) -> T:
    """What `fn` returns, for whoever reads a database once. Raises as `ReadPool.open_reader` and `ReadPool.read`."""
    with contextlib.closing(ReadPool.open_reader(books)) as pool:
        return pool.read_sync(fn)
