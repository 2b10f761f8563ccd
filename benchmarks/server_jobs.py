"""How many jobs a second go the whole way on PostgreSQL? Prints one JSON object.

The cycle of `jobs.py`, asked of a server over a file, of one over a database of PostgreSQL, and of two over another
such database, whose agents are divided between them; in turns. The CPU is that of the servers and of all that they have
started, the server of the database included. Rates need two idle cores.
"""

import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from jobs import AGENTS, Asking, _cpu_ms, _cycle

from earnest.testing.served import ServedPlatform, served

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import postgresql

ROUND_S, ROUNDS = 2.0, 5


class Side:
    """Servers over the same books, their agents, and the process of their database."""

    def __init__(self, platforms: list[ServedPlatform], database_pid: int = 0) -> None:
        self._platforms = platforms
        self._pids = [*(platform.process.pid for platform in platforms), *([database_pid] if database_pid else [])]
        self._pairs: list[tuple[ServedPlatform, str, str]] = []

    async def prepare(self) -> None:
        first = self._platforms[0]
        first.become_operator()
        buyer = first.agent("buyer", usd_micro=10**12)["live"]
        for at in range(AGENTS):
            seller = first.agent(f"seller{at}")["live"]
            self._pairs.append((self._platforms[at % len(self._platforms)], buyer, seller))

        (platform, *keys), *_ = self._pairs
        await _cycle(*[await Asking(platform, key).connect() for key in keys])

    async def round(self) -> tuple[float, float]:
        """Jobs a second, and the CPU of each in ms."""
        pairs = [
            (await Asking(platform, buyer).connect(), await Asking(platform, seller).connect())
            for platform, buyer, seller in self._pairs
        ]  # anew: servers end connections that rest while another side has its turn
        start, count, cpu_ms = time.perf_counter(), 0, sum(map(_cpu_ms, self._pids))

        async def work(pair: tuple[Asking, Asking]) -> None:
            nonlocal count
            while time.perf_counter() - start < ROUND_S:
                await _cycle(*pair)
                count += 1

        await asyncio.gather(*map(work, pairs))
        return count / (time.perf_counter() - start), (sum(map(_cpu_ms, self._pids)) - cpu_ms) / count


@contextlib.contextmanager
def _sides(folder: Path) -> Iterator[dict[str, Side]]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with contextlib.ExitStack() as stack:
        sides = {"file": Side([stack.enter_context(served(folder / "file", environment))])}
        for name, count in (("one", 1), ("two", 2)):
            server = stack.enter_context(postgresql.server())
            address = stack.enter_context(postgresql.database(server))
            there = {**environment, "EARNEST_DATABASE": address}
            platforms = [stack.enter_context(served(folder / name, there)) for _ in range(count)]
            sides[name] = Side(platforms, _postmaster(server))
        yield sides


def _postmaster(server: str) -> int:
    """The process that started what answers there."""
    with psycopg.connect(server) as connection:
        about = Path(f"/proc/{connection.info.backend_pid}/stat").read_text()
    return int(about.rpartition(")")[2].split()[1])


async def measure(folder: Path) -> dict[str, float]:
    """Medians of rounds in turns, and ratios of the rounds beside each other."""
    with _sides(folder) as sides:
        for side in sides.values():
            await side.prepare()
            await side.round()
        rounds = [{name: await side.round() for name, side in sides.items()} for _ in range(ROUNDS)]
    found: dict[str, float] = {}
    for name in sides:
        found[f"{name}_per_s"] = round(statistics.median(one[name][0] for one in rounds), 1)
        found[f"{name}_cpu_ms"] = round(statistics.median(one[name][1] for one in rounds), 1)
    found["ratio"] = round(statistics.median(one["one"][0] / one["file"][0] for one in rounds), 2)
    found["two_ratio"] = round(statistics.median(one["two"][0] / one["one"][0] for one in rounds), 2)
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="earnest-bench-") as name:
        print(json.dumps(asyncio.run(measure(Path(name))), indent=1))
