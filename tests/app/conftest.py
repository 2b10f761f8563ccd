"""A data directory in whose books something of every kind stands."""

import asyncio
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from earnest.app import places, simulating
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.runtime.simulation.story import SimulationPlan

from .homes import live_in


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of a market that some days went by in, sealed, with runs, artifacts and an audit log."""
    home = tmp_path_factory.mktemp("lived") / "home"
    home.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        opened = SimpleNamespace(open=lambda _, clock, **given: Database.open(places.books(home), clock, **given))
        patch.setattr(simulating, "Database", opened)
        patch.setattr(simulating, "ArtifactStore", lambda _: ArtifactStore(places.artifacts(home)))
        asyncio.run(simulating.simulated(SimulationPlan(days=2, agents=5, jobs=8, seed=5)))
    live_in(home, clock=VirtualClock(simulating.START_MS + 10 * 86_400_000))
    return home


@pytest.fixture
def home(lived: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(lived, tmp_path / "home")
