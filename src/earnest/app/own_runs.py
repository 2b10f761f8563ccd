"""What the operator of a platform decides about the runs of its data directory, over the books that it has open."""

import asyncio
import json
from pathlib import Path
from typing import Final, cast

from earnest.app.editing import edits_in
from earnest.app.reviews import reviews_in
from earnest.app.settings import Settings
from earnest.client.payloads_platform import JournalChecked
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.workers import answer_of
from earnest.foundation.errors import Refused, Unavailable
from earnest.runtime.own_runs import OwnRuns

WORKER: Final = "earnest.app.journal_worker"
WALL_S: Final = 600


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
