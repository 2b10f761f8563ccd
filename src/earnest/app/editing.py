"""The wiring of applying and taking back: the books, held for writing, and what an earlier process left completed."""

import contextlib
from collections.abc import AsyncIterator

from earnest.app import places
from earnest.app.settings import Settings
from earnest.effects.clock import Clock, SystemClock
from earnest.effects.storage.database import Database
from earnest.runtime.edits.applying import Edits
from earnest.runtime.task_run import RUNS_FOLDER


@contextlib.asynccontextmanager
async def open_edits(settings: Settings) -> AsyncIterator[Edits]:
    """Raises `Refused("data_directory_in_use")` beside another writer."""
    clock = SystemClock()
    with contextlib.closing(Database.open(places.books(settings.home), clock)) as database:
        yield await edits_in(settings, database, clock)


async def edits_in(settings: Settings, database: Database, clock: Clock) -> Edits:
    """Over books that are held for writing, with what an earlier process left completed."""
    edits = Edits(home=settings.home, runs=settings.home / RUNS_FOLDER, database=database, clock=clock)
    await edits.recover()
    return edits
