"""How many jobs a second go the whole way, over HTTP? Prints one JSON object.

Post, claim, hand in, verify by `json_schema`, settle: asked of `earnest serve` in a process of its own by agents that
keep their connections, with 100 jobs in the books and with 1,000,000. A job counts once its claim is released; the CPU
is that of the server and of all that it has started, for each such job.
"""

import asyncio
import itertools
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from earnest.app import places
from earnest.testing.served import API, ServedPlatform, served

AGENTS = 32
ROUND_S = 4.0
LOOK_S = 0.25  # agents look four times a second whether their claim is released: that is no part of the cycle
ROUNDS = 5
FEW, MANY = 100, 1_000_000
JOB = {
    "title": "Add up",
    "text": "Write answer.json with the sum.",
    "category": "data-extraction",
    "currency": "USD",
    "amount_micro": 1_000_000,
    "criteria": [
        {
            "id": "C1",
            "text": "answer.json holds the sum",
            "check": {
                "kind": "json_schema",
                "path": "answer.json",
                "schema": {"type": "object", "required": ["sum"], "properties": {"sum": {"const": 42}}},
            },
        }
    ],
    "evidence_requirements": [{"id": "answer", "kind": "json", "path": "answer.json"}],
}
WORK = {"items": [{"requirement_id": "answer", "kind": "json", "inline": {"sum": 42}}]}


class Asking:
    """One kept connection of one agent: as little as can be, so that the server is what is measured."""

    _keys = itertools.count()

    def __init__(self, platform: ServedPlatform, key: str) -> None:
        self._port = int(platform.url.rpartition(":")[2])
        self._key = key

    async def connect(self) -> "Asking":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def ask(self, method: str, path: str, body: object = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {API}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._key}\r\n"
            f"Idempotency-Key: b{next(self._keys)}\r\nContent-Length: {len(data)}\r\n"
            + ("Content-Type: application/json\r\n\r\n" if data else "\r\n")
        )
        self._writer.write(head.encode() + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        found = json.loads(await self._reader.readexactly(size))
        assert answer.split(b" ", 2)[1] in {b"200", b"201"}, found
        return found


async def _cycle(buyer: Asking, seller: Asking) -> None:
    job = await buyer.ask("POST", "/jobs", JOB)
    claim = await seller.ask("POST", f"/jobs/{job['job_id']}/claim")
    await seller.ask("POST", f"/claims/{claim['claim_id']}/evidence", WORK)
    while True:
        await asyncio.sleep(LOOK_S)
        found = await seller.ask("GET", f"/claims/{claim['claim_id']}")
        if found["state"] == "released":
            return
        assert found["state"] in {"submitted", "releasing"}, found


async def _rates(platform: ServedPlatform) -> list[tuple[float, float]]:
    """Jobs per second and the CPU that the server spent on each, in ms, round by round, after one that warms up."""
    buyer_keys = platform.agent("buyer", usd_micro=10**12)
    pairs = []
    for at in range(AGENTS):
        seller = platform.agent(f"seller{at}")
        pairs.append(
            (await Asking(platform, buyer_keys["live"]).connect(), await Asking(platform, seller["live"]).connect())
        )
    rates = []
    for _ in range(ROUNDS + 1):
        start, counts, cpu_ms = time.perf_counter(), [0] * AGENTS, _cpu_ms(platform.process.pid)

        async def work(at: int, start: float = start, counts: list[int] = counts) -> None:
            while time.perf_counter() - start < ROUND_S:
                await _cycle(*pairs[at])
                counts[at] += 1

        await asyncio.gather(*map(work, range(AGENTS)))
        done = sum(counts)
        rates.append((done / (time.perf_counter() - start), (_cpu_ms(platform.process.pid) - cpu_ms) / done))
    return rates[1:]


def _cpu_ms(pid: int) -> float:
    """What a process and all that it has started have spent so far (proc(5))."""
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    begun = [child for one in Path(f"/proc/{pid}/task").iterdir() for child in (one / "children").read_text().split()]
    return 1_000 * sum(map(int, spent)) / os.sysconf("SC_CLK_TCK") + sum(map(_cpu_ms, map(int, begun)))


def _fill(home: Path, jobs: int) -> None:
    """So many jobs that went the same way, in the form that the rows of a first one have. Facts are left out."""
    with sqlite3.connect(places.books(home)) as books:
        for table in ("jobs", "claims", "submissions", "transfers"):
            columns = [row[1] for row in books.execute(f"PRAGMA table_info({table})")]
            ids = {"id", "job_id", "claim_id", "pending_id", "live_claim"} & set(columns)
            columns = [one for one in columns if one != "number"]  # given by the table
            numbered = ", ".join(f"{one} || '/' || n" if one in ids else one for one in columns)
            books.execute(
                f"WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {numbered} FROM numbers, "
                f"(SELECT * FROM {table})",
                (jobs,),
            )


def _measured(jobs: int) -> dict[str, float]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="earnest-bench-") as folder:
        home = Path(folder) / "home"
        with served(home, environment) as platform:
            platform.become_operator()
            keys = platform.agent("first", usd_micro=10**7), platform.agent("second")
            asyncio.run(_one(platform, keys[0]["live"], keys[1]["live"]))
            operator_key = platform.operator_key
        _fill(home, jobs)
        with served(home, environment) as platform:
            platform.operator_key = operator_key
            rates, cpu_ms = zip(*asyncio.run(_rates(platform)), strict=True)
    return {
        "per_s": statistics.median(rates),
        "best_per_s": max(rates),
        "worst_per_s": min(rates),
        "server_cpu_ms": statistics.median(cpu_ms),
    }


async def _one(platform: ServedPlatform, buyer: str, seller: str) -> None:
    await _cycle(await Asking(platform, buyer).connect(), await Asking(platform, seller).connect())


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or [FEW, MANY]
    found: dict[str, Any] = {f"jobs_{jobs}": _measured(jobs) for jobs in sizes}
    first, last = found[f"jobs_{sizes[0]}"], found[f"jobs_{sizes[-1]}"]
    found["per_s"] = min(first["per_s"], last["per_s"])
    found["server_cpu_ms"] = max(first["server_cpu_ms"], last["server_cpu_ms"])
    found["cpu_ratio"] = last["server_cpu_ms"] / first["server_cpu_ms"]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
