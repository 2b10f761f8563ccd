"""What does a cycle cost the platform, and is a score as quick to read after 1,000,000 facts? Prints one JSON object.

A cycle: the POST of a check-in with 20 claims, durable before it is answered, and its judging, until the verdicts are
durable; 20 probes that answer at once, so that what is left is the platform's. All of it in process and over the whole
application, beside nothing else. Books with 10 facts `score.booked`, with many of one agent and with many of 1,000
agents take turns. `python benchmarks/score.py [facts]` asks for another number than 1,000,000.
"""

import asyncio
import gc
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from earnest.accountability.score import subject_of
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.probes.api import Reading
from earnest.effects.outside.web.fetching import Web
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.key import KEY_PURPOSE, Key, KeyedHash, Scope, key_text
from earnest.identity.service import ACCOUNTS, KEYS
from earnest.market.terms import Terms
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.surfaces.web.app import create_app
from earnest.surfaces.web.limits import Quota, Quotas
from earnest.surfaces.web.requests import cursor_of
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

TASKS = 20
ROUNDS = 60
LOOKS = 150
FEW, MANY = 10, 1_000_000
AGENTS_FEW, AGENTS_MANY = 20, 1_000
DAYS = 3_650
SHOWN = 5
START_MS = 1_780_000_000_000
WAKE_MS = 1_200_000
NAMES = tuple(f"p{number}" for number in range(TASKS))
TEXT = "## Tasks\n" + "\n".join(f"- [ ] t{n} | Task {n} | required | verify: {name}" for n, name in enumerate(NAMES))
SENT = {
    "contract": TEXT,
    "reply": "All of it is done.",
    "claims": [{"task": f"t{number}", "values": {"value": 1}} for number in range(TASKS)],
}
ME, OPERATOR = "act_me", "act_operator"
HASHING = KeyedHash(bytes(range(32)))
AGENT_KEY, OPERATOR_KEY = (
    key_text(scope, bytes(range(at, at + 32))) for at, scope in enumerate((Scope.LIVE, Scope.OPERATOR))
)
ENDLESS = Quotas(**{name: Quota(name=name, count=10**9, window_s=1) for name in Quotas.__dataclass_fields__})

NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)"
WHO = "CASE WHEN :agents = 0 OR n % (:agents + 1) = 0 THEN :me ELSE 'act_' || (n % (:agents + 1)) END"
"""Whose the n-th is: mine alone, or one of all agents'."""


class InstantProbes:
    """Each measures 1 at once."""

    names = NAMES

    async def measure(self, name: str) -> Reading:  # noqa: ARG002
        return Reading(value=1, as_expected=True, expectation="at least 1")


@dataclass
class Platform:
    """The whole application over one database, asked in process."""

    app: Any
    market: Market
    clock: VirtualClock
    judging: HeartbeatJudging
    asked: int = 0

    async def ask(self, method: str, path: str, body: bytes = b"", key: str = AGENT_KEY) -> Any:
        """One request; its answer."""
        self.asked += 1
        path, _, query = path.partition("?")
        headers = [(b"authorization", f"Bearer {key}".encode()), (b"host", b"127.0.0.1:8420")]
        if body:
            headers += [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"idempotency-key", f"k{self.asked}-{self.clock.now_ms()}".encode()),
            ]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "asgi": {"version": "3.0"},
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "scheme": "http",
            "server": ("127.0.0.1", 8420),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        said: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            said.append(message)

        await self.app(scope, receive, send)
        assert said[0]["status"] < 300, said
        return json.loads(b"".join(message.get("body", b"") for message in said[1:]))

    async def cycle(self) -> tuple[float, float]:
        """Milliseconds of wall time and of CPU, of all threads, from the POST to the durable verdicts."""
        body = json.dumps(SENT).encode()
        wall, cpu = time.perf_counter(), time.process_time()
        taken = await self.ask("POST", "/api/v1/agents/me/heartbeats", body)
        await self.judging.drain()
        took = (time.perf_counter() - wall) * 1_000, (time.process_time() - cpu) * 1_000
        shown = await self.ask("GET", f"/api/v1/agents/me/heartbeats/{taken['heartbeat_id']}")
        assert (shown["state"], shown["points"]) == ("judged", 10 * TASKS), shown
        self.clock.jump_ms(WAKE_MS)
        return took


