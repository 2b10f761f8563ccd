"""The life of made-up agents in a market: they look at what is theirs, and act by character and chance, out of 100."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from earnest.effects.ground.clock import Chance
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller
from earnest.market.claims.claim import WORKING, Claim, ClaimState, is_overdue
from earnest.market.disputes.dispute import CLOSED, Dispute, DisputeState
from earnest.market.disputes.ruling import For, Vote
from earnest.market.jobs.job import JobState
from earnest.market.jobs.offer import Offer
from earnest.market.reviews.review import Opinion
from earnest.market.service import CLAIMS, DISPUTES, JOBS, REVIEWS
from earnest.runtime.desk import Act, Prepared, StoryContext, keyed_by
from earnest.runtime.market import claiming, deciding, disputing, posting, reviewing, submitting
from earnest.runtime.market.artifacts import bringing
from earnest.runtime.market.market import Market
from earnest.runtime.simulation.offers import RIGHT, WRONG

CLAIMS_SEEN_MAX: Final = 20
SENT_AGAIN_MAX: Final = 3
_MINE: Final = "seller = ? AND state IN ({}) ORDER BY id LIMIT ?"
_AT_WORK: Final = ", ".join(f"'{state.value}'" for state in sorted(WORKING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seller:
    """How somebody works. `vanishes`: never hands anything in; `cheats`: hands in what is wrong; `late`: after the
    deadline; `gives_up`: cancels; `asks_time`: asks for an extension; `quarrels`: disputes a decline; `retries`: sends
    every request several times; `reviews`: says what it thinks of the buyer."""

    name: str
    vanishes: int = 0
    cheats: int = 0
    late: int = 0
    gives_up: int = 0
    asks_time: int = 5
    quarrels: int = 20
    retries: int = 5
    reviews: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Buyer:
    """How somebody judges work that waits for them. The rest of 100 is silence, which releases."""

    name: str
    accepts: int
    sends_back: int = 10
    declines: int = 5
    withdraws: int = 2
    quarrels: int = 0
    retries: int = 5
    reviews: int = 50


SELLERS: Final = (
    Seller(name="diligent"),
    Seller(name="hasty", cheats=15, retries=50),
    Seller(name="slow", late=40, asks_time=40),
    Seller(name="ghost", vanishes=60, gives_up=10, reviews=0),
    Seller(name="cheat", cheats=70, quarrels=60),
    Seller(name="quarrelsome", cheats=20, quarrels=95),
    Seller(name="stubborn", retries=100),
)

BUYERS: Final = (
    Buyer(name="fair", accepts=70),
    Buyer(name="silent", accepts=5, sends_back=0, declines=0, reviews=5),
    Buyer(name="harsh", accepts=20, sends_back=30, declines=40),
    Buyer(name="quarrelsome", accepts=30, declines=20, quarrels=30),
    Buyer(name="fickle", accepts=50, withdraws=20, retries=60),
)


@dataclass(slots=True, kw_only=True)
class Town:
    """The market, whose chance is the seed's, and what has happened in it, counted by word."""

    market: Market
    chance: Chance
    happened: Counter[str] = field(default_factory=Counter)
    """`<word>` for what was done, `refused:<code>` for what the rules did not allow."""

    def happens(self, percent: int) -> bool:
        """True so often out of 100."""
        return self.chance.fraction() * 100 < percent

    def chosen(self, count: int) -> int:
        """A number from 0 to `count` - 1."""
        return int(self.chance.fraction() * count)

    async def do(
        self,
        word: str,
        caller: Caller,
        act: Act | None = None,
        *,
        prepare: Callable[[], Awaitable[Prepared]] | None = None,
        retries: int = 0,
    ) -> Members | None:
        """Ask for it, some send it again and again; the answer, or None where the rules said no.

        Raises `AssertionError` where a request that was sent again had another answer.
        """
        key = self.chance.new_id(self.market.desk.now_ms())
        keyed = keyed_by(caller.id, word, key, word)
        again = self.chosen(SENT_AGAIN_MAX) + 1 if self.happens(retries) else 0
        try:
            answers = [
                await self.market.desk.perform(caller, act, keyed=keyed, prepare=prepare) for _ in range(again + 1)
            ]
        except Refused as refused:
            self.happened[f"refused:{refused.code}"] += 1
            return None
        if any(answer.body != answers[0].body for answer in answers):
            raise AssertionError(f"{word}: the same request had two answers")
        self.happened["sent again"] += again
        if answers[0].refusal:
            self.happened[f"refused:{answers[0].refusal}"] += 1
            return None
        self.happened[word] += 1
        return answers[0].body


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """A seller at work."""

    caller: Caller
    character: Seller

    async def live(self, town: Town) -> None:
        """Work on what is held, answer what was declined, review what has ended, and take something new."""
        desk, me = town.market.desk, self.caller.id
        mine = desk.database.read_sync(
            lambda reader: list(CLAIMS.where(reader, _MINE.format(_AT_WORK), (me, CLAIMS_SEEN_MAX)))
        )
        for claim in mine:
            await self._work(town, claim)
        for claim in desk.database.read_sync(lambda reader: _in_state(reader, "seller", me, ClaimState.DECLINED)):
            await self._answer_decline(town, claim)
        for claim in desk.database.read_sync(lambda reader: _to_review(reader, "seller", me)):
            await review(town, self.caller, claim, self.character.reviews)
        if not mine:
            await self._take(town)

    async def _work(self, town: Town, claim: Claim) -> None:
        terms, who = town.market.terms, self.character
        now_ms = town.market.desk.now_ms()
        if town.happens(who.vanishes) or (town.happens(who.late) and not is_overdue(claim, now_ms)):
            return
        if claim.state is ClaimState.CLAIMED and town.happens(who.gives_up):
            await town.do("cancel", self.caller, lambda entry: claiming.cancel(entry, terms, claim.id))
        elif town.happens(who.asks_time) and claim.state is not ClaimState.CHANGES_REQUESTED:
            await town.do("extend", self.caller, lambda entry: claiming.extend(entry, terms, claim.id, 7_200))
        elif claim.state is ClaimState.CLAIMED and town.happens(40):
            await town.do("start", self.caller, lambda entry: claiming.start(entry, terms, claim.id))
        else:
            content = WRONG if town.happens(who.cheats) else RIGHT
            item = submitting.Item(requirement_id="answer", kind="json", media_type="application/json", inline=content)
            async with bringing(town.market, self.caller.id) as brought:
                await town.do(
                    "submit",
                    self.caller,
                    prepare=lambda: submitting.prepare_submission(brought, self.caller, claim.id, [item]),
                    retries=who.retries,
                )

    async def _answer_decline(self, town: Town, claim: Claim) -> None:
        terms = town.market.terms
        if town.happens(self.character.quarrels):
            plea = disputing.Plea(reason="the work is what was asked for", criteria=("C1",))
            await town.do("dispute", self.caller, lambda entry: disputing.raise_dispute(entry, terms, claim.id, plea))
        elif town.happens(30):
            await town.do("concede", self.caller, lambda entry: claiming.concede(entry, terms, claim.id))

    async def _take(self, town: Town) -> None:
        terms = town.market.terms
        open_jobs = town.market.desk.database.read_sync(
            lambda reader: list(JOBS.where(reader, "state = ? ORDER BY id DESC LIMIT 30", (JobState.OPEN.value,)))
        )
        if not open_jobs:
            return
        job = open_jobs[town.chosen(len(open_jobs))]
        if job.apply_until_ms is not None:
            await town.do("apply", self.caller, lambda entry: claiming.apply_for(entry, job.id, ""))
        else:
            await town.do(
                "claim",
                self.caller,
                lambda entry: claiming.claim_job(entry, terms, job.id),
                retries=self.character.retries,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Buying:
    """A buyer, who posts so many jobs out of 100 times, and judges what waits."""

    caller: Caller
    character: Buyer

    async def post(self, town: Town, offer: Offer) -> None:
        """Post a job."""
        await town.do(
            "post",
            self.caller,
            prepare=lambda: posting.prepare_posting(town.market, self.caller, offer),
            retries=self.character.retries,
        )

    async def live(self, town: Town) -> None:
        """Judge what was handed in, end what is overdue, review what has ended; now and then take a job back."""
        desk, me = town.market.desk, self.caller.id
        for state in (ClaimState.SUBMITTED, ClaimState.VERIFIED):
            for claim in desk.database.read_sync(partial(_in_state, side="buyer", account=me, state=state)):
                await self._judge(town, claim)
        for claim in desk.database.read_sync(lambda reader: _to_review(reader, "buyer", me)):
            await review(town, self.caller, claim, self.character.reviews)
        if town.happens(self.character.withdraws):
            await self._take_back(town)

    async def _judge(self, town: Town, claim: Claim) -> None:
        terms, who = town.market.terms, self.character
        if not claim.verdict:  # the machine has not looked yet
            return
        throw = town.chosen(100)
        if throw < who.accepts:
            await town.do("accept", self.caller, lambda entry: deciding.accept(entry, terms, claim.id))
        elif throw < who.accepts + who.sends_back:
            await town.do(
                "request changes",
                self.caller,
                lambda entry: deciding.request_changes(entry, terms, claim.id, "not yet", ("C1",)),
            )
        elif throw < who.accepts + who.sends_back + who.declines:
            await town.do("decline", self.caller, lambda entry: deciding.decline(entry, terms, claim.id, "no", ("C1",)))
        elif town.happens(who.quarrels):
            plea = disputing.Plea(reason="this is not what was asked for", criteria=("C1",))
            await town.do("dispute", self.caller, lambda entry: disputing.raise_dispute(entry, terms, claim.id, plea))

    async def _take_back(self, town: Town) -> None:
        job_id = town.market.desk.database.read_sync(lambda reader: _open_of(reader, self.caller.id))
        if job_id:
            await town.do("withdraw", self.caller, lambda entry: posting.withdraw_job(entry, job_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedOperator:
    """The operator, who rules some disputes, judges some of the queue, and leaves the rest to the clock."""

    caller: Caller

    async def live(self, town: Town) -> None:
        """One look at what waits."""
        database = town.market.desk.database
        for dispute in database.read_sync(_deliberated):
            if town.happens(50):
                await self._rule(town, dispute)
        for claim in database.read_sync(_waiting):
            if town.happens(60):
                await self._decide(town, claim.job_id, approved=town.happens(60))

    async def _decide(self, town: Town, job_id: str, *, approved: bool) -> None:
        def decide(entry: StoryContext) -> Members:
            return deciding.decide_job(entry, town.market.terms, job_id, "looked at", ("C1",), approved=approved)

        await town.do("operator decides", self.caller, decide)

    async def _rule(self, town: Town, dispute: Dispute) -> None:
        side = (For.SELLER, For.BUYER, For.SPLIT)[town.chosen(3)]
        third = dispute.amount_micro // 3
        shares = {"seller_micro": third, "buyer_micro": dispute.amount_micro - third} if side is For.SPLIT else {}
        vote = Vote(in_favour=side, criteria=("C1",), reason="by what was handed in", **shares)
        await town.do("rule", self.caller, lambda entry: disputing.rule(entry, town.market.terms, dispute.id, vote))


async def review(town: Town, caller: Caller, claim: Claim, percent: int) -> None:
    """Say what one thinks of the other side, or leave it."""
    if town.happens(percent):
        opinion = Opinion(rating=town.chosen(5) + 1, text="as it was", parts={})
        await town.do(
            "review", caller, lambda entry: reviewing.send_review(entry, town.market.terms, claim.id, opinion)
        )


def _in_state(reader: BooksReader, side: str, account: str, state: ClaimState) -> list[Claim]:
    return list(CLAIMS.where(reader, f"{side} = ? AND state = ? LIMIT ?", (account, state.value, CLAIMS_SEEN_MAX)))


def _to_review(reader: BooksReader, side: str, account: str) -> list[Claim]:
    sql = (
        f"{side} = ? AND state = 'released' AND reviews_published_at_ms IS NULL AND reviews_close_at_ms IS NOT NULL "
        "ORDER BY id DESC LIMIT 5"
    )
    found = CLAIMS.where(reader, sql, (account,))
    return [one for one in found if not any(REVIEWS.where(reader, "claim_id = ? AND side = ?", (one.id, side)))]


def _open_of(reader: BooksReader, account: str) -> str:
    """The first open job of a buyer."""
    found = JOBS.where(reader, "creator = ? AND state = 'open' ORDER BY id LIMIT 1", (account,))
    return next((job.id for job in found), "")


def _deliberated(reader: BooksReader) -> list[Dispute]:
    closed = ", ".join(f"'{state.value}'" for state in sorted(CLOSED))
    found = DISPUTES.where(reader, f"state NOT IN ({closed}) ORDER BY id LIMIT 20")
    return [one for one in found if one.state is DisputeState.DELIBERATION]


def _waiting(reader: BooksReader) -> list[Claim]:
    sql = "state IN ('submitted', 'verified') AND acceptance IN ('human', 'machine') AND verdict = 'unclear' LIMIT 20"
    return list(CLAIMS.where(reader, sql))
