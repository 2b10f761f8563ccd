"""What the operator decides about the runs of a data directory: edits, reviews, and a look at its journal."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, cast

from earnest.app import places
from earnest.app.reviews import reviews_in
from earnest.app.settings import Settings
from earnest.client.payloads_platform import JournalChecked
from earnest.effects.ground.clock import Clock, SystemClock
from earnest.effects.ground.process import answer_of
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import Refused, Unavailable
from earnest.runtime.edits.applying import Edits
from earnest.runtime.own_runs import OwnRuns
from earnest.runtime.task_run import RUNS_FOLDER

WORKER: Final = "earnest.app.journal_worker"
WALL_S: Final = 600


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


async def own_runs_in(settings: Settings, database: Database, clock: Clock) -> OwnRuns:
    """Edits (what an earlier process left of them completed), reviews, and the check of the journal."""
    turn = asyncio.Lock()

    async def check(*, continued: bool) -> JournalChecked:
        async with turn:
            return await _checked(settings.home, continued=continued)

    return OwnRuns(
        edits=await edits_in(settings, database, clock), reviews=reviews_in(database, clock), check_journal=check
    )


async def _checked(home: Path, *, continued: bool) -> JournalChecked:
    """Raises `Refused("no_database")`; `Unavailable` where it took too long or the process failed."""
    try:
        answer = json.loads(await answer_of(WORKER, {"home": str(home), "continued": continued}, WALL_S))
    except (TimeoutError, ValueError) as error:
        raise Unavailable("the journal could not be read in time: `earnest journal verify` does it") from error
    if "code" in answer:
        raise Refused("no_database", answer["detail"])
    return cast("JournalChecked", answer)
