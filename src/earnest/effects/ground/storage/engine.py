"""What an engine of the books gives: connections that read, one that writes, and what its tables should be.

Statements are the same on every engine (`dialects`), and so is all that stands above this: group commit, savepoints,
refusals. `sqlite` and `postgresql` are the two engines.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.dialects import Dialect
from earnest.effects.ground.storage.driver import SqlParameters, SqlValue
from earnest.effects.ground.storage.known_rows import Ahead, KnownRows
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.schema import Schema
from earnest.effects.ground.storage.sqlite import SqliteEngine


class Cursor(Protocol):
    """What a statement answers."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    @property
    def description(self) -> Any:
        """The columns: the name first."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchmany(self, size: int = ..., /) -> list[Any]:
        """The next rows."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class DriverSession(Protocol):
    """A connection, as whoever reads and changes rows sees it. It raises one of `driver.DATABASE_ERROR`."""

    def execute(self, sql: str, parameters: SqlParameters = ..., /) -> Cursor:
        """One statement."""

    def executemany(self, sql: str, parameters: Iterable[SqlParameters], /) -> object:
        """One statement for each of many rows."""

    @property
    def in_transaction(self) -> bool:
        """False where none was begun, or an error has ended it."""


class BooksLink(Protocol):
    """A connection, with what its engine does in its own way."""

    @property
    def dialect(self) -> Dialect:
        """How the engine speaks."""

    @property
    def session(self) -> DriverSession:
        """What statements are executed on."""

    @property
    def known(self) -> KnownRows | None:
        """The rows that need not be asked for; None where none are kept: asking costs nothing."""

    def look(self, ahead: Ahead) -> None:
        """Have `known`, where there is one, hold what will be looked for: in one trip."""

    def stream(self, sql: str, parameters: SqlParameters) -> Cursor:
        """As `execute`, for more rows than fit into memory."""

    def faults(self, schema: Schema, *, whole: bool) -> tuple[str, ...]:
        """What is wrong with tables, indexes and triggers, in words; empty if nothing is."""

    def close(self) -> None:
        """Close it, and give back what it holds."""


class ReadLink(BooksLink, Protocol):
    """A connection whose every write is refused."""

    def begin(self) -> object:
        """One unchanging moment, until `end`."""

    def end(self) -> None:
        """Let the moment go. Raises where the connection is lost."""

    def check(self, schema: Schema) -> None:
        """Raises `Refused` unless the database has exactly this schema's revision: a reader does not migrate."""


class CommitUnderWay(Protocol):
    """A commit that a server works on. Meanwhile the next transaction can begin, as if this one held."""

    def overlaps(self, ahead: Ahead) -> bool:
        """Whether it need not be waited for by a group that will look for this."""

    def wait(self) -> bool:
        """Until the server answers, or `wake` is called; whether the server has."""

    def wake(self) -> None:
        """End the waiting of another thread."""

    def end(self) -> None:
        """Wait until it is durable. Raises as `WriteLink.commit`."""


class WriteLink(BooksLink, Protocol):
    """The connection that writes, and its turn among all processes. For one thread at a time."""

    on_watch: bool
    """While it is set, statements read and change rows and do nothing else."""

    @property
    def is_careful(self) -> bool:
        """Whether each part's statements are answered before the next one begins."""

    @property
    def is_unclear(self) -> bool:
        """Whether a statement failed and it is not known whose."""

    def try_take(self) -> bool:
        """Take the turn, if an event loop may wait for this engine, the turn is free and nobody waits for it."""

    def take(self, ahead: Ahead = ()) -> None:
        """Wait for the turn. Raises `Unavailable`, naming the holder, after some seconds.

        An engine may leave it to the first message to take the turn, if nobody has it. `ahead` is what those who wait
        already will look for.
        """

    def give(self) -> None:
        """End the turn."""

    def begin(self, ahead: Ahead = ()) -> int:
        """Begin a transaction in the turn; the number of the newest fact, whichever process has recorded it.

        `ahead` is what will be looked for, by those who came while the turn was waited for too.
        """

    def begins_again(self) -> bool:
        """After a rollback: whether it is not known whose statement failed, or the turn was not to be had. Then that is
        held anew, and the group is to be done once more. Raises `Unavailable` where the turn does not come.
        """

    def change(self, sql: str, rows: Sequence[Sequence[SqlValue]], /) -> object:
        """One statement for each of `rows`, for whoever tells `known` what became of them."""

    def commit(self, newest: int = 0, kinds: Collection[str] = ()) -> CommitUnderWay | None:
        """All of it is durable, or it raises; or it is under way, and will be.

        Where the engine does so, other processes are told the number of its newest fact and the `kinds` of all.
        """

    def rollback(self) -> None:
        """Nothing of it is kept."""

    def savepoint(self) -> None:
        """Begin a part of the transaction."""

    def release(self) -> object:
        """Keep the part."""

    def undo(self) -> None:
        """Take the part back."""

    def rewriting(self) -> AbstractContextManager[None]:
        """Within it the bodies of facts may be changed, and nobody is on watch."""

    @property
    def changes(self) -> int:
        """How many rows were changed since the savepoint."""


class Watch(Protocol):
    """What a process knows of the others that use the same books, and what it does for all of them."""

    def newest(self) -> int:
        """The number of the newest fact of any process, as far as is known; it may lag by `sqlite.LOOK_NS`."""

    def hears(self) -> bool:
        """Whether the kinds of all that others record are told to the news, so far."""

    def leads(self, office: str) -> bool:
        """Whether this process is the one among all that does what `office` is for. It stands for it from now on."""

    def close(self) -> None:
        """Give all offices to others."""


class BooksEngine(Protocol):
    """The books of one place."""

    is_near: bool
    """Whether an event loop may wait for a short read: a file, and no server."""

    def check_exists(self) -> None:
        """Raises `Refused("no_database")` where there are no books yet."""

    def reader(self) -> ReadLink:
        """A new connection that reads."""

    def watch(self, clock: Clock, news: News) -> Watch:
        """A new watch. What it hears or sees of others is told to `news`."""

    def writer(
        self, schema: Schema, migrating: Callable[[], AbstractContextManager[None]], *, is_durable: bool
    ) -> WriteLink:
        """The connection that writes, once the tables are those of the schema."""


def engine_of(books: Books) -> BooksEngine:
    """The engine of these books. Raises `Unavailable` where what speaks to a server is not installed."""
    if isinstance(books, Path):
        return SqliteEngine(books)
    from earnest.effects.ground.storage.postgresql import PostgresqlEngine  # noqa: PLC0415 - of an extra

    return PostgresqlEngine(books.address)
