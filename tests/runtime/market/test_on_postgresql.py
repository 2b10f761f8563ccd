"""Does a market live through the same on PostgreSQL as on SQLite, and do its facts lead to its rows?"""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

import postgresql
from earnest.app import simulating
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.reader import ReadPool
from earnest.journal.verify import verify_journal
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.story import SimulationPlan

PLAN = SimulationPlan(days=12, agents=9, jobs=60, seed=5)


@pytest.mark.slow
async def test_the_same_seed_is_the_same_simulation_on_both_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: some thousand transactions, each by several trips to a server."""
    on_sqlite = await simulating.simulated(PLAN)
    assert on_sqlite.wrongs == ()
    with postgresql.server() as server, postgresql.database(server) as address:
        books = ServerBooks(address, tmp_path)
        there = SimpleNamespace(open=lambda _, clock, **given: Database.open(books, clock, **given))
        monkeypatch.setattr(simulating, "Database", there)
        assert await simulating.simulated(PLAN) == on_sqlite
        with closing(ReadPool.open_reader(books)) as pool:
            found = pool.read_sync(lambda reader: recompute(reader, VirtualClock()))
            assert (found.facts > 500, found.rows > 500, found.differences) == (True, True, ())
            assert pool.read_sync(lambda reader: verify_journal(reader, [])).intact
            assert pool.read_sync(lambda reader: reader.faults()) == ()
