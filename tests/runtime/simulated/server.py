"""A simulated server of PostgreSQL: sessions, a turn, offices, notices; the rows lie in SQLite in memory."""

import os
import sqlite3
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

from earnest.effects.ground.storage.driver import ServerFault
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.postgresql import notice
from earnest.effects.ground.storage.postgresql_session import IDLE_MS, TURN_WAIT_MS
from earnest.effects.ground.storage.postgresql_watch import PostgresqlWatch
from earnest.effects.ground.storage.sqlite import SqliteReading, SqliteWriting
from earnest.foundation.errors import Unavailable

from .world import NEVER_MS, Host, Rested, SimulatedThread, World

LOOK_AGAIN_MS = 40
_STIR = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)


def _lost(why: str) -> ServerFault:
    """As the real session tells it: with the error of its library as the cause."""
    fault = ServerFault(why, is_lost=True)
    fault.__cause__ = OSError(why)
    return fault


class SimulatedServer:
    """What all hosts share. One seed's rows are taken back by `fresh`."""

    def __init__(self, rows: sqlite3.Connection, world: World) -> None:
        self.rows, self.world = rows, world
        self.down_until_ms = 0
        self.killed_ms = -NEVER_MS
        self.turn: Host | None = None
        self.turn_until_ms = 0
        self.sessions: list[WatchSession] = []
        self.faults_of_commits = 0.0
        """How many of 1 meet a fault."""

    def reach(self, host: Host) -> None:
        """Raises `ServerFault` where a host cannot reach it."""
        if host.is_cut or self.world.now_ms < self.down_until_ms:
            raise _lost("the connection is lost")

    def kill(self, down_ms: int) -> None:
        """Sessions, turn and offices end; what was committed stays."""
        self.down_until_ms = self.world.now_ms + down_ms
        self.killed_ms = self.world.now_ms
        self.turn = None
        for session in self.sessions:
            session.end()
            if not session.host.is_cut:
                session.host.threads["earnest-watch"].stir()

    def forget(self, host: Host) -> None:
        """A process has ended, and its connections with it."""
        if self.turn is host:
            self.turn = None
        for session in self.sessions:
            if session.host is host:
                session.end()

    def tell(self, told: str) -> None:
        for session in self.sessions:
            if session.is_alive():
                session.notices.append(told)
                if not session.host.is_cut:
                    session.host.threads["earnest-watch"].stir()


class WatchSession:
    """A connection of a `PostgresqlWatch`."""

    def __init__(self, server: SimulatedServer, host: Host) -> None:
        self._server = server
        self.host = host
        self.offices: set[int] = set()
        self.notices: list[str] = []
        self._heard_ms = server.world.now_ms
        self._is_ended = False
        server.sessions.append(self)

    def is_alive(self) -> bool:
        """False once the server has heard nothing for too long."""
        if self._server.world.now_ms - self._heard_ms >= IDLE_MS:
            self.end()
        return not self._is_ended

    def end(self) -> None:
        self._is_ended = True
        self.offices.clear()
        if self in self._server.sessions:
            self._server.sessions = [one for one in self._server.sessions if one is not self]

    def execute(self, sql: bytes, parameters: tuple[int, ...] = ()) -> Any:
        self._server.reach(self.host)
        if not self.is_alive():
            raise _lost("terminating connection due to idle-session timeout")
        self._heard_ms = self._server.world.now_ms
        if b"max(seq)" in sql:
            return self._server.rows.execute(sql.decode().replace("$1", "?"), parameters)
        if b"advisory" in sql:
            return SimpleNamespace(fetchone=lambda: (self._take_office(parameters[1]),))
        return None

    def _take_office(self, office: int) -> bool:
        others = [one for one in self._server.sessions if one is not self]
        if any(one.is_alive() and office in one.offices for one in others):
            return False
        self.offices.add(office)
        self.host.office_taken(office)  # type: ignore[attr-defined]
        return True

    def notifies(self, timeout: float) -> Iterator[Any]:
        self._server.reach(self.host)
        told, self.notices = self.notices, []
        return iter([SimpleNamespace(payload=one) for one in told])

    def close(self) -> None:
        if not self.host.is_cut:
            self.end()


class SimulatedWatch(PostgresqlWatch):
    """The real one, whose thread is simulated."""

    def __init__(self, host: Host, news: News) -> None:
        super().__init__(host, news)  # type: ignore[arg-type]
        os.close(self._stir)
        self._stir = _STIR

    def _rest(self, connection: Any, rest_s: float) -> None:
        raise Rested(int(rest_s * 1000))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class SimulatedReading(SqliteReading):
    """A connection that reads."""

    def __init__(self, server: SimulatedServer, host: Host) -> None:
        super().__init__(server.rows)
        self.server, self.host = server, host
        self.begin = partial(server.reach, host)
        self.end = lambda: None  # it has changed nothing

    def close(self) -> None:
        """It holds nothing."""

    def check(self, schema: object) -> None:
        """It has the schema."""


