"""The server that `home.py` asks: a platform with many jobs in its books, and a bare route, in one process.

With an address it is one of PostgreSQL, for both.
"""

import asyncio
import contextlib
import itertools
import json
import socket
import sqlite3
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.rows import row_json
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.web.fetching import Web
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.key import KEY_PURPOSE, Key, KeyedHash, key_text
from earnest.identity.key import Scope as KeyScope
from earnest.identity.service import ACCOUNTS, KEYS
from earnest.market.capabilities.capability import Capability, CapabilityState
from earnest.market.claims.claim import Claim, ClaimState
from earnest.market.jobs.job import Job, JobState, TaskClass
from earnest.market.service import CAPABILITIES, CLAIMS, JOBS
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk
from earnest.runtime.market.homes import Homes, Wanted
from earnest.runtime.market.market import Market
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.limits import Quota, Quotas
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.views.home import read_home

HASHING = KeyedHash(bytes(range(32)))
KEY = key_text(KeyScope.HEARTBEAT, bytes(range(32)))
WORKER, BUYER = "act_worker", "act_buyer"
CATEGORY = "code-generation"
NEEDED = {"id": "program", "kind": "artifact", "description": "it", "path": "program.py", "required": True}
REQUIREMENTS = json.dumps([{**NEEDED, "accept_media": [], "max_bytes": 1_000, "verifier": ""}])
OPEN_OF = 2
"""One job of so many is open, and of a kind that the worker does; the others are done, by a hundred sellers."""

SELLERS = 100
BUILDS = 200
DAY_MS = 86_400_000


def _job(number: int, now_ms: int) -> Job:
    is_open = number % OPEN_OF == 0
    return Job(
        id=f"job_{number:026d}",
        creator=BUYER if number % SELLERS else "act_other",
        state=JobState.OPEN if is_open else JobState.DONE,
        title=f"Job {number}",
        text="Do it well. " * 10,
        category=CATEGORY,
        task_class=TaskClass.OBJECTIVE,
        currency="USD",
        amount_micro=1_000_000 + number % 977,
        fee_bps=500,
        acceptance="machine",
        criteria="[]",
        requirements=REQUIREMENTS,
        spec_digest="sha256:0",
        work_s=86_400,
        closes_at_ms=now_ms + 30 * DAY_MS,
        created_at_ms=now_ms - DAY_MS,
    )


def _claim(number: int, now_ms: int, state: ClaimState) -> Claim:
    is_over = state is ClaimState.RELEASED
    return Claim(
        id=f"clm_{number:026d}",
        job_id=f"job_{number:026d}",
        job_title=f"Job {number}",
        seller=WORKER if not is_over else f"act_seller{number % SELLERS}",
        buyer=BUYER,
        state=state,
        currency="USD",
        amount_micro=1_000_000,
        fee_micro=50_000,
        acceptance="machine",
        category=CATEGORY,
        task_class="objective",
        spec_digest="sha256:0",
        claimed_at_ms=now_ms - DAY_MS,
        start_at_ms=now_ms - DAY_MS,
        due_at_ms=now_ms + 3 * DAY_MS,
        grace_ends_at_ms=now_ms + 4 * DAY_MS,
        auto_extend=True,
        auto_release_s=259_200,
        revise_s=86_400,
        revisions_left=2,
        ended_at_ms=now_ms - DAY_MS if is_over else None,
        reviews_close_at_ms=now_ms + 13 * DAY_MS if is_over else None,
    )


def _fill(books: Books, jobs: int, now_ms: int) -> None:
    """Rows in bulk, as facts would have made them."""
    with contextlib.closing(_connected(books)) as connection, connection as filled:
        if isinstance(books, Path):
            filled.execute("PRAGMA synchronous = OFF")
        _insert(filled.cursor(), "jobs", (row_json(_job(number, now_ms)) for number in range(jobs)))
        done = (number for number in range(jobs) if number % OPEN_OF == 1)
        _insert(filled.cursor(), "claims", (row_json(_claim(number, now_ms, ClaimState.RELEASED)) for number in done))


def _connected(books: Books) -> Any:
    """What the library of each engine gives."""
    return (
        sqlite3.connect(books, check_same_thread=False) if isinstance(books, Path) else psycopg.connect(books.address)
    )


