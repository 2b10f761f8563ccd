"""The sandbox of this process: opened for these settings, tested before anybody uses it."""

from pathlib import Path
from typing import Final

from earnest.app.judging_settings import JudgingSettings
from earnest.effects.clock import Clock
from earnest.effects.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.sandbox.available import open_sandbox

POOL: Final = SandboxSettings().pool


async def open_for(settings: JudgingSettings, clock: Clock, *, pool: int = POOL) -> Sandbox:
    """A sandbox that shows the user's home read-only, without the data directory. It is not tested yet."""
    wanted = SandboxSettings(
        home=Path.home(), masked=(settings.home,), slots=settings.sandbox_slots, pool=pool, kept=settings.home
    )
    return await open_sandbox(wanted, clock)