@asynccontextmanager
async def platform_in(folder: Path, at_ms: int = START_MS) -> AsyncIterator[Platform]:
    """The platform whose books lie in `folder`."""
    clock, registry = VirtualClock(at_ms), Registry()
    database = Database.open(folder / "books.sqlite", clock)
    market = Market(
        desk=Desk(database, clock, SeededChance(at_ms)),
        terms=Terms(),
        verifier=Verifier(registry=registry, sandbox=None, clock=clock, probes=InstantProbes()),
        registry=registry,
        artifacts=ArtifactStore(folder / "artifacts"),
        web=Web(clock),
    )
    app = create_app(market, HASHING, quotas=ENDLESS)
    try:
        yield Platform(app=app, market=market, clock=clock, judging=HeartbeatJudging(market))
    finally:
        database.close()


def people(transaction: Transaction) -> None:
    """The agent and its operator, with a key each."""
    for name, kind, scope, text in (
        (OPERATOR, AccountKind.OPERATOR, Scope.OPERATOR, OPERATOR_KEY),
        (ME, AccountKind.AGENT, Scope.LIVE, AGENT_KEY),
    ):
        account = Account(
            id=name,
            handle=name.removeprefix("act_"),
            kind=kind,
            status=AccountStatus.PAYOUTS_ENABLED,
            created_at_ms=START_MS,
            operator_id=OPERATOR if kind is AccountKind.AGENT else None,
        )
        ACCOUNTS.open(transaction, START_MS, account)
        digest = HASHING.digest(KEY_PURPOSE, text)
        key = Key(
            id=f"key_{name}", account_id=name, scope=scope, prefix=text[:12], digest=digest, created_at_ms=START_MS
        )
        KEYS.open(transaction, START_MS, key)


async def begin(folder: Path) -> None:
    """Books with one cycle and one vote, for `fill` to copy."""
    async with platform_in(folder) as platform:
        platform.market.desk.database.write_sync(people)
        agreed = json.dumps({"contract": TEXT}).encode()  # only what the operator has accepted is measured by a probe
        await platform.ask("PUT", f"/api/v1/operator/agents/{ME.removeprefix('act_')}/contract", agreed, OPERATOR_KEY)
        body = json.dumps(SENT).encode()
        taken = await platform.ask("POST", "/api/v1/agents/me/heartbeats", body)
        await platform.judging.drain()
        thumb = json.dumps({"type": "up", "message_id": taken["heartbeat_id"]}).encode()
        await platform.ask("POST", "/api/score/feedback", thumb, OPERATOR_KEY)


def fill(path: Path, facts: int, agents: int, *, mine: bool) -> None:
    """So many further agents under contract, and so many facts with a judged heartbeat each; mine, or of all of us.

    Copies of the last of its kind, in bulk: as facts of a service they would take minutes, and only to be read.
    """
    given = {"agents": 0 if mine else agents, "me": ME, "subject": subject_of(""), "start": START_MS}
    with sqlite3.connect(path) as books:
        books.execute("PRAGMA synchronous = OFF")
        for table, changed in (
            ("accounts", {"id": "'act_' || n", "handle": "'agent_' || n"}),
            ("agreements", {"account_id": "'act_' || n"}),
            ("scores", {"account_id": "'act_' || n"}),
        ):
            column = next(iter(changed))
            _copy(books, table, f"{column} = :me", changed, {**given, "count": agents})
        date = "date(date, '-' || n || ' days')"
        _copy(books, "score_days", "1", {"id": f"account_id || '/' || {date}", "date": date}, {**given, "count": DAYS})
        theirs = {"id": "'act_' || n || '/' || date", "account_id": "'act_' || n"}
        _copy(books, "score_days", "account_id = :me ORDER BY date DESC LIMIT 8", theirs, {**given, "count": agents})
        beat = {"id": "printf('hbt_%026d', n)", "account_id": WHO, "at_ms": ":start - :count + n"}
        beat |= dict.fromkeys(("asked", "claims", "verdicts"), "'[]'")
        _copy(books, "heartbeats", "1", beat, {**given, "count": facts})
        last = "kind = 'score.booked' ORDER BY seq DESC LIMIT 1"
        (seq,) = books.execute("SELECT max(seq) FROM facts").fetchone()
        fact = {"seq": ":seq + n", "subject": f"{WHO} || :subject"}
        _copy(books, "facts", last, fact, {**given, "count": facts, "seq": seq})
    books.close()


def _copy(books: sqlite3.Connection, table: str, which: str, changed: dict[str, str], given: dict[str, Any]) -> None:
    columns = [row[1] for row in books.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changed.get(column, column) for column in columns)
    books.execute(
        f"{NUMBERS} INSERT INTO {table} ({', '.join(columns)}) "
        f"SELECT {values} FROM (SELECT * FROM {table} WHERE {which}), numbers",
        given,
    )


