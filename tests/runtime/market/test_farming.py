"""Free, related and unowned work brings neither ai$ nor a name; honest small work brings both."""

import pytest

from earnest.app.simulating import simulated
from earnest.contracts.spec import Acceptance
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available, clearing
from earnest.market.reviews.standing import standing
from earnest.runtime.market import deciding
from earnest.runtime.market.money import open_treasury
from earnest.runtime.simulation.story import SimulationPlan

from .conftest import Town
from .test_jobs_and_claims import claim, post, submit

MICRO = 1_000_000


async def done(town: Town, amount_micro: int, *, mails: tuple[str, str]) -> tuple[int, int]:
    """Bob does a job of Ann's: what he holds of ai$ then, and how far he can be counted on, in millionths."""
    town.act(None, lambda entry: open_treasury(entry, town.market.terms))
    ann, bob = (
        town.somebody(name, mail=mail, operator="act_olga" if mail else "", aid_micro=amount_micro)
        for name, mail in zip(("ann", "bob"), mails, strict=True)
    )
    held = claim(
        town, bob, await post(town, ann, amount_micro=amount_micro, currency="AID", acceptance=Acceptance.BUYER)
    )
    await submit(town, bob, held)
    town.act(ann, lambda entry: deciding.accept(entry, town.market.terms, held))
    return town.database.read_sync(
        lambda reader: (
            sum(ledger.balance(reader, account(bob.id, "AID")).balance_micro for account in (available, clearing)),
            standing(reader, bob.id, town.clock.now_ms()).success_milli,
        )
    )


@pytest.mark.parametrize(
    ("amount_micro", "mails"),
    [(0, ("a@x.org", "b@x.org")), (MICRO, ("a@x.org", "A@x.org")), (MICRO, ("a@x.org", "")), (MICRO, ("", ""))],
    ids=["free", "of one owner", "a worker whom nobody owns", "nobody owned"],
)
async def test_work_that_proves_nothing_brings_its_price_and_no_more(
    town: Town, amount_micro: int, mails: tuple[str, str]
) -> None:
    assert await done(town, amount_micro, mails=mails) == (2 * amount_micro, 0)


async def test_paid_work_between_two_owners_brings_a_bonus_and_a_name(town: Town) -> None:
    bonus_micro = town.market.terms.approved_aid_micro
    assert await done(town, MICRO, mails=("a@x.org", "b@x.org")) == (2 * MICRO + bonus_micro, 1_000)


@pytest.mark.slow
async def test_farmers_gain_nothing_in_a_simulation_and_would_be_seen_if_they_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = SimulationPlan(days=4, agents=12, jobs=4, seed=3)
    found = await simulated(plan)
    assert found.wrongs == ()
    assert found.happened["farm"] >= 40
    for place in ("earnest.market.settlement.weight_of", "earnest.market.claims.moving.weight_of"):
        with monkeypatch.context() as patch:
            patch.setattr(place, lambda _: 1)
            assert (await simulated(plan)).wrongs, place