def _insert(cursor: Any, table: str, rows: Iterator[Mapping[str, Any]]) -> None:
    first = next(rows)
    mark = "?" if isinstance(cursor, sqlite3.Cursor) else "%s"
    sql = f"INSERT INTO {table} ({', '.join(first)}) VALUES ({', '.join([mark] * len(first))})"
    cursor.executemany(sql, (tuple(row.values()) for row in itertools.chain([first], rows)))


def _people(transaction: Transaction, now_ms: int) -> None:
    """The worker with a key, a capability and three claims, and those who post jobs."""
    for name in (WORKER, BUYER, "act_other"):
        account = Account(
            id=name,
            handle=name.removeprefix("act_"),
            kind=AccountKind.AGENT,
            status=AccountStatus.PAYOUTS_ENABLED,
            created_at_ms=now_ms,
        )
        ACCOUNTS.open(transaction, now_ms, account, touching=(name,))
    key = Key(
        id="key_1",
        account_id=WORKER,
        scope=KeyScope.HEARTBEAT,
        prefix=KEY[:12],
        digest=HASHING.digest(KEY_PURPOSE, KEY),
        created_at_ms=now_ms,
    )
    KEYS.open(transaction, now_ms, key, touching=(WORKER,))
    able = Capability(
        id="cap_1",
        account_id=WORKER,
        category=CATEGORY,
        task_class="objective",
        state=CapabilityState.VERIFIED,
        declared_at_ms=now_ms,
        availability='{"max_concurrent": 9}',
    )
    CAPABILITIES.open(transaction, now_ms, able, touching=(WORKER,))
    for number in range(10**9, 10**9 + 3):
        claim = _claim(number, now_ms, ClaimState.IN_PROGRESS)
        CLAIMS.open(transaction, now_ms, claim, touching=(WORKER, BUYER))
        JOBS.open(transaction, now_ms, replace(_job(number, now_ms), state=JobState.TAKEN), touching=(BUYER,))


async def _build_us(database: Database, clock: SystemClock) -> float:
    """Reading and building the worker's home anew: of many times the quickest tenth, which no neighbour disturbed."""
    took = []
    for _ in range(BUILDS):
        homes = Homes(database, Terms(), read_home)
        start_ns = clock.ticks_ns()
        await homes.look(Wanted(WORKER), clock.now_ms() // 1_000 * 1_000, None)
        took.append((clock.ticks_ns() - start_ns) / 1_000)
    return statistics.quantiles(took, n=10)[0]


def _bare(books: Books) -> FastAPI:
    """The least that a route with a read can be."""
    app = FastAPI(openapi_url=None)
    connection = _connected(books)
    if not isinstance(books, Path):
        connection.autocommit = True
    sql = f"SELECT handle FROM accounts WHERE id = {'?' if isinstance(books, Path) else '%s'}"

    @app.get("/bare")
    async def bare() -> dict[str, object]:
        (handle,) = connection.execute(sql, (WORKER,)).fetchone()
        return {"handle": handle}

    return app


def main() -> None:
    folder, jobs, descriptor, address = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    books: Books = ServerBooks(address, folder) if address else folder / "books.sqlite"
    clock = SystemClock()
    now_ms = clock.now_ms() // 1_000 * 1_000
    Database.open(books, clock).close()
    _fill(books, jobs, now_ms)
    database = Database.open(books, clock)
    database.write_sync(lambda transaction: _people(transaction, now_ms))
    registry = Registry()
    market = Market(
        desk=Desk(database, clock, SystemChance()),
        terms=Terms(),
        verifier=Verifier(registry=registry, sandbox=None, clock=clock),
        registry=registry,
        artifacts=ArtifactStore(folder / "artifacts"),
        web=Web(clock),
    )
    platform = create_app(market, HASHING, quotas=Quotas(home=Quota(name="home", count=10**9, window_s=1)))
    bare = _bare(books)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        await (bare if scope.get("path") == "/bare" else platform)(scope, receive, send)

    ready = asyncio.run(Homes(database, market.terms, read_home).look(Wanted(WORKER), now_ms, None))
    build_us = asyncio.run(_build_us(database, clock))
    print(json.dumps({"key": KEY, "etag": ready.etag, "build_us": build_us}), flush=True)
    config = uvicorn.Config(either, log_level="warning", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    main()
