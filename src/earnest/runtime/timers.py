"""Deadlines that have come. Every deadline is a row with `wake_ms`; nothing else remembers one."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import Members
from earnest.foundation.errors import EarnestError
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk, StoryContext

LOOK_MS: Final = 1_000
AT_ONCE: Final = 256

Due: TypeAlias = Callable[[StoryContext, Terms, str], Members]
"""Look at the row with this key and do everything whose time has come. It moves the row's `wake_ms`, or ends it."""


@dataclass(frozen=True, slots=True)
class Timers:
    """Calls the story of each table for its rows that are due, oldest first. `stories`: table → key column, story."""

    desk: Desk
    terms: Terms
    stories: Mapping[str, tuple[str, Due]]
    failed: Callable[[str], None]

    async def run(self, clock: Clock) -> None:
        """Look about every second, for ever."""
        while True:
            await self.look()
            await clock.sleep_ms(LOOK_MS)

    async def look(self) -> int:
        """Do everything that is due now; how many rows. One row's failure is told, and leaves the others alone."""
        done = 0
        stuck: set[tuple[str, str]] = set()
        while due := [one for one in await self._due() if one not in stuck]:
            answers = await asyncio.gather(*(self._wake(table, key) for table, key in due))
            stuck |= {one for one, moved in zip(due, answers, strict=True) if not moved}
            done += len(due)
        return done

    async def next_ms(self) -> int | None:
        """The next instant at which something is due, for a clock that can be moved."""

        def earliest(reader: BooksReader) -> int | None:
            found = [
                reader.execute(f"SELECT min(wake_ms) FROM {table} WHERE wake_ms IS NOT NULL").fetchone()[0]  # noqa: S608
                for table in self.stories
            ]
            return min((at_ms for at_ms in found if at_ms is not None), default=None)

        return await self.desk.database.ask(earliest)

    async def _due(self) -> list[tuple[str, str]]:
        now_ms = self.desk.now_ms()

        def read(reader: BooksReader) -> list[tuple[str, str]]:
            return [
                (table, str(key))
                for table, (column, _) in self.stories.items()
                for (key,) in reader.execute(
                    f"SELECT {column} FROM {table} WHERE wake_ms <= ? ORDER BY wake_ms LIMIT ?",  # noqa: S608
                    (now_ms, AT_ONCE),
                ).fetchall()
            ]

        return await self.desk.database.ask(read)

    async def _wake(self, table: str, key: str) -> bool:
        """False where the row is due still: it would be looked at for ever."""
        column, story = self.stories[table]
        try:
            await self.desk.tick(lambda entry: story(entry, self.terms, key))
        except Exception as error:  # whatever it is, the deadlines of others are kept
            told = error if isinstance(error, EarnestError) else repr(error)
            self.failed(f"{table} {key}: {told}")
            return False
        sql = f"SELECT wake_ms FROM {table} WHERE {column} = ?"  # noqa: S608
        wake = await self.desk.database.ask(lambda reader: reader.execute(sql, (key,)).fetchone())
        if wake is not None and wake[0] is not None and wake[0] <= self.desk.now_ms():
            self.failed(f"{table} {key}: its time has come and nothing was done")
            return False
        return True
