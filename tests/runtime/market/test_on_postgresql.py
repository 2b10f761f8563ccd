"""Does a market live through the same on PostgreSQL as on SQLite, and do its facts lead to its rows?"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

import postgresql
from earnest.app import simulating
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.reader import ReadPool
from earnest.journal.verify import verify_journal
from earnest.runtime.market.judging import Judging
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.story import SimulationPlan

from .conftest import town_on, usd
from .test_jobs_and_claims import claim, post, submit

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


@contextmanager
def trips_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The messages to the server while somebody holds the turn, at which all others wait."""
    messages, execute = list[bytes](), psycopg.Connection.execute

    def seen(self: Any, query: Any, *given: Any, **named: Any) -> Any:
        if threading.current_thread().name == "earnest-writer":
            messages.append(query)
        return execute(self, query, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", seen)
        yield messages


async def test_each_step_of_a_job_takes_few_trips_to_the_server(
    postgresql_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = dict[str, list[bytes]]()
    with town_on(ServerBooks(postgresql_address, tmp_path), tmp_path) as town:
        buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
        for _ in range(2):  # the first time the server learns the plans
            with trips_in(monkeypatch) as taken["post"]:
                job = await post(town, buyer)
            with trips_in(monkeypatch) as taken["claim"]:
                held = claim(town, seller, job)
            with trips_in(monkeypatch) as taken["hand in"]:
                await submit(town, seller, held)
            with trips_in(monkeypatch) as taken["lease and verdict"]:
                await Judging(town.market).drain()
    most = {"post": 3, "claim": 5, "hand in": 4, "lease and verdict": 4 + 3}
    assert {step: len(messages) for step, messages in taken.items()} == most, taken
