"""The sandbox of this process, opened for these settings and tested before anybody uses it, and its environments."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from earnest.app import places
from earnest.app.judging_settings import JudgingSettings
from earnest.contracts.environment import EnvironmentSpec
from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.equipped import Equipment, equipped
from earnest.effects.hands.scratch import sweep

if TYPE_CHECKING:
    from earnest.effects.hands.environments.store import Environments

POOL: Final = SandboxSettings().pool


async def open_for(settings: JudgingSettings, clock: Clock, *, pool: int = POOL) -> Sandbox:
    """A sandbox that shows the user's home read-only, without the data directory. It is not tested yet.

    It has the environment of the settings, where nothing asks for another. Raises `Faulty` if that is not built.

    What killed processes left in the place for temporary files is removed: whatever they did there was for sandboxes.
    """
    equipment = equipment_for(settings.environment, settings.home, settings)
    await asyncio.to_thread(sweep)
    wanted = SandboxSettings(
        home=Path.home(), masked=(settings.home,), slots=settings.sandbox_slots, pool=pool, kept=settings.home
    )
    return equipped(await open_sandbox(wanted, clock), equipment)


def environments(settings: JudgingSettings) -> "Environments":
    """The environments that were built here."""
    from earnest.effects.hands.environments.store import Environments  # noqa: PLC0415 - loads what builds

    return Environments(places.environments(settings.home))


def equipment_for(wanted: EnvironmentSpec | None, folder: Path, settings: JudgingSettings) -> Equipment | None:
    """See `equipment_of`."""
    if wanted is None:
        return None
    from earnest.runtime.equipping import equipment_of  # noqa: PLC0415 - as above

    return equipment_of(wanted, folder, environments(settings))
