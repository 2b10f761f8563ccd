"""Farmers in a simulated market: accounts of one mind, whose work for each other must bring neither ai$ nor a name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from earnest.contracts.spec import Acceptance
from earnest.effects.ground.storage.reader import BooksReader
from earnest.identity.caller import Caller
from earnest.ledger import accounts
from earnest.ledger import service as ledger
from earnest.market.jobs.offer import Offer
from earnest.market.reviews.review import Opinion
from earnest.runtime.market import claiming, deciding, posting, reviewing, submitting
from earnest.runtime.market.artifacts import bringing
from earnest.runtime.simulation.offers import RIGHT, offer_of
from earnest.runtime.simulation.town import Town

_WEIGHED: Final = "SELECT kind FROM signals WHERE account_id = ? AND weight > 0 LIMIT 1"
_CHECKED_AT: Final = 45
"""A throw that gives a job with a check whose creator accepts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Farming:
    """One who posts worthless jobs for `seller` to take at once, praises the work and is praised."""

    caller: Caller
    seller: Caller
    amount_micro: int

    async def live(self, town: Town) -> None:
        """One job, from its offer to its reviews."""
        terms = town.market.terms
        offer: Offer = offer_of(_CHECKED_AT, self.amount_micro, "AID")
        assert offer.acceptance is Acceptance.BUYER
        posted = await town.do(
            "farm", self.caller, prepare=lambda: posting.prepare_posting(town.market, self.caller, offer)
        )
        if posted is None:
            return
        job_id = str(posted["job_id"])
        claimed = await town.do("farm", self.seller, lambda entry: claiming.claim_job(entry, terms, job_id))
        if claimed is None:
            return
        claim_id = str(claimed["claim_id"])
        item = submitting.Item(requirement_id="answer", kind="json", media_type="application/json", inline=RIGHT)
        async with bringing(town.market, self.seller.id) as brought:
            await town.do(
                "farm",
                self.seller,
                prepare=lambda: submitting.prepare_submission(brought, self.seller, claim_id, [item]),
            )
        await town.do("farm", self.caller, lambda entry: deciding.accept(entry, terms, claim_id))
        praise = Opinion(rating=5, text="splendid", parts={})
        for side in (self.caller, self.seller):
            await town.do("farm", side, lambda entry: reviewing.send_review(entry, terms, claim_id, praise))


def gains(reader: BooksReader, farmers: Sequence[Farming], start_micro: int) -> Iterator[str]:
    """What farmers got out of it, in words. `start_micro`: what all of them had together."""
    callers = {one.id: one for farmer in farmers for one in (farmer.caller, farmer.seller)}
    held = sum(ledger.balance(reader, accounts.available(one, "AID")).balance_micro for one in callers)
    if held > start_micro:
        yield f"farmers have {held} micro ai$ and began with {start_micro}"
    for one in callers.values():
        for (kind,) in reader.execute(_WEIGHED, (one.id,)).fetchall():
            yield f"@{one.account.handle} has farmed a signal: {kind}"
