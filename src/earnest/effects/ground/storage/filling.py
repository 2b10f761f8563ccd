"""All rows of books copied into other books as they are, whichever engine has either.

What is filled is closed to everybody else (`books_filling`) until it is opened, so that nobody takes a part for the
whole. Facts are committed batch by batch and go on where they were cut off; all other rows are one transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import zip_longest
from typing import Any, Final, TypeAlias

from earnest.effects.ground.storage.driver import DATABASE_ERROR, meaning_of
from earnest.effects.ground.storage.engine import BooksEngine, WriteLink
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.effects.ground.storage.schema import FILLING, VERSION_TABLE, Schema, is_older
from earnest.foundation.errors import Refused

FACTS: Final = "facts"
BATCH_ROWS: Final = 2_000
BATCH_BYTES: Final = 4 * 1024 * 1024
_LAST: Final = "SELECT seq, leaf FROM facts WHERE seq <= ? ORDER BY seq DESC LIMIT 1"

Filled: TypeAlias = Callable[[str, int, int], None]
"""Told the table, how many of its rows were copied or compared by now, and about how many bytes the last ones were."""


class Filling:
    """Books that are filled, by one process."""

    def __init__(self, engine: BooksEngine, schema: Schema, *, is_durable: bool = True) -> None:
        """Make the tables where there are none. Raises `Refused`: `not_our_database`, `database_too_new`."""
        self._engine = engine
        self._schema = schema.filling
        self._tables = schema.tables()
        self.writing: Final[WriteLink] = engine.writer(self._schema, nullcontext, is_durable=is_durable)
        self.close: Final = self.writing.close

    def begin(self, source: BooksReader) -> bool:
        """Close the target to others, if it is empty or holds a beginning of the source; False where it holds all.

        Raises `Refused("target_not_empty")` for other books, be they open or such as another copying has begun.
        """
        with self._group() as last_seq:
            session = self.writing.session
            (revision,) = session.execute(f"SELECT revision FROM {VERSION_TABLE}").fetchone()  # noqa: S608 - ours
            is_older(str(revision), self._schema)
            mine = _last(session.execute(_LAST, (last_seq,)).fetchone())
            is_ours = mine == _last(source.execute(_LAST, (last_seq,)).fetchone())
            if revision != FILLING:
                is_whole = last_seq > 0 and is_ours and not any(source.rows(FACTS, after_seq=last_seq))
                if is_whole:
                    return False
                if not self._is_empty():
                    raise Refused("target_not_empty", "the target holds books already, which are not these")
                self._mark(FILLING)
            elif not is_ours:
                raise Refused("target_not_empty", f"the target holds {last_seq} facts of other books")
        return True

    def fill(self, source: BooksReader, filled: Filled) -> int:
        """Copy what is missing, from one moment of the source; after which fact it went on."""
        with self._group() as begun:
            pass
        count = begun
        for batch, size_bytes in _batches(source.rows(FACTS, after_seq=begun)):
            with self._group():
                self._insert(FACTS, batch)
            count += len(batch)
            filled(FACTS, count, size_bytes)
        with self._group():
            for table in self._tables:
                if table != FACTS:
                    self._copy_rows(source, table, filled)
        return begun

    def open_up(self) -> None:
        """Let others in."""
        with self._group():
            self._mark(self._schema.head)

    def reader(self) -> ReadPool:
        """Reading what was filled, be it open or not."""
        return ReadPool(self._engine, self._schema)

    def _is_empty(self) -> bool:
        execute = self.writing.session.execute
        return not any(execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in self._tables)  # noqa: S608

    def _copy_rows(self, source: BooksReader, table: str, filled: Filled) -> None:
        self.writing.session.execute(f"DELETE FROM {table}")  # noqa: S608 - those of a copying that was cut off
        self._reach()
        count = 0
        for batch, size_bytes in _batches(source.rows(table)):
            self._insert(table, batch)
            self._reach()
            count += len(batch)
            filled(table, count, size_bytes)

    def _reach(self) -> None:
        """Have a server answer: it ends a transaction in which nothing is asked of it for some seconds."""
        self.writing.session.execute("SELECT 1").fetchone()

    def _insert(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        names = self._tables[table].names
        marks = ", ".join("?" * len(names))
        sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608 - names of ours
        self.writing.session.executemany(sql, rows)

    def _mark(self, revision: str) -> None:
        for statement in self._schema.marked(revision).splitlines():
            self.writing.session.execute(statement)

    @contextmanager
    def _group(self) -> Iterator[int]:
        """One transaction in a turn of its own; the number of the newest fact."""
        try:
            self.writing.take()
            try:
                yield self.writing.begin()
                self.writing.commit()
            except BaseException:
                if self.writing.session.in_transaction:
                    self.writing.rollback()
                raise
            finally:
                self.writing.give()
        except DATABASE_ERROR as error:
            raise meaning_of(error) from error


def differences(one: BooksReader, other: BooksReader, schema: Schema, compared: Filled) -> Iterator[str]:
    """Where the rows of two books differ, in words: the first row of each table that does."""
    for table in schema.tables():
        count = 0
        for count, (left, right) in enumerate(zip_longest(one.rows(table), other.rows(table)), start=1):
            if left != right:
                yield f"{table}: row {count} is not the same in both"
                break
            if count % BATCH_ROWS == 0:
                compared(table, count, 0)


def _last(row: Any) -> tuple[int, bytes]:
    return (int(row[0]), bytes(row[1])) if row else (0, b"")


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[list[tuple[Any, ...]], int]]:
    """Rows in groups bounded in number and bytes; with about how many bytes each has."""
    batch: list[tuple[Any, ...]] = []
    size_bytes = 0
    for row in rows:
        batch.append(row)
        size_bytes += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(batch) >= BATCH_ROWS or size_bytes >= BATCH_BYTES:
            yield batch, size_bytes
            batch, size_bytes = [], 0
    if batch:
        yield batch, size_bytes
