"""A market for a simulation: in a temporary place, on a clock that is moved, with chance from a seed."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.market import market_over
from earnest.app.verifiers import bare_verifier
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.scratch import scratch
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk
from earnest.runtime.simulation.story import Simulated, SimulationPlan, simulate

START_MS: Final = 1_767_225_600_000
"""2026-01-01T00:00:00Z, so that the same seed is the same simulation whenever it runs."""

OPEN_JOBS: Final = 1_000
"""Of an agent: all of the simulation is one period, in which buyers post as often as they would in many."""


async def simulated(plan: SimulationPlan, progress: Callable[[int], None] = lambda _: None) -> Simulated:
    """Live through a plan and throw the books away."""
    with scratch("simulate") as path:
        return await simulated_in(path, plan, START_MS, progress)


async def simulated_in(
    home: Path, plan: SimulationPlan, start_ms: int, progress: Callable[[int], None] = lambda _: None
) -> Simulated:
    """Live through a plan from `start_ms` on, in the books of a data directory, which stay."""
    clock = VirtualClock(start_ms)
    with contextlib.closing(Database.open(places.books(home), clock, is_durable=False)) as database:
        desk = Desk(database, clock, SeededChance(plan.seed))
        terms, artifacts = Terms(open_jobs_aid=OPEN_JOBS), ArtifactStore(places.artifacts(home))
        market = market_over(desk, terms, bare_verifier(clock), artifacts)
        return await simulate(market, clock, plan, progress)
