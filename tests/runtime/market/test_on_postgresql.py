"""Does a market live through the same on PostgreSQL as on SQLite, and do its facts lead to its rows?"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import postgresql
from earnest.app import simulating
from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.ground.storage import known_rows
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.known_rows import Sought
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.foundation.facts import Fact
from earnest.identity.service import ACCOUNTS
from earnest.journal.verify import verify_journal
from earnest.market.claims.claim import ClaimState
from earnest.market.service import CLAIMS, JOBS
from earnest.runtime.market import claiming
from earnest.runtime.market.artifacts import bringing
from earnest.runtime.market.judging import Judging, newest
from earnest.runtime.market.posting import prepare_posting
from earnest.runtime.market.submitting import Item, prepare_submission
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.story import SimulationPlan
from earnest.views.claims import show_claim

from .conftest import town_on, usd
from .test_jobs_and_claims import claim, offer, post, read_claim, submit

PLAN = SimulationPlan(days=12, agents=9, jobs=60, seed=5)


@pytest.mark.slow
async def test_the_same_seed_is_the_same_simulation_on_both_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: some thousand transactions, each by several trips to a server."""
    on_sqlite = await simulating.simulated(PLAN)
    assert on_sqlite.wrongs == ()
    with postgresql.server() as server, postgresql.database(server) as address:
        books = ServerBooks(address, tmp_path)
        there = SimpleNamespace(open=lambda _, clock, **given: Database.open(books, clock, **given))
        monkeypatch.setattr(simulating, "Database", there)
        assert await simulating.simulated(PLAN) == on_sqlite
        with closing(ReadPool.open_reader(books)) as pool:
            found = pool.read_sync(lambda reader: recompute(reader, VirtualClock()))
            assert (found.facts > 500, found.rows > 500, found.differences) == (True, True, ())
            assert pool.read_sync(lambda reader: verify_journal(reader, [])).intact
            assert pool.read_sync(lambda reader: reader.faults()) == ()


@contextmanager
def trips_in(monkeypatch: pytest.MonkeyPatch, thread: str = "earnest-writer") -> Iterator[list[bytes]]:
    """The messages to the server of a thread; of the writer's all others wait for them."""
    messages = list[bytes]()

    def seen(query: bytes) -> None:
        if threading.current_thread().name == thread:
            messages.append(query)

    with monkeypatch.context() as patch:
        postgresql.tell(patch, seen)
        yield messages


ITEM = Item(requirement_id="answer", kind="json", media_type="application/json", inline=b'{"sum": 42}')
STEPS = "post", "claim", "hand in", "lease and verdict"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_alone", "most"), [(False, (2, 3, 2, 4 + 2)), (True, (1, 2, 1, 3 + 2))], ids=["among others", "alone"]
)
async def test_each_step_of_a_job_takes_few_trips_to_the_server(
    postgresql_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_alone: bool, most: tuple[int, ...]
) -> None:
    taken = dict[str, list[bytes]]()
    others = Database.open(ServerBooks(postgresql_address, tmp_path / "others"), SystemClock())

    @contextmanager
    def step(name: str) -> Iterator[None]:
        if not is_alone:
            others.write_sync(lambda transaction: transaction.record(Fact(kind="noted", subject="s", at_ms=1, body={})))
        with trips_in(monkeypatch) as taken[name]:
            yield

    with closing(others), town_on(ServerBooks(postgresql_address, tmp_path), tmp_path) as town:
        desk, buyer, seller = town.market.desk, town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
        for _ in range(4):  # the first times the server learns the plans, and whoever is alone notices that
            with step("post"):
                posted = await desk.perform(buyer, prepare=lambda: prepare_posting(town.market, buyer, offer()))
            job_id = str(posted.body["job_id"])
            with step("claim"):
                act = partial(claiming.claim_job, terms=town.market.terms, job_id=job_id)
                taken_up = await desk.perform(seller, act, ahead=(Sought(JOBS.lookup, (job_id,)),))
            held = str(taken_up.body["claim_id"])
            async with bringing(town.market, seller.id) as brought:
                with step("hand in"):
                    hand_in = partial(prepare_submission, brought, seller, held, [ITEM])
                    await desk.perform(seller, prepare=hand_in, ahead=(Sought(CLAIMS.lookup, (held,)),))
            with step("lease and verdict"):
                await Judging(town.market).drain()
    assert {name: len(taken[name]) for name in STEPS} == dict(zip(STEPS, most, strict=True)), taken


@pytest.mark.slow
async def test_who_judges_what_it_takes_in_makes_no_trip_for_the_lease(
    postgresql_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with town_on(ServerBooks(postgresql_address, tmp_path), tmp_path) as town:
        buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
        judging, counts = asyncio.create_task(Judging(town.market).run()), list[int]()
        for _ in range(4):
            held = claim(town, seller, await post(town, buyer))
            async with bringing(town.market, seller.id) as brought:
                act, _ = await prepare_submission(brought, seller, held, [ITEM])
            with trips_in(monkeypatch) as trips:
                await town.market.desk.perform(seller, act)
                while read_claim(town, held).state is ClaimState.SUBMITTED:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0)
            counts.append(len(trips))
        judging.cancel()
        await asyncio.wait([judging])
    assert counts[-1] == 1 + 2, counts


async def test_a_claim_is_read_in_one_trip_and_what_is_judged_in_two(
    postgresql_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = threading.current_thread().name
    with town_on(ServerBooks(postgresql_address, tmp_path), tmp_path) as town:
        buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
        held = claim(town, seller, await post(town, buyer))
        await submit(town, seller, held)
        read_sync, counts = town.market.desk.database.read_sync, list[int]()

        def trips(read: Callable[[BooksReader], Any]) -> Any:
            with trips_in(monkeypatch, me) as taken:
                found = read_sync(read)
            counts.append(len(taken))
            return found

        trips(lambda reader: newest(reader, held))  # the server learns the plans
        trips(lambda reader: show_claim(reader, held, seller.id, sees_all=False))
        shown = trips(lambda reader: show_claim(reader, held, seller.id, sees_all=False))
        judged = trips(lambda reader: newest(reader, held))
    assert (judged.claim.id, judged.poster.id) == (held, buyer.id)
    assert [one["evidence_id"] for one in shown["submissions"]] == [judged.submission.id]
    assert counts[2:] == [1, 2], counts


def test_a_long_read_keeps_few_of_the_rows_that_it_looked_up(
    postgresql_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_rows, "ROWS_KEPT_MAX", 2)
    with town_on(ServerBooks(postgresql_address, tmp_path), tmp_path) as town:
        people = [town.somebody(name).id for name in ("ann", "bob", "eve", "kim")]

        def trips(reader: BooksReader, *ids: str) -> int:
            with trips_in(monkeypatch, threading.current_thread().name) as taken:
                assert [ACCOUNTS.find(reader, one).id for one in ids] == list(ids)
            return len(taken)

        def read(reader: BooksReader) -> tuple[int, ...]:
            trips(reader, people[0])
            return trips(reader, *people), trips(reader, people[-1]), trips(reader, people[0])

        assert town.market.desk.database.read_sync(read) == (3, 0, 1)
