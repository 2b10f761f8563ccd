"""What do books weigh, and what does it cost to move and keep them? Prints one JSON object.

A month of a market is lived through; its books are moved to a server of PostgreSQL, copied as a backup copies them, and
moved back. Then 32 writers record facts on both engines in turns.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

import psycopg

from earnest.app import places, simulating
from earnest.app.moving import move_books
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.snapshot import copy_books
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.facts import Fact
from earnest.runtime.simulation.story import SimulationPlan

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import postgresql

PLAN = SimulationPlan(days=30, agents=60, jobs=400, seed=1)
WRITERS, WRITES, ROUNDS = 32, 40, 5


def live_through(home: Path) -> None:
    """Fill the books of a data directory."""
    opened = SimpleNamespace(open=lambda _, clock, **given: Database.open(places.books(home), clock, **given))
    with patch.object(simulating, "Database", opened):
        found = asyncio.run(simulating.simulated(PLAN))
    assert not found.wrongs, found.wrongs


def spent(story: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    began = time.process_time()
    story()
    return time.process_time() - began


def appended(books: Books) -> float:
    """Durable facts a second."""
    fact = Fact(kind="bench.happened", subject="s", at_ms=1, body={"n": 1})

    async def writer(database: Database) -> None:
        for _ in range(WRITES):
            await database.write(partial(Transaction.record, fact=fact))

    async def all_of_them() -> float:
        with closing(Database.open(books, SystemClock())) as database:
            began = time.perf_counter()
            await asyncio.gather(*(writer(database) for _ in range(WRITERS)))
            return WRITERS * WRITES / (time.perf_counter() - began)

    return asyncio.run(all_of_them())


def rates(folder: Path, server: str) -> dict[str, float]:
    """Facts a second on both engines, in turns."""
    with postgresql.database(server) as address:
        sides: dict[str, Books] = {
            "sqlite": folder / "rate" / "books.sqlite3",
            "postgresql": ServerBooks(address, folder / "rate_there"),
        }
        rounds = [{name: appended(books) for name, books in sides.items()} for _ in range(ROUNDS)]
    ratio = statistics.median(one["postgresql"] / one["sqlite"] for one in rounds)
    return {name: round(statistics.median(one[name] for one in rounds)) for name in sides} | {"ratio": round(ratio, 2)}


def main() -> None:
    clock = SystemClock()
    with TemporaryDirectory() as name, postgresql.server() as server, postgresql.database(server) as address:
        home = Path(name) / "home"
        home.mkdir()
        live_through(home)
        file, there = places.books(home), ServerBooks(address, home)
        size_bytes = file.stat().st_size
        with psycopg.connect(address) as connection:
            (empty_bytes,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
        moved = list[int]()
        there_s = spent(lambda: moved.append(move_books(file, there, clock).facts))
        with psycopg.connect(address) as connection:
            (full_bytes,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
        copy_s = spent(lambda: copy_books(there, Path(name) / "copy.sqlite3", lambda _: None))
        file.unlink()
        back_s = spent(lambda: move_books(there, file, clock))
        facts = moved[0]
        found = {
            "jobs": PLAN.jobs,
            "facts": facts,
            "facts_per_job": round(facts / PLAN.jobs, 1),
            "bytes_per_job": {
                "sqlite": round(size_bytes / PLAN.jobs),
                "postgresql": round((full_bytes - empty_bytes) / PLAN.jobs),
            },
            "facts_per_cpu_s": {
                "moved_there": round(facts / there_s),
                "moved_back": round(facts / back_s),
                "copied": round(facts / copy_s),
            },
            "durable_facts_per_s": rates(Path(name), server),
        }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
