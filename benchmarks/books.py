"""How fast are the books? Prints one JSON object; run with `python benchmarks/books.py`."""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.journal.service import Sealer
from earnest.journal.verify import verify_journal

WAITERS = 32
FACTS_EACH = 1_000
EFFECTS = 500


def _fact(number: int, clock: SystemClock) -> Fact:
    body: JsonObject = {"tool": "shell", "call": f"{number:026d}", "ok": True, "ms": number, "output": "x" * 120}
    return Fact(kind="effect.outcome", subject=f"run-{number % 100:03d}", at_ms=clock.now_ms(), body=body)


async def _append(database: Database, clock: SystemClock, first: int, count: int) -> None:
    for number in range(first, first + count):
        fact = _fact(number, clock)

        def record(transaction: Transaction, fact: Fact = fact) -> int:
            return transaction.record(fact)

        await database.write(record)


async def _facts_per_s(database: Database, clock: SystemClock) -> float:
    start_ns = clock.ticks_ns()
    await asyncio.gather(*(_append(database, clock, n * FACTS_EACH, FACTS_EACH) for n in range(WAITERS)))
    return WAITERS * FACTS_EACH / ((clock.ticks_ns() - start_ns) / 1e9)


async def _effect_ms(database: Database, clock: SystemClock) -> list[float]:
    """Durations of an intent and its outcome, each durable before the next step."""
    took = []
    for number in range(EFFECTS):
        start_ns = clock.ticks_ns()
        await _append(database, clock, number, 2)
        took.append((clock.ticks_ns() - start_ns) / 1e6)
    return took


async def _seal_and_verify(database: Database, clock: SystemClock) -> tuple[float, float]:
    """Facts sealed and facts verified per second; the latter with SQLite's own check of the file."""
    count = database.last_seq
    start_ns = clock.ticks_ns()
    await Sealer(database, clock).seal()
    sealed_ns = clock.ticks_ns()
    report = await database.read(verify_journal)
    verified_ns = clock.ticks_ns()
    assert report.intact
    return count / ((sealed_ns - start_ns) / 1e9), count / ((verified_ns - sealed_ns) / 1e9)


async def measure(folder: Path) -> dict[str, float]:
    clock = SystemClock()
    database = Database.open(folder / "books.sqlite", clock)
    try:
        effects = await _effect_ms(database, clock)
        rate = await _facts_per_s(database, clock)
        sealed, verified = await _seal_and_verify(database, clock)
    finally:
        database.close()
    return {
        "durable_facts_per_s_32_waiters": round(rate),
        "intent_and_outcome_ms_median": round(statistics.median(effects), 3),
        "intent_and_outcome_ms_p99": round(statistics.quantiles(effects, n=100)[98], 3),
        "sealed_facts_per_s": round(sealed),
        "verified_facts_per_s": round(verified),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        started = time.perf_counter()
        figures = asyncio.run(measure(Path(name)))
        print(json.dumps(figures | {"seconds": round(time.perf_counter() - started, 1)}, indent=2))
