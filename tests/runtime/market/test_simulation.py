"""A year of everything that goes wrong leaves nothing wrong in the books."""

import pytest

from earnest.app.simulating import simulated
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.facts import Fact
from earnest.runtime.simulation.invariants import QUESTIONS, broken
from earnest.runtime.simulation.story import SimulationPlan

from .conftest import Town, usd
from .test_jobs_and_claims import claim, post


@pytest.mark.slow  # some weeks of a market
async def test_a_short_simulation_has_every_sort_of_trouble_and_nothing_wrong() -> None:
    found = await simulated(SimulationPlan(days=12, agents=50, jobs=150, seed=4))
    assert found.wrongs == ()
    troubles = ("cancel", "decline", "dispute", "request changes", "sent again", "submit", "review", "claim")
    assert [word for word in troubles if not found.happened[word]] == []


@pytest.mark.slow
async def test_the_same_seed_is_the_same_simulation() -> None:
    first, second = [await simulated(SimulationPlan(days=3, agents=12, jobs=12, seed=5)) for _ in range(2)]
    assert (first.happened, first.facts) == (second.happened, second.facts)


@pytest.mark.slow
@pytest.mark.timeout(600)  # two minutes on an idle machine
async def test_four_hundred_days_of_five_thousand_jobs_leave_nothing_wrong() -> None:
    found = await simulated(SimulationPlan())
    assert found.wrongs == ()
    assert found.happened["post"] >= 5_000


DAMAGES = {
    "the accounts of a currency do not add up to nothing": "UPDATE ledger_accounts SET credits_posted = 1",
    "an account has given more than it had": "UPDATE ledger_accounts SET debits_pending = 9e15 WHERE guarded = 1",
    "an escrow holds money of a job that has ended": "UPDATE jobs SET ended_at_ms = 1",
    "an escrow lacks money of a job that goes on": "UPDATE jobs SET amount_micro = amount_micro + 1",
    "a claim that has ended holds money": "UPDATE claims SET state = 'released'",
    "a claim goes on and nothing will ever end it": "UPDATE claims SET wake_ms = NULL",
    "a job has a live claim that is not live": "UPDATE claims SET state = 'refunded'",
    "two claims of one job are live": "UPDATE claims SET job_id = 'job_x'",
    "somebody works for themselves": "UPDATE claims SET seller = buyer",
}


@pytest.mark.parametrize("wrong", sorted(DAMAGES))
async def test_each_wrong_is_seen_where_it_is(town: Town, wrong: str) -> None:
    ann, bob, eve = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob"), town.somebody("eve")
    for seller in (bob, eve):
        claim(town, seller, await post(town, ann))
    assert list(town.database.read_sync(lambda reader: list(broken(reader)))) == []

    def damage(transaction: Transaction) -> None:
        transaction.record(Fact(kind="test.damage", subject="", at_ms=0, body={}))
        transaction.execute(DAMAGES[wrong].replace("9e15", "9000000000000000"))

    town.database.write_sync(damage)
    told = town.database.read_sync(lambda reader: list(broken(reader)))
    assert any(line.startswith(wrong) for line in told)
    assert wrong in QUESTIONS
