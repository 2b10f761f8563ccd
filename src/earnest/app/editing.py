"""The wiring of applying and taking back: the books, and what an earlier process left completed."""

import contextlib
from collections.abc import AsyncIterator

from earnest.app import places
from earnest.app.settings import Settings
from earnest.effects.ground.clock import Clock, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.runtime.edits.applying import Edits
from earnest.runtime.task_run import RUNS_FOLDER


@contextlib.asynccontextmanager
async def open_edits(settings: Settings) -> AsyncIterator[Edits]:
    """Raises `Refused("data_directory_in_use")` beside who has the directory alone."""
    clock = SystemClock()
    with contextlib.closing(Database.open(settings.books, clock)) as database:
        yield await edits_in(settings, database, clock)


async def edits_in(settings: Settings, database: Database, clock: Clock) -> Edits:
    """Over these books, with what an earlier process left completed."""
    home = settings.home
    lock = places.lock(home, "applying")
    edits = Edits(home=home, runs=home / RUNS_FOLDER, lock=lock, database=database, clock=clock)
    await edits.recover()
    return edits
