"""What does memory cost: a query at 10 and at 1,000,000 Megrams, a write, and forgetting 100,000 of them?

Prints one JSON object. `python benchmarks/memory.py [--megrams N] [--forgotten N] [--written N]`
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from earnest.effects.ground.kv.api import StoreChange
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.foundation.instants import DAY_MS
from earnest.memory import store
from earnest.memory.megram import Level, Megram, MegramState, Tag, of_state
from earnest.memory.service import Memory, MemoryReader

NOW_MS = 1_750_000_000_000
SMALL = Tag(space="intent:small", entity="env:local")
LARGE = Tag(space="intent:large", entity="env:local")
STATES = (MegramState.ABANDON, MegramState.CHANGE_PATH, MegramState.REFINE, MegramState.ACCEPT)
"""All three decay classes, both signs."""
TRANSACTION = 20_000
QUERIES = 2_000


def megram(number: int, tag: Tag) -> Megram:
    """Spread over thirty days, every level M or K in turn."""
    return of_state(
        STATES[number % len(STATES)],
        megram_id=f"{tag.space}/{number:08d}",
        level=Level.K if number % 8 == 0 else Level.M,
        created_at_ms=NOW_MS - 30 * DAY_MS + number * 7_919 % (30 * DAY_MS),
        tag=tag,
        content="the command exited with status 1: no such file or directory",
        agent="resident",
        run_id=f"run-{number // 10}",
    )


def fill(kv: LmdbKeyValue, tag: Tag, count: int) -> float:
    """Seconds to remember `count` Megrams in large transactions."""
    began = time.perf_counter()
    for first in range(0, count, TRANSACTION):

        def remember(tx: StoreChange, numbers: range = range(first, min(first + TRANSACTION, count))) -> None:
            for number in numbers:
                store.put(tx, megram(number, tag))

        kv.write(remember)
    return time.perf_counter() - began


def query_us(reader: MemoryReader, tag: Tag) -> float:
    """Median microseconds of a query."""
    times_ns = []
    for number in range(QUERIES):
        began_ns = time.perf_counter_ns()
        reader.query_mk(tag.space, tag.entity, NOW_MS + number)
        times_ns.append(time.perf_counter_ns() - began_ns)
    return statistics.median(times_ns) / 1_000


def rules_us(reader: MemoryReader, tag: Tag) -> float:
    """Median microseconds of a question for the rules of a pair."""
    times_ns = []
    for _ in range(QUERIES):
        began_ns = time.perf_counter_ns()
        reader.query_c(tag.space, tag.entity)
        times_ns.append(time.perf_counter_ns() - began_ns)
    return statistics.median(times_ns) / 1_000


def a_rule(tag: Tag, number: int) -> Megram:
    return replace(megram(number, tag), id=f"{tag.space}/rule{number}", level=Level.C, k=0.0)


def measure_queries(folder: Path, count: int) -> tuple[dict[str, float | int], dict[str, float]]:
    kv = LmdbKeyValue(folder)
    fill(kv, SMALL, 10)
    fill_s = fill(kv, LARGE, count)
    kv.write(lambda tx: [store.put(tx, a_rule(tag, number)) for tag in (SMALL, LARGE) for number in range(10)])
    reader = MemoryReader(kv)
    query_us(reader, LARGE)
    # Turn about, so that a busy machine disturbs both alike.
    rounds = [(query_us(reader, SMALL), query_us(reader, LARGE)) for _ in range(5)]
    small_us, large_us = (min(column) for column in zip(*rounds, strict=True))
    rule_rounds = [(rules_us(reader, SMALL), rules_us(reader, LARGE)) for _ in range(5)]
    rules_small_us, rules_large_us = (min(column) for column in zip(*rule_rounds, strict=True))
    size_bytes = (folder / "data.mdb").stat().st_size
    kv.close()
    queries: dict[str, float | int] = {
        "megrams": count,
        "fill_s": round(fill_s, 1),
        "bytes_per_megram": size_bytes // count,
        "query_10_us": round(small_us, 1),
        "query_all_us": round(large_us, 1),
        "ratio": round(large_us / small_us, 2),
    }
    rules = {
        "rules_10_us": round(rules_small_us, 1),
        "rules_all_us": round(rules_large_us, 1),
        "ratio": round(rules_large_us / rules_small_us, 2),
    }
    return queries, rules


async def measure_writes(folder: Path, count: int) -> dict[str, float | int]:
    memory = Memory(LmdbKeyValue(folder), queue_max=count)
    megrams = [megram(number, LARGE) for number in range(count)]
    began = time.perf_counter()
    for number, one in enumerate(megrams):
        memory.write(one, fact_seq=number + 1)
    handed_in = time.perf_counter()
    await memory.flush()
    ended = time.perf_counter()
    await memory.close()
    return {
        "hand_in_us": round((handed_in - began) / count * 1e6, 2),
        "kept_per_s": round(count / (ended - began)),
        "dropped": memory.dropped,
    }


async def measure_forgetting(folder: Path, count: int) -> dict[str, float | int]:
    kv = LmdbKeyValue(folder)
    fill(kv, LARGE, count)
    kv.write(lambda tx: store.put(tx, replace(megram(count, LARGE), f=1.0, k=0.0)))
    memory = Memory(kv)
    began = time.perf_counter()
    forgotten, longest_s = 0, 0.0
    while True:
        batch_began = time.perf_counter()
        batch = await memory.forget_expired(NOW_MS + 100 * DAY_MS)
        longest_s = max(longest_s, time.perf_counter() - batch_began)
        if not batch:
            break
        forgotten += len(batch)
    whole_s = time.perf_counter() - began
    began = time.perf_counter()
    await memory.forget_expired(NOW_MS + 100 * DAY_MS)
    idle_s = time.perf_counter() - began
    await memory.close()
    return {
        "forgotten": forgotten,
        "whole_s": round(whole_s, 2),
        "longest_batch_ms": round(longest_s * 1e3, 1),
        "idle_pass_ms": round(idle_s * 1e3, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megrams", type=int, default=1_000_000)
    parser.add_argument("--forgotten", type=int, default=100_000)
    parser.add_argument("--written", type=int, default=20_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        queries, rules = measure_queries(Path(folder) / "queries", arguments.megrams)
        result = {
            "queries": queries,
            "rules": rules,
            "writes": asyncio.run(measure_writes(Path(folder) / "writes", arguments.written)),
            "forgetting": asyncio.run(measure_forgetting(Path(folder) / "forgetting", arguments.forgotten)),
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
