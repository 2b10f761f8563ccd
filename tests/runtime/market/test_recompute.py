"""Whatever the tables hold that the facts do not say is found."""

import sqlite3

import pytest

from books_file import file_of
from earnest.effects.ground.clock import SystemClock
from earnest.runtime.market.judging import Judging
from earnest.runtime.recompute import Recomputed, recompute

from .conftest import Town, usd
from .test_jobs_and_claims import claim, post, submit


def recomputed(town: Town) -> Recomputed:
    return town.database.read_sync(lambda reader: recompute(reader, SystemClock()))


async def worked(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, bob, await post(town, ann))
    await submit(town, bob, claim_id)
    await Judging(town.market).drain()


async def test_the_facts_alone_lead_to_every_row(town: Town) -> None:
    await worked(town)
    found = recomputed(town)
    assert found.differences == ()
    assert found.rows > 10
    assert found.facts == town.database.last_seq


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            "UPDATE ledger_accounts SET credits_posted = credits_posted + 1 WHERE id LIKE 'act_bob:%'",
            "credits_posted is",
        ),
        ("UPDATE claims SET state = 'refunded'", "the facts say 'released'"),
        ("DELETE FROM transfers WHERE reason = 'funded'", "it is missing"),
        ("INSERT INTO signals VALUES ('x', 'act_bob', 'completed', 'clm_x', 0, 1)", "no fact made it"),
    ],
)
async def test_a_number_that_no_fact_says_is_found(town: Town, damage: str, told: str) -> None:
    await worked(town)
    path = file_of(town.database)
    with sqlite3.connect(path) as behind_our_back:
        assert behind_our_back.execute(damage).rowcount > 0
    assert any(told in line for line in recomputed(town).differences)
