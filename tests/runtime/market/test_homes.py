"""A home that is kept is the one that would be built now."""

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from earnest.effects.ground.storage.reader import BooksReader
from earnest.identity.key import Caller
from earnest.ledger import service as ledger
from earnest.market import settlement
from earnest.market.capabilities.capability import Capability, CapabilityState
from earnest.market.homes.given import HomeInput
from earnest.market.jobs.job import Job, JobState, TaskClass
from earnest.market.service import CAPABILITIES, CATEGORY, JOBS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.claiming import claim_job
from earnest.runtime.market.homes import Homes, Wanted
from earnest.views.home import read_home

from .conftest import Town, usd

KIND = "code-generation"
DAY_MS = 86_400_000


class Reads:
    """`read_home`, counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, reader: BooksReader, account_id: str, now_ms: int, **asked: Any) -> HomeInput:
        self.count += 1
        return read_home(reader, account_id, now_ms, **asked)


@pytest.fixture
def reads() -> Reads:
    return Reads()


@pytest.fixture
def homes(town: Town, reads: Reads) -> Homes:
    return Homes(town.database, town.market.terms, reads)


def looks(homes: Homes, town: Town, who: Caller, **asked: bool) -> dict[str, Any]:
    now_ms = town.market.desk.now_ms()
    ready = asyncio.run(homes.look(Wanted(who.id, **asked), now_ms, now_ms))
    shown: dict[str, Any] = json.loads(ready.body(ready.next_check_ms(now_ms)))
    return shown


def able(town: Town, who: Caller, name: str = "cap_01J0000000AAAAAAAAAAAAAAAA", **changes: Any) -> Capability:
    one = Capability(
        id=name,
        account_id=who.id,
        category=KIND,
        task_class="objective",
        state=CapabilityState.VERIFIED,
        declared_at_ms=town.market.desk.now_ms(),
        availability='{"max_concurrent": 2}',
        currency="USD",
    )
    one = replace(one, **changes)

    def declare(entry: StoryContext) -> dict[str, Any]:
        CAPABILITIES.open(entry.transaction, entry.now_ms, one, touching=(who.id,))
        return {}

    town.act(who, declare)
    return one


def offered(town: Town, who: Caller, name: str, **changes: Any) -> Job:
    now_ms = town.market.desk.now_ms()
    one = Job(
        id=name,
        creator=who.id,
        state=JobState.OPEN,
        title="A program",
        text="",
        category=KIND,
        task_class=TaskClass.OBJECTIVE,
        currency="USD",
        amount_micro=usd(2),
        fee_bps=500,
        acceptance="buyer",
        criteria="[]",
        requirements="[]",
        spec_digest="sha256:0",
        work_s=86_400,
        closes_at_ms=now_ms + DAY_MS,
        created_at_ms=now_ms,
    )
    one = replace(one, **changes)

    def post(entry: StoryContext) -> dict[str, Any]:

        JOBS.open(entry.transaction, entry.now_ms, one, touching=(who.id, CATEGORY + one.category))
        ledger.post(entry.transaction, settlement.funded(one, entry.now_ms))
        return {}

    town.act(who, post)
    return one


def test_a_home_is_read_once_until_a_fact_concerns_it(town: Town, homes: Homes, reads: Reads) -> None:
    worker, buyer = town.somebody("worker"), town.somebody("buyer", usd_micro=usd(90))
    able(town, worker)
    assert looks(homes, town, worker)["matching_jobs"] == []
    offered(town, buyer, "job_1")
    assert [each["job_id"] for each in looks(homes, town, worker)["matching_jobs"]] == ["job_1"]
    assert reads.count == 2
    offered(town, buyer, "job_2", category="writing")
    town.somebody("stranger", usd_micro=usd(1))
    for _ in range(5):
        looks(homes, town, worker)
    assert reads.count == 2
    town.act(worker, lambda entry: claim_job(entry, town.market.terms, "job_1"))
    shown = looks(homes, town, worker)
    assert [each["job_id"] for each in shown["open_claims"]] == ["job_1"]
    assert shown["matching_jobs"] == []
    assert looks(homes, town, buyer)["your_account"]["held_micro"] == usd(4)


def test_a_kept_home_says_when_to_look_again_as_of_now_and_is_built_again_at_its_boundary(
    town: Town, homes: Homes, reads: Reads
) -> None:
    worker, buyer = town.somebody("worker"), town.somebody("buyer", usd_micro=usd(9))
    able(town, worker)
    offered(town, buyer, "job_1")
    town.act(worker, lambda entry: claim_job(entry, town.market.terms, "job_1"))
    before = looks(homes, town, worker)
    town.clock.jump_ms(1_000)
    reads.count = 0
    town.clock.jump_ms(600_000)
    after = looks(homes, town, worker)
    assert reads.count == 1  # an hour less remains
    town.clock.jump_ms(600_000)
    later = looks(homes, town, worker)
    assert reads.count == 1
    assert before["next_check_in_after"] < after["next_check_in_after"] < later["next_check_in_after"]
    assert before["state_hash"] == after["state_hash"]
    town.clock.jump_ms(DAY_MS * 3 // 4)
    assert [each["priority"] for each in looks(homes, town, worker)["actions"]] == [2]
    town.clock.jump_ms(DAY_MS)
    assert [each["priority"] for each in looks(homes, town, worker)["actions"]] == [1]


@pytest.mark.slow
def test_a_kept_home_is_the_one_that_would_be_built_now(town: Town, homes: Homes) -> None:
    worker, buyer = town.somebody("worker"), town.somebody("buyer", usd_micro=usd(900))
    able(town, worker, floor_micro=usd(1))
    for number in range(40):
        if number % 3 == 0:
            offered(town, buyer, f"job_{number:02}", amount_micro=usd(number % 7 + 1))
        if number % 10 == 5:
            open_ones = looks(homes, town, worker)["matching_jobs"]
            if open_ones and looks(homes, town, worker)["your_account"]["capacity"]["free"]:
                name = open_ones[0]["job_id"]
                town.act(worker, partial(claim_job, terms=town.market.terms, job_id=name))
        town.clock.jump_ms(1_700_000)
        fresh = Homes(town.database, town.market.terms, read_home)
        for who in (worker, buyer):
            assert looks(homes, town, who) == looks(fresh, town, who)


def test_nobody_is_offered_their_own_jobs_or_those_of_their_operator(town: Town, homes: Homes) -> None:
    worker = town.somebody("worker", operator="act_olga", usd_micro=usd(9))
    sister = town.somebody("sister", operator="act_olga", usd_micro=usd(9))
    stranger = town.somebody("stranger", operator="act_omar", usd_micro=usd(9))
    able(town, worker)
    for number, who in enumerate((worker, sister, stranger)):
        offered(town, who, f"job_{number}")
    assert [each["job_id"] for each in looks(homes, town, worker)["matching_jobs"]] == ["job_2"]


def test_what_is_not_included_is_neither_read_nor_shown(town: Town, homes: Homes) -> None:
    worker, buyer = town.somebody("worker"), town.somebody("buyer", usd_micro=usd(9))
    able(town, worker)
    offered(town, buyer, "job_1")
    assert looks(homes, town, worker, with_jobs=False)["matching_jobs"] == []
    assert looks(homes, town, worker, with_jobs=False)["actions"] == []
    assert looks(homes, town, worker, explain=True)["actions"][0]["rule"]
    assert "rule" not in looks(homes, town, worker)["actions"][0]


def test_who_has_been_away_too_long_is_told_so_once(town: Town, homes: Homes) -> None:
    worker = town.somebody("worker")
    now_ms = town.market.desk.now_ms()

    def found(seen_at_ms: int) -> str:
        ready = asyncio.run(homes.look(Wanted(worker.id), now_ms, seen_at_ms))
        shown: dict[str, Any] = json.loads(ready.body(now_ms))
        return str(shown["your_account"]["heartbeat"]["health"])

    assert found(now_ms - 2 * DAY_MS) == "red"
    assert found(now_ms) == "green"


def test_one_read_by_index_tells_whether_a_kept_home_still_holds(town: Town) -> None:
    def plan(reader: BooksReader) -> str:
        rows = reader.execute("EXPLAIN QUERY PLAN SELECT max(seq) FROM touches WHERE subject IN (?, ?)", ("a", "b"))
        return " ".join(str(row[-1]) for row in rows)

    assert "USING INDEX" in town.database.read_sync(plan)
    able(town, town.somebody("worker"))
    assert town.database.read_sync(lambda reader: reader.touched("nobody", "act_worker")) > 0
    assert town.database.read_sync(lambda reader: reader.touched("nobody")) == 0
