"""A simulated market from its first day to the end of its last claim.

Among its people are farmers: accounts of one mind, whose work for each other must bring neither ai$ nor a name.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from earnest.contracts.spec import Acceptance
from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject
from earnest.identity.account import AccountKind, AccountStatus
from earnest.identity.key import Caller, Scope
from earnest.identity.service import ACCOUNTS
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available, external, moved
from earnest.market.jobs.offer import Offer
from earnest.market.reviews.review import Opinion
from earnest.market.terms import DAY_S, HOUR_S, MICRO
from earnest.runtime.desk import StoryContext
from earnest.runtime.market import claiming, deciding, posting, reviewing, submitting
from earnest.runtime.market.artifacts import bringing
from earnest.runtime.market.clocks import TIMETABLE
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.market import Market
from earnest.runtime.market.money import open_treasury
from earnest.runtime.market.registering import open_account
from earnest.runtime.recompute import recompute
from earnest.runtime.simulation.invariants import broken
from earnest.runtime.simulation.offers import RIGHT, offer_of
from earnest.runtime.simulation.town import BUYERS, SELLERS, Buying, SimulatedOperator, Town, Working
from earnest.runtime.timers import Timers

STEP_S: Final = 12 * HOUR_S
STEPS_LOOKED_AFTER: Final = 10
"""How often all that must hold is looked at."""
START_MICRO: Final = 100_000 * MICRO
TWINS_MICRO: Final = 100 * MICRO
"""What each of one owner's two agents begins with."""
ENDING_DAYS_MAX: Final = 120
"""How long after the last job everything must have ended by the clock alone."""

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
    held = sum(ledger.balance(reader, available(one, "AID")).balance_micro for one in callers)
    if held > start_micro:
        yield f"farmers have {held} micro ai$ and began with {start_micro}"
    for one in callers.values():
        for (kind,) in reader.execute(_WEIGHED, (one.id,)).fetchall():
            yield f"@{one.account.handle} has farmed a signal: {kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationPlan:
    """How large a simulation is."""

    days: int = 400
    agents: int = 60
    jobs: int = 5_200
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What came of it: how often what happened, and what is wrong, in words (nothing, one hopes)."""

    happened: Counter[str]
    wrongs: tuple[str, ...]
    facts: int


async def simulate(
    market: Market, clock: VirtualClock, plan: SimulationPlan, progress: Callable[[int], None] = lambda _: None
) -> Simulated:
    """Live through `plan.days`, then let the clock end what is left; what must hold is looked at every few days.

    The market's own clock and chance are the simulation's. `progress` is told the day.
    """
    wrongs: list[str] = []
    town = Town(market=market, chance=market.desk.chance)
    timers = Timers(market.desk, market.terms, TIMETABLE, wrongs.append)
    judging = Judging(market)
    await market.desk.tick(lambda entry: open_treasury(entry, market.terms))
    operator, buyers, sellers = await _people(town, plan.agents)
    farmers = await _farmers(town, operator.caller.id)
    people: tuple[Working | Buying | SimulatedOperator | Farming, ...] = (*sellers, *buyers, operator, *farmers)
    posted, steps = 0, plan.days * DAY_S // STEP_S
    for step in range(steps):
        await clock.advance_ms(STEP_S * 1_000)
        await timers.look()
        while posted < plan.jobs * (step + 1) // steps:
            posted += 1
            buyer = buyers[town.chosen(len(buyers))]
            currency = "AID" if town.happens(20) else "USD"
            amount_micro = (1 + town.chosen(3 if currency == "AID" else 40)) * MICRO
            await buyer.post(town, offer_of(town.chosen(100), amount_micro, currency))
        for person in people:
            await person.live(town)
        await judging.drain()
        if step % STEPS_LOOKED_AFTER == 0:
            wrongs += market.desk.database.read_sync(lambda reader: list(broken(reader)))
            progress(step * STEP_S // DAY_S)
        if wrongs:
            break
    wrongs += await _let_it_end(town, clock, timers)
    wrongs += market.desk.database.read_sync(lambda reader: list(gains(reader, farmers, 2 * TWINS_MICRO)))
    found = market.desk.database.read_sync(lambda reader: recompute(reader, SystemClock()))
    wrongs += found.differences
    return Simulated(happened=town.happened, wrongs=tuple(wrongs), facts=found.facts)


async def _let_it_end(town: Town, clock: VirtualClock, timers: Timers) -> list[str]:
    """Nobody does anything any more: the clock alone must bring every claim, job and dispute to an end."""
    ends_ms = clock.now_ms() + ENDING_DAYS_MAX * DAY_S * 1_000
    while (next_ms := await timers.next_ms()) is not None and next_ms <= ends_ms:
        await clock.advance_ms(max(0, next_ms - clock.now_ms()))
        await timers.look()
    return town.market.desk.database.read_sync(
        lambda reader: [
            *broken(reader),
            *(f"a {what} has not ended: {name}" for what, sql in _OPEN.items() for (name,) in reader.execute(sql)),
        ]
    )


_OPEN: Final = {
    "claim": "SELECT id FROM claims WHERE state NOT IN ('released', 'refunded', 'cancelled', 'expired')",
    "job": "SELECT id FROM jobs WHERE ended_at_ms IS NULL",
    "dispute": "SELECT id FROM disputes WHERE closed_at_ms IS NULL",
    "reservation": "SELECT id FROM transfers WHERE kind = 'pending' AND resolved = ''",
    "review window": "SELECT id FROM claims WHERE reviews_close_at_ms IS NOT NULL AND reviews_published_at_ms IS NULL",
}


async def _farmers(town: Town, owner: str) -> list[Farming]:
    """A ring of strangers with free jobs, two agents of one owner, and somebody owned who helps a stranger."""
    strangers = [await _somebody(town, f"stranger{at}", owner=None, money_micro=0) for at in range(4)]
    twins = [await _somebody(town, f"twin{at}", owner=owner, mail="farmer", money_micro=TWINS_MICRO) for at in range(2)]
    rings = (*zip(strangers, strangers[1:] + strangers[:1], strict=True), (twins[0], twins[1]), (twins[1], twins[0]))
    prices = {twins[0].id: MICRO}
    return [
        Farming(caller=buyer, seller=seller, amount_micro=prices.get(buyer.id, 0))
        for buyer, seller in (*rings, (twins[1], strangers[0]))
    ]


async def _people(town: Town, agents: int) -> tuple[SimulatedOperator, list[Buying], list[Working]]:
    """The operator, and agents of every character; a third of them buy."""
    operator = await _somebody(town, "operator", owner=None, kind=AccountKind.OPERATOR)
    buyers, sellers = [], []
    for at in range(agents):
        caller = await _somebody(town, f"agent{at}", owner=operator.id)
        if at % 3 == 0:
            buyers.append(Buying(caller=caller, character=BUYERS[at // 3 % len(BUYERS)]))
        else:
            sellers.append(Working(caller=caller, character=SELLERS[at % len(SELLERS)]))
    return SimulatedOperator(caller=operator), buyers, sellers


async def _somebody(
    town: Town,
    handle: str,
    *,
    owner: str | None,
    mail: str = "",
    kind: AccountKind = AccountKind.AGENT,
    money_micro: int = START_MICRO,
) -> Caller:
    """Somebody with money; without an owner, a stranger who has registered. `mail`: of an owner with several agents."""
    status = AccountStatus.PAYOUTS_ENABLED if owner or kind is not AccountKind.AGENT else AccountStatus.REGISTERED
    scope = Scope.OPERATOR if kind is AccountKind.OPERATOR else Scope.LIVE if owner else Scope.REGISTERED
    mail = mail or handle

    def arrive(entry: StoryContext) -> JsonObject:
        account = open_account(entry, handle, kind, status, operator_id=owner, mail=f"{mail}@example.org")
        for currency in ("USD", "AID"):
            source, home = external(currency), available(account.id, currency)
            start = f"{account.id}/start/{currency}"
            chain = moved(start, source, home, money_micro, reason="start", at_ms=entry.now_ms)
            ledger.post(entry.transaction, chain)
        return {"id": account.id}

    found = await town.market.desk.tick(arrive)
    account = town.market.desk.database.read_sync(lambda reader: ACCOUNTS.find(reader, str(found["id"])))
    return Caller(account=account, scope=scope, key_id=f"key_{handle}")
