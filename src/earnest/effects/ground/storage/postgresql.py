"""Books on a server of PostgreSQL. Processes, on any machines, take turns by an advisory lock of the transaction.

Under the turn one group writes at a time, so READ COMMITTED is serial, and nothing has to be tried again. A holder that
is stopped is idle in a transaction, which the server ends after `IDLE_MS`: that frees its turn.
"""

import contextlib
import os
import re
import select
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import psycopg

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.dialects import POSTGRESQL
from earnest.effects.ground.storage.driver import ServerFault, SqlValue
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.postgresql_reading import (
    READ_IDLE_MS,
    PostgresqlLink,
    PostgresqlReading,
    standing_revision,
)
from earnest.effects.ground.storage.postgresql_session import (
    CHANNEL,
    TURN,
    TURN_WAIT_MS,
    PostgresqlSession,
    connect,
)
from earnest.effects.ground.storage.postgresql_types import told
from earnest.effects.ground.storage.postgresql_waiting import listed
from earnest.effects.ground.storage.postgresql_watch import PostgresqlWatch
from earnest.effects.ground.storage.schema import Schema, is_older
from earnest.foundation.errors import Unavailable

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_HOLDER: Final = """
SELECT activity.pid, activity.application_name FROM pg_locks JOIN pg_stat_activity AS activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objid = %s AND pg_locks.database = (
  SELECT oid FROM pg_database WHERE datname = current_database()
)
"""
_NEWEST: Final = "SELECT coalesce(max(seq), 0) FROM facts"
_IS_NEWEST: Final = "SELECT 1 / (coalesce(max(seq), 0) = $1)::INT FROM facts"
"""Fails where it is not."""
ALONE_MIN: Final = 8
"""After so many turns between which nobody else wrote, what is known is kept, and a group begins on it."""
NOTICE_CHARACTERS_MAX: Final = 4_000
_KIND: Final = re.compile(r"[a-z_.]+")


def notice(newest: int, kinds: Collection[str]) -> str:
    """The newest number and the kinds, without these where they are too many or of letters that need quotes."""
    text = " ".join(sorted(kinds))
    is_told = len(text) <= NOTICE_CHARACTERS_MAX and all(map(_KIND.fullmatch, kinds))
    return f"{int(newest)} {text}" if is_told else str(int(newest))