def paths_of(platform: Platform) -> dict[str, str]:
    """What is looked at, by name; a late page is the last of its list."""
    found = {"score": "/api/score", "history": "/api/score/history", "leaderboard": "/api/v1/score/leaderboard"}
    for name, path, table, column, whose in (
        ("events", "/api/v1/score/events", "facts WHERE subject", "seq", subject_of(ME)),
        ("heartbeats", "/api/v1/agents/me/heartbeats", "heartbeats WHERE account_id", "id", ME),
    ):
        sql = f"SELECT {column} FROM {table} = ? ORDER BY {column} LIMIT 1 OFFSET {SHOWN}"
        rows = platform.market.desk.database.read_sync(
            lambda reader, sql=sql, whose=whose: reader.execute(sql, (whose,)).fetchall()  # type: ignore[misc]
        )
        found[name] = f"{path}?limit={SHOWN}"
        found[f"late_{name}"] = f"{found[name]}&cursor={cursor_of(str(rows[0][0]))}"
    return found


async def looks(books: dict[str, Platform]) -> dict[str, dict[str, float]]:
    """Median microseconds of each look, in turns over all books, and how much more than with few facts it is."""
    took: dict[str, dict[str, list[float]]] = {}
    paths = {which: paths_of(platform) for which, platform in books.items()}
    for _ in range(LOOKS):
        for name in paths["few"]:
            for which, platform in books.items():
                start = time.perf_counter()
                await platform.ask("GET", paths[which][name], key=OPERATOR_KEY if name == "leaderboard" else AGENT_KEY)
                spent_us = (time.perf_counter() - start) * 1_000_000
                took.setdefault(name, {}).setdefault(which, []).append(spent_us)
    found = {}
    for name, of_books in took.items():
        medians = {f"{which}_us": statistics.median(spent) for which, spent in of_books.items()}
        found[name] = {**medians, "ratio": max(medians["of_one_us"], medians["of_all_us"]) / medians["few_us"]}
    return found


async def cycles(books: dict[str, Platform]) -> dict[str, dict[str, float]]:
    """Median milliseconds of a cycle in each of the books, in turns."""
    took: dict[str, list[tuple[float, float]]] = {which: [] for which in books}
    order = list(books)
    for number in range(ROUNDS):
        gc.collect()
        order.append(order.pop(0))  # whoever comes first finds cold caches
        for which in order:
            spent = await books[which].cycle()
            if number >= ROUNDS // 10:  # the first ones load what is loaded once
                took[which].append(spent)
    return {
        which: {"wall_ms": statistics.median(wall), "cpu_ms": statistics.median(cpu)}
        for which, (wall, cpu) in ((which, tuple(zip(*each, strict=True))) for which, each in took.items())
    }


async def measure(base: Path, facts: int) -> dict[str, Any]:
    """Three books, in turns."""
    plans = {"few": (FEW, AGENTS_FEW, True), "of_one": (facts, AGENTS_FEW, True), "of_all": (facts, AGENTS_MANY, False)}
    start = time.perf_counter()
    for which, (count, agents, mine) in plans.items():
        await begin(base / which)
        fill(base / which / "books.sqlite", count, agents, mine=mine)
    built_s = time.perf_counter() - start
    at_ms = START_MS + WAKE_MS
    async with (
        platform_in(base / "few", at_ms) as few,
        platform_in(base / "of_one", at_ms) as of_one,
        platform_in(base / "of_all", at_ms) as of_all,
    ):
        books = {"few": few, "of_one": of_one, "of_all": of_all}
        seen = await looks(books)
        spent = await cycles(books)
    return {
        "facts": facts,
        "built_s": built_s,
        "cycle_ms": spent["few"]["wall_ms"],
        "cycle_cpu_ms": spent["few"]["cpu_ms"],
        "cycle_ratio": max(spent[which]["cpu_ms"] for which in ("of_one", "of_all")) / spent["few"]["cpu_ms"],
        "look_ratio": max(one["ratio"] for one in seen.values()),
        "cycles": spent,
        "looks": seen,
    }


def main() -> None:
    """Measure and print."""
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    with tempfile.TemporaryDirectory(prefix="earnest-bench-") as folder:
        print(json.dumps(asyncio.run(measure(Path(folder), facts)), indent=1))


if __name__ == "__main__":
    main()
