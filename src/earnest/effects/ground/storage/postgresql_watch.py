"""What a process hears from a server of PostgreSQL, and the offices that it holds there: one session for both.

A thread of its own listens. It asks for the newest number every second, which keeps the session alive; the server ends
the session of a process that is stopped or cut off after `IDLE_MS`, and its offices are free.
"""

import contextlib
import logging
import os
import select
import threading
import zlib
from typing import Any, Final

import psycopg

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.driver import ServerFault
from earnest.effects.ground.storage.news import News
from earnest.effects.ground.storage.postgresql_session import CHANNEL, IDLE_MS, TURN, connect
from earnest.foundation.errors import Unavailable

LOOK_S: Final = 1.0
PAUSE_S: Final = 0.01
"""After something was heard: under load what many commits tell is heard together."""
AGAIN_S: Final = 0.5
"""Before a new session is tried."""
CERTAIN_NS: Final = 2 * IDLE_MS * 1_000_000 // 3
"""How long after the server has answered an office is certain to be held still: less than it takes to be lost."""
SILENT_NS: Final = 10_000_000_000
"""How long what was heard last may be gone by: a key may have been revoked since."""
_LOG: Final = logging.getLogger("earnest.books")
_WORLD: Final = SystemClock()
"""What the server goes by, whatever time the platform is at."""


class PostgresqlWatch:
    """Hears of commits by NOTIFY, and looks once a second, so that what is missed is late and not lost."""

    def __init__(self, address: str, news: News) -> None:
        self._address = address
        self._news = news
        self._wanted: frozenset[str] = frozenset()
        self._held: frozenset[str] = frozenset()
        self._waited_for: frozenset[str] = frozenset()
        self._answered_ns = 0
        self._newest = 0
        self._connection: psycopg.Connection[Any] | None = None
        self._is_ending = self._is_due = False
        try:
            self._begin()
        except psycopg.Error as error:
            raise ServerFault(str(error), is_lost=True) from error
        self._stir = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name="earnest-watch", daemon=True)
        self._thread.start()

    def newest(self) -> int:
        """See `Watch.newest`. It asks nobody. Raises `Unavailable` where the server has been silent for `SILENT_NS`."""
        if _WORLD.ticks_ns() - self._answered_ns >= SILENT_NS:
            raise Unavailable("the database does not answer", retry_after_ms=IDLE_MS)
        return self._newest

    def hears(self) -> bool:
        """See `Watch.hears`. Without an answer of the server for 2 s that is no longer certain: False."""
        return _WORLD.ticks_ns() - self._answered_ns < CERTAIN_NS

    def leads(self, office: str) -> bool:
        """See `Watch.leads`. It asks nobody; what is no longer certain is False."""
        if office not in self._wanted:
            self._wanted |= {office}
            self._is_due = True
            os.eventfd_write(self._stir, 1)
        return office in self._held and self.hears()

    def close(self) -> None:
        """See `Watch.close`."""
        self._is_ending = True
        os.eventfd_write(self._stir, 1)
        self._thread.join()
        if self._connection is not None:
            self._connection.close()
        os.close(self._stir)

    def _begin(self) -> None:
        """A new session. Whoever waits looks: something may have been missed."""
        self._connection = connect(self._address)
        self._connection.execute(f"SET idle_session_timeout = {int(IDLE_MS)}".encode())
        self._connection.execute(f"LISTEN {CHANNEL}".encode())
        (newest,) = self._connection.execute(b"SELECT coalesce(max(seq), 0) FROM facts").fetchone() or (0,)
        self._newest = max(self._newest, int(newest))
        self._look(self._connection)
        self._news.tell(None, self._newest)

    def _run(self) -> None:
        while not self._is_ending:
            try:
                if self._connection is None:
                    self._begin()
                elif self._hear(self._connection):
                    self._rest(None, PAUSE_S)
                self._rest(self._connection, LOOK_S)
            except Exception as error:  # whatever it is, others are heard of again
                self._lose(error)
                self._rest(None, AGAIN_S)

    def _hear(self, connection: "psycopg.Connection[Any]") -> bool:
        """A look each second, and what was told, if anything was."""
        was_told = False
        if self._is_due or _WORLD.ticks_ns() - self._answered_ns >= LOOK_S * 1e9:
            self._look(connection)
        for note in connection.notifies(timeout=0):
            was_told = True
            number, _, kinds = note.payload.partition(" ")
            if number.isdecimal():  # else a stranger's word
                self._newest = max(self._newest, int(number))
                self._news.tell(kinds.split() or None, int(number))
        return was_told

    def _rest(self, connection: "psycopg.Connection[Any] | None", rest_s: float) -> None:
        """Until the server says something, an office is wanted, or the watch is to end."""
        waiting = select.poll()
        waiting.register(self._stir, select.POLLIN)
        if connection is not None:
            waiting.register(connection.fileno(), select.POLLIN)
        waiting.poll(rest_s * 1000)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._stir)

    def _look(self, connection: "psycopg.Connection[Any]") -> None:
        """The newest number of each kind that was not told, and the offices that have become free."""
        self._is_due = False
        asked_ns = _WORLD.ticks_ns()
        untold = b"SELECT kind, max(seq) FROM facts WHERE seq > $1 GROUP BY kind"
        found = dict(connection.execute(untold, (self._newest,)).fetchall())
        for office in self._wanted - self._held:
            key = zlib.crc32(office.encode()) & 0x7FFF_FFFF
            (is_ours,) = connection.execute(
                b"SELECT pg_try_advisory_lock($1::int4, $2::int4)", (TURN, key)
            ).fetchone() or (0,)
            if is_ours:
                self._held |= {office}
                if office in self._waited_for:
                    _LOG.warning("the office of %s was another's, and is taken over here", office)
            else:
                self._waited_for |= {office}
        self._answered_ns = asked_ns
        if found:
            self._newest = max(found.values())
            self._news.tell(found, self._newest)

    def _lose(self, error: Exception) -> None:
        """The session is gone, and its offices with it."""
        held, self._held = self._held, frozenset()
        lost = f"; others may take over: {', '.join(sorted(held))}" if held else ""
        _LOG.warning("the session with the database has ended (%s)%s", str(error).strip().partition("\n")[0], lost)
        if self._connection is not None:
            self._connection.close()
            self._connection = None
