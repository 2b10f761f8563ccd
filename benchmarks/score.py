"""What does a cycle cost the platform, and does `GET /score` stay flat? Prints one JSON object.

A cycle of 20 machine-checked tasks, measured by instant probes, so that what is left is the platform's; and a look at a
score with 10 and with 1,000,000 booked facts before it.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from earnest.accountability.agreement import Agreement, contract_of
from earnest.accountability.points import Charge, Rule
from earnest.accountability.service import AGREEMENTS, SCORES
from earnest.effects.artifacts.store import ArtifactStore
from earnest.effects.clock import SeededChance, VirtualClock
from earnest.effects.probes.api import Reading
from earnest.effects.storage.database import Database
from earnest.effects.storage.transaction import Transaction
from earnest.effects.web.fetching import Web
from earnest.identity.account import Account, Kind, Status
from earnest.identity.caller import Caller, Scope
from earnest.identity.service import ACCOUNTS
from earnest.market.terms import Terms
from earnest.runtime.accountability.checking_in import CheckIn, prepare_check_in
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.runtime.desk import Desk
from earnest.runtime.market.market import Market
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.views.score import list_events, show_score

TASKS = 20
CYCLES = 60
LOOKS = 300
SIZES = (10, 1_000_000)
AT_ONCE = 5_000
DAYS = 2_000
START_MS = 1_780_000_000_000
TEXT = "## Tasks\n" + "\n".join(f"- [ ] t{n} | Task {n} | required | verify: p{n}" for n in range(TASKS))
ME = Account(id="act_me", handle="me_agent", kind=Kind.AGENT, status=Status.PAYOUTS_ENABLED, created_at_ms=START_MS)


class InstantProbes:
    """Each measures 1 at once."""

    @property
    def names(self) -> Collection[str]:
        return [f"p{n}" for n in range(TASKS)]

    async def measure(self, name: str) -> Reading:  # noqa: ARG002
        return Reading(value=1, as_expected=True, expectation="at least 1")


def market_in(folder: Path) -> tuple[Market, VirtualClock]:
    """A market with one agent."""
    clock, registry = VirtualClock(START_MS), Registry()
    database = Database.open(folder / "books.sqlite", clock)
    market = Market(
        desk=Desk(database, clock, SeededChance(1)),
        terms=Terms(),
        verifier=Verifier(registry=registry, sandbox=None, clock=clock, probes=InstantProbes(), parallel=TASKS),
        registry=registry,
        artifacts=ArtifactStore(folder / "artifacts"),
        web=Web(clock),
    )
    database.write_sync(lambda transaction: ACCOUNTS.open(transaction, START_MS, ME))
    return market, clock


async def cycle_ms(folder: Path) -> float:
    """The median of what a check-in and its judging take, from the act to the booked verdicts."""
    market, clock = market_in(folder)
    judging, caller, took = HeartbeatJudging(market), Caller(account=ME, scope=Scope.HEARTBEAT, key_id="key"), []
    for _ in range(CYCLES):
        sent = CheckIn(contract=TEXT, reply="done", artifacts={})
        start = time.perf_counter()
        answer = await market.desk.perform(caller, prepare=lambda sent=sent: prepare_check_in(caller, sent))  # type: ignore[misc]
        await judging.drain()
        took.append((time.perf_counter() - start) * 1_000)
        assert answer.body["heartbeat_id"], answer
        clock.jump_ms(1_200_000)
    market.desk.database.close()
    return statistics.median(took)


def book(market: Market, count: int) -> None:
    """So many facts, a few hundred a day."""
    agreement = Agreement(
        account_id=ME.id, text=TEXT, digest=contract_of(TEXT).digest, pinned_at_ms=START_MS, pinned_by="x"
    )
    charges = [Charge(rule=Rule.VOTE_UP, task="m")]

    def some(transaction: Transaction, first: int, last: int) -> None:
        if first == 0:
            AGREEMENTS.open(transaction, START_MS, replace(agreement, next_wake_ms=START_MS))
        for number in range(first, last):
            at = number * min(count, DAYS) // count
            year, month, day = 2027 + at // 336, at // 28 % 12 + 1, at % 28 + 1
            SCORES.book(
                transaction,
                START_MS,
                ME.id,
                charges,
                date=f"{year}-{month:02d}-{day:02d}",
                agreement=agreement,
                source="bench",
            )

    for first in range(0, count, AT_ONCE):
        last = min(count, first + AT_ONCE)
        market.desk.database.write_sync(lambda transaction, first=first, last=last: some(transaction, first, last))  # type: ignore[misc]


def look_us(folder: Path, facts: int) -> dict[str, float]:
    """The median of a look at the score, and at the last events, with so many facts booked."""
    market, _ = market_in(folder)
    book(market, facts)
    found = {}
    looks = {
        "score": lambda reader: show_score(reader, ME.id, START_MS, market.terms),
        "events": lambda reader: list_events(reader, ME.id, "", 20),
    }
    for name, look in looks.items():
        took = []
        for _ in range(LOOKS):
            start = time.perf_counter()
            market.desk.database.read_sync(look)
            took.append((time.perf_counter() - start) * 1_000_000)
        found[name] = statistics.median(took)
    market.desk.database.close()
    return found


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cycle").mkdir()
        cycle = asyncio.run(cycle_ms(Path(folder) / "cycle"))
        looks = {}
        for size in SIZES:
            (Path(folder) / str(size)).mkdir()
            looks[size] = look_us(Path(folder) / str(size), size)
    few, many = (looks[size]["score"] for size in SIZES)
    found = {
        "cycle_ms": cycle,
        "score_us_few": few,
        "score_us_many": many,
        "score_growth": many / few,
        "events_us_many": looks[SIZES[1]]["events"],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
