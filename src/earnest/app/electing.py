"""Work that one process does for all that use the same books."""

import asyncio
import logging
from typing import Final

from earnest.app.server_work import Work
from earnest.effects.ground.clock import Clock
from earnest.effects.ground.storage.database import Database

LOOK_MS: Final = 500
_LOG: Final = logging.getLogger("earnest.work")


async def elected(office: str, name: str, begin: Work, database: Database, clock: Clock) -> None:
    """Do it while this process holds `office`, until it ends. When the office is lost it is stopped where it is."""
    while True:
        while not database.leads(office):
            await clock.sleep_ms(LOOK_MS)
        work = asyncio.get_running_loop().create_task(begin(), name=name)
        try:
            while not work.done() and database.leads(office):
                await asyncio.wait([work], timeout=LOOK_MS / 1000)
        finally:
            was_done = work.done()
            work.cancel()
            await asyncio.wait([work])
        if was_done:
            return work.result()
        _LOG.warning("%s is another process's now: this one has lost the office of %s", name, office)
