"""The sandbox of this process: opened for these settings, tested before anybody uses it."""

import asyncio
from pathlib import Path
from typing import Final

from earnest.app.judging_settings import JudgingSettings
from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.scratch import sweep

POOL: Final = SandboxSettings().pool


async def open_for(settings: JudgingSettings, clock: Clock, *, pool: int = POOL) -> Sandbox:
    """A sandbox that shows the user's home read-only, without the data directory. It is not tested yet.

    What killed processes left in the place for temporary files is removed: whatever they did there was for sandboxes.
    """
    await asyncio.to_thread(sweep)
    wanted = SandboxSettings(
        home=Path.home(), masked=(settings.home,), slots=settings.sandbox_slots, pool=pool, kept=settings.home
    )
    return await open_sandbox(wanted, clock)
