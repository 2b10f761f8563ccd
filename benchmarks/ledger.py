"""How fast is the ledger, and does it stay so? Prints one JSON object; run with `python benchmarks/ledger.py`."""

import asyncio
import gc
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.facts import Fact
from earnest.ledger.service import post
from earnest.ledger.transfer import Chain, available, external, moved

WRITERS = 32
TRANSFERS = 2_000
ROUNDS = 9
PARTIES = 20_000
OPENING_MICRO = 10**11
MANY = 1_000_000
FILL = """
INSERT INTO transfers (number, id, kind, debit, credit, currency, amount_micro, reason, at_ms, pending_id, resolved,
  debit_before, credit_before)
VALUES (?, ?, 'posted', ?, ?, 'USD', 1, 'filled', ?, NULL, '', ?, ?)
"""


def _account(number: int) -> str:
    return available(f"act_{number:026d}", "USD")


def _chain(clock: SystemClock, chance: SystemChance, pick: random.Random) -> Chain:
    now_ms = clock.now_ms()
    debit, credit = pick.sample(range(PARTIES), 2)
    transfer_id = f"clm_{chance.new_id(now_ms)}/cleared"
    return moved(transfer_id, _account(debit), _account(credit), 1_000, reason="cleared", at_ms=now_ms)


async def _transfers_per_s(database: Database, clock: SystemClock) -> float:
    """One chain of one transfer a write, each durable before its writer goes on."""
    pick = random.Random(database.last_seq)
    chains = [_chain(clock, SystemChance(), pick) for _ in range(TRANSFERS)]
    queue = iter(chains)

    async def work() -> None:
        for chain in queue:

            def book(transaction: Transaction, chain: Chain = chain) -> None:
                post(transaction, chain)

            await database.write(book)

    gc.collect()
    start_ns = clock.ticks_ns()
    await asyncio.gather(*(work() for _ in range(WRITERS)))
    return TRANSFERS / ((clock.ticks_ns() - start_ns) / 1e9)


def _open_parties(transaction: Transaction) -> None:
    for first in range(0, PARTIES, 50):
        numbers = range(first, first + 50)
        opened = [
            moved(f"dep_{n:026d}/in", external("USD"), _account(n), OPENING_MICRO, reason="deposit", at_ms=0)
            for n in numbers
        ]
        post(transaction, tuple(transfer for chain in opened for transfer in chain))


def _fill(transaction: Transaction) -> None:
    """A million further rows, written in bulk: their facts would take minutes and are not what is measured."""
    chance, pick = SystemChance(), random.Random(1)
    last = dict(transaction.execute("SELECT id, last FROM ledger_accounts").fetchall())
    for number in range(max(last.values()) + 1, max(last.values()) + 1 + MANY):
        debit, credit = map(_account, pick.sample(range(PARTIES), 2))
        transfer_id = f"clm_{chance.new_id(number)}/cleared"
        transaction.execute(FILL, (number, transfer_id, debit, credit, number, last[debit], last[credit]))
        last[debit] = last[credit] = number
    for account, number in last.items():
        transaction.execute("UPDATE ledger_accounts SET last = ? WHERE id = ?", (number, account))
    transaction.record(Fact(kind="ledger.filled", subject="benchmark", at_ms=0, body={}))


async def measure(folder: Path) -> dict[str, float]:
    """Books with few transfers and books with a million, in turns."""
    clock = SystemClock()
    both = [Database.open(folder / name / "books.sqlite", clock) for name in ("few", "many")]
    rates: list[list[float]] = [[], []]
    try:
        for database in both:
            await database.write(_open_parties)
        await both[1].write(_fill)
        for round_number in range(ROUNDS + 1):
            for database, found in zip(both, rates, strict=True):
                rate = await _transfers_per_s(database, clock)
                if round_number:  # the first round loads what is loaded once
                    found.append(rate)
    finally:
        for database in both:
            database.close()
    few, many = map(statistics.median, rates)
    return {
        "transfers_per_s_32_writers": round(few),
        "transfers_per_s_with_1000000": round(many),
        "cost_ratio_with_1000000": round(few / many, 2),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        started = time.perf_counter()
        figures = asyncio.run(measure(Path(name)))
        print(json.dumps(figures | {"seconds": round(time.perf_counter() - started, 1)}, indent=2))