class PostgresqlWriting(PostgresqlLink):
    """The connection that writes. A transaction is its turn: the lock comes with it and goes with it.

    Where nobody else writes, a group whose rows are known begins unasked: its first message, often the one that
    commits, takes the turn, and fails if that is not free, if others have recorded a fact, or if what should be new is
    there. Then the group is done anew, in a turn that it waited for.
    """

    turn = TURN
    is_careful = False

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._newest = 0
        self._alone = 0
        self._is_unasked = False
        self._stir = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @property
    def on_watch(self) -> bool:
        """See `WriteLink.on_watch`."""
        return self.session.on_watch

    @on_watch.setter
    def on_watch(self, watched: bool) -> None:
        self.session.on_watch = watched

    @property
    def is_unclear(self) -> bool:
        """See `WriteLink.is_unclear`."""
        return self.session.is_unclear

    def try_take(self) -> bool:
        """See `WriteLink.try_take`: an event loop waits for no server."""
        return False

    def take(self, ahead: Ahead = ()) -> None:
        """See `WriteLink.take`: the turn, and the first questions in it, are one trip."""
        is_up = not self.session.connection.closed
        self._is_unasked = is_up and self._is_alone and self.known.covers(ahead)
        if self._is_unasked:
            self._begin_unasked(ahead)
            return
        newest = int(self.hold(ahead, _NEWEST))
        if newest and newest == self._newest:
            self._alone += 1
        elif self._is_alone:  # what was kept holds no more
            self._forget()
        else:
            self._alone = 0
        self._newest = newest

    def hold(self, ahead: Ahead = (), asked: str = "") -> Any:
        """Wait for the turn, then ask; what the statement `asked` gives."""
        try:
            self._connected()
            if self._is_alone:
                self.known.keep()
            else:
                self.known.clear()
            questions = (f"SELECT pg_advisory_xact_lock({self.turn})", *((asked,) if asked else ()))
            return self.looked(ahead, _BEGIN, *map(self.session.planned, questions))
        except Exception as error:
            self.give()
            if isinstance(error, ServerFault) and error.is_lost:
                raise Unavailable(f"the database does not answer: {error}", retry_after_ms=TURN_WAIT_MS) from error
            if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                raise Unavailable(
                    f"the turn to write is held by {self._holder()}", retry_after_ms=TURN_WAIT_MS
                ) from error
            raise

    def give(self) -> None:
        """See `WriteLink.give`."""
        self.is_careful = self.session.is_unclear = self.session.on_watch = self.session.gathers = False
        self.session.waiting.drop()
        if self.session.in_transaction:
            with contextlib.suppress(ServerFault):
                self.rollback()

    def begin(self, ahead: Ahead = ()) -> int:
        """See `WriteLink.begin`."""
        self.session.gathers = True
        self.looked(ahead)
        return self._newest

    def close(self) -> None:
        """See `BooksLink.close`."""
        super().close()
        os.close(self._stir)

    def begins_again(self) -> bool:
        """See `WriteLink.begins_again`."""
        if not self.is_unclear or self.is_careful:
            return False
        is_asked = not self._is_unasked
        self.give()
        self.take()
        self.is_careful = is_asked
        return True

    def change(self, sql: str, rows: Sequence[Sequence[SqlValue]], /) -> None:
        """See `WriteLink.change`."""
        self.session.change(sql, rows)

    def commit(self, newest: int = 0, kinds: Collection[str] = ()) -> "PostgresqlWriting | None":
        """See `WriteLink.commit`. Who listens is told with the commit, by the server."""
        told = (f"NOTIFY {CHANNEL}, '{notice(newest, kinds)}'",) if kinds else ()
        if self._is_unasked and self.session.is_idle:
            self.session.post(*told, "COMMIT")
            self._newest = newest
            return self
        cursor = self.session.send(*told, "COMMIT")
        while cursor.nextset():
            pass
        if cursor.statusmessage != "COMMIT":  # a server answers ROLLBACK to a transaction that has failed
            raise ServerFault("the transaction was lost before its end", is_lost=True)
        self._newest = newest
        return None

    def overlaps(self, ahead: Ahead) -> bool:
        """See `CommitUnderWay.overlaps`."""
        return self._is_alone and self.known.covers(ahead)

    def wait(self) -> bool:
        """See `CommitUnderWay.wait`."""
        socket = self.session.connection.fileno()
        waiting = select.poll()
        for one in (socket, self._stir):
            waiting.register(one, select.POLLIN)
        found = dict(waiting.poll())
        if self._stir in found:
            os.eventfd_read(self._stir)
        return socket in found

    def wake(self) -> None:
        """See `CommitUnderWay.wake`."""
        os.eventfd_write(self._stir, 1)

    def end(self) -> None:
        """See `CommitUnderWay.end`."""
        self.session.answered()

    def rollback(self) -> None:
        """See `WriteLink.rollback`."""
        self._forget()
        self.session.waiting.drop()
        self.session.failure = None
        if self.session.in_transaction:
            with told():
                self.session.connection.execute(b"ROLLBACK")

    def savepoint(self) -> None:
        """See `WriteLink.savepoint`."""
        self.session.changes = 0
        self.session.waiting.begin_part()
        self.known.begin_part()

    def release(self) -> None:
        """See `WriteLink.release`."""
        if self.is_careful:
            self.session.settle()
        if self.session.waiting.end_part():
            self.session.waiting.add("RELEASE part")
        if self.is_careful:
            self.session.settle()

    def undo(self) -> None:
        """See `WriteLink.undo`."""
        if self.session.waiting.forget_part():
            self.session.send("ROLLBACK TO part", "RELEASE part")
        self.known.undo_part()

    @contextlib.contextmanager
    def rewriting(self) -> Iterator[None]:
        """See `WriteLink.rewriting`. The old rows go with the server's next VACUUM; open cursors forbid to alter."""
        self.session.on_watch = False
        try:
            self.session.send("CLOSE ALL", "ALTER TABLE facts DISABLE TRIGGER facts_unchanged")
            yield
            self.session.send("ALTER TABLE facts ENABLE TRIGGER facts_unchanged")
        finally:
            self.session.on_watch = True

    @property
    def changes(self) -> int:
        """See `WriteLink.changes`."""
        self.session.settle()
        return self.session.changes

    def prepare(self, schema: Schema, migrating: Callable[[], AbstractContextManager[None]]) -> None:
        """Create or migrate the tables in one turn. There is no copy of former books: that is the server's part."""
        self.hold()
        try:
            revision = standing_revision(self.session)
            if revision is None or is_older(revision, schema):
                with migrating() if revision else contextlib.nullcontext(), told():
                    self.session.connection.execute(schema.script(revision or "", POSTGRESQL).encode())
            self.commit()
        finally:
            self.give()

    def _begin_unasked(self, ahead: Ahead) -> None:
        self.known.keep()
        planned, add = self.session.planned, self.session.waiting.add
        add(_BEGIN)
        add(planned(f"SELECT 1 / pg_try_advisory_xact_lock({self.turn})::INT"))
        add(planned(_IS_NEWEST, str(self._newest), "(BIGINT)"))
        for lookup, keys in self.known.unknown(ahead)[0].items():
            add(planned(lookup.check_none, listed(keys)))
            for key in keys:
                self.known.learn(lookup, key, None)

    @property
    def _is_alone(self) -> bool:
        return self._alone >= ALONE_MIN

    def _forget(self) -> None:
        self._alone = 0
        self.known.clear()

    def _connected(self) -> None:
        if self.session.connection.closed:
            self.session = PostgresqlSession(connect(self._address))
            self._alone = 0

    def _holder(self) -> str:
        with contextlib.suppress(ServerFault, psycopg.Error), contextlib.closing(connect(self._address)) as beside:
            found = beside.execute(_HOLDER.replace("%s", str(self.turn)).encode()).fetchone()
            if found:
                return f"{found[1] or 'another program'} (backend {found[0]})"
        return "another process"


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