class SimulatedWriting(SqliteWriting):
    """The connection that writes. What happens to its host or its session meanwhile is decided when it commits."""

    def __init__(self, server: SimulatedServer, host: Host) -> None:
        """Nobody watches the statements: all hosts share the connection."""
        self.session = server.rows
        self.change = server.rows.executemany
        self.release = partial(server.rows.execute, "RELEASE part")
        self.server, self.host = server, host
        self.on_watch = False
        self._changes_before = 0
        self._waits_since_ms: int | None = None
        self._is_open = False

    def try_take(self) -> bool:
        return False

    def take(self, ahead: Ahead = ()) -> None:
        server, now_ms = self.server, self.server.world.now_ms
        try:
            server.reach(self.host)
        except ServerFault as error:
            self._waits_since_ms = None
            raise Unavailable(f"the database does not answer: {error}") from error
        if server.turn is not None and server.turn is not self.host and now_ms < server.turn_until_ms:
            since_ms = self._waits_since_ms = now_ms if self._waits_since_ms is None else self._waits_since_ms
            if now_ms - since_ms >= TURN_WAIT_MS:
                self._waits_since_ms = None
                raise Unavailable(f"the turn to write is held by {server.turn.name}")
            self.host.calls.again()  # type: ignore[attr-defined]
            raise Rested(LOOK_AGAIN_MS)
        self._waits_since_ms = None
        server.turn, server.turn_until_ms = self.host, now_ms

    def give(self) -> None:
        """A turn that a stopped host keeps ends by its time."""

    def begin(self, ahead: Ahead = ()) -> int:
        self.session.execute("SAVEPOINT turn")
        self._is_open = True
        (last,) = self.session.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()
        return int(last)

    def commit(self, newest: int = 0, kinds: Collection[str] = ()) -> None:
        server, chance = self.server, self.server.world.chance
        fault = chance.randrange(4) if chance.random() < server.faults_of_commits else -1
        if fault == 0:
            server.world.say(f"{self.host.name}: a commit is lost")
            raise _lost("the transaction was lost before its end")
        if fault == 1:
            self._stop_in_the_turn(chance.randrange(100, 60_000))
        self._end("RELEASE turn")
        if kinds:
            server.tell(notice(newest, kinds))
        if fault == 2:
            server.world.say(f"{self.host.name}: the answer to a commit is lost")
            raise _lost("the connection is lost")

    def _stop_in_the_turn(self, stop_ms: int) -> None:
        """Longer than the server waits for who is idle in a transaction, and it has ended that meanwhile."""
        server, now_ms = self.server, self.server.world.now_ms
        server.world.say(f"{self.host.name}: stopped in its turn for {stop_ms} ms")
        self.host.stopped_until_ms = now_ms + stop_ms
        server.turn_until_ms = now_ms + min(stop_ms, IDLE_MS)
        if stop_ms >= IDLE_MS:
            raise _lost("terminating connection due to idle-in-transaction timeout")

    def rollback(self) -> None:
        if self._is_open:
            self.session.execute("ROLLBACK TO turn")
            self._end("RELEASE turn")

    def _end(self, sql: str) -> None:
        self.session.execute(sql)
        self._is_open = False


class SimulatedEngine:
    """The books, as one host has them."""

    is_near = False

    def __init__(self, server: SimulatedServer, host: Host) -> None:
        self._server, self._host = server, host

    def reader(self) -> SimulatedReading:
        self._server.reach(self._host)
        return SimulatedReading(self._server, self._host)


@contextmanager
def fresh(rows: sqlite3.Connection) -> Iterator[None]:
    """What a seed writes is taken back at its end."""
    rows.execute("SAVEPOINT seed")
    try:
        yield
    finally:
        rows.execute("ROLLBACK TO seed")
        rows.execute("RELEASE seed")


def connect(host: Host) -> WatchSession:
    """In the place of `postgresql_watch.connect`."""
    server: SimulatedServer = host.world.server  # type: ignore[attr-defined]
    server.reach(host)
    return WatchSession(server, host)


class SimulatedThreads:
    """In the place of `threading`."""

    Thread = SimulatedThread
    Lock = threading.Lock
    get_ident = staticmethod(threading.get_ident)
