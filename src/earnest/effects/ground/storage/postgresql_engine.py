"""The engine of books on a server of PostgreSQL."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.postgresql import READ_IDLE_MS, PostgresqlReading, PostgresqlWriting
from earnest.effects.ground.storage.postgresql_watch import PostgresqlWatch
from earnest.effects.ground.storage.schema import Schema


class PostgresqlEngine:
    """The books of one database."""

    def __init__(self, address: str) -> None:
        self._address = address

    is_near = False

    def check_exists(self) -> None:
        """See `BooksEngine.check_exists`: the tables are looked for when a reader is opened."""

    def reader(self) -> PostgresqlReading:
        """See `BooksEngine.reader`."""
        return PostgresqlReading(self._address, READ_IDLE_MS)

    def watch(self, clock: Clock, news: News) -> PostgresqlWatch:  # noqa: ARG002 - the server's time counts
        """See `BooksEngine.watch`."""
        return PostgresqlWatch(self._address, news)

    def writer(
        self,
        schema: Schema,
        migrating: Callable[[], AbstractContextManager[None]],
        *,
        is_durable: bool,
    ) -> PostgresqlWriting:
        """See `BooksEngine.writer`."""
        writing = PostgresqlWriting(self._address)
        try:
            writing.prepare(schema, migrating)
            if not is_durable:
                writing.session.send("SET synchronous_commit = off")
        except BaseException:
            writing.close()
            raise
        return writing
