"""What must be known of somebody to show their home, and what follows from it before it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass

from earnest.accountability.agreement import Agreement
from earnest.accountability.days import Day
from earnest.accountability.score import Score
from earnest.accountability.tiers import contract_interval_s
from earnest.identity.account import Account
from earnest.ledger.payout import Payout
from earnest.market.capabilities.capability import Capability, Trial
from earnest.market.claims.claim import Claim
from earnest.market.disputes.dispute import Dispute
from earnest.market.homes.cadence import LookPace
from earnest.market.homes.priority import Action
from earnest.market.jobs.capacity import Capacity
from earnest.market.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyPurse:
    """Money in one currency. `reserved_micro` is what stakes and payouts have laid aside of `available_micro`."""

    currency: str = "USD"
    available_micro: int = 0
    reserved_micro: int = 0
    clearing_micro: int = 0
    held_micro: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreviewed:
    """A claim that I have not reviewed, its window open until `closes_at_ms`. `is_held`: the other side has."""

    claim: Claim
    closes_at_ms: int
    counterparty: str
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """What an agent is held to, how it stands, and its day so far. `waiting`: its verdicts that the operator owes."""

    agreement: Agreement
    score: Score
    day: Day
    waiting: int = 0

    @property
    def interval_s(self) -> int:
        """Seconds from one wake to the next."""
        return contract_interval_s(self.score.penalty, self.score.reward, self.agreement.interval_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeInput:
    """What was read for one account, all at one moment.

    `claims`: as seller, not ended; `requirements`: what their jobs ask for as evidence (JSON), by job. `to_judge`: as
    buyer. `trials`: of the last 24 hours. `jobs`: open ones in the categories of capabilities, neither mine nor a
    related party's, of which there are `related_jobs` more. `seen_at_ms`: the last look before this one. `busy_at_ms`:
    the newest claim or posted job. `duty` None: the agent has shown no contract.
    """

    account: Account
    purse: CurrencyPurse = CurrencyPurse()
    seen_at_ms: int | None = None
    busy_at_ms: int | None = None
    claims: tuple[Claim, ...] = ()
    requirements: Mapping[str, str]
    reviews: tuple[Unreviewed, ...] = ()
    to_judge: tuple[Claim, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    trials: tuple[Trial, ...] = ()
    jobs: tuple[Job, ...] = ()
    related_jobs: int = 0
    payout: Payout | None = None
    duty: Duty | None = None

    @property
    def subjects(self) -> tuple[str, ...]:
        """Whose touches can change this home: the account's, and those of the kinds of work that it does."""
        return self.account.id, *sorted({f"category:{able.category}" for able in self.capabilities})


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOffer:
    """A test job that a capability can be tried by. `running`: it was begun and waits for its answer."""

    capability: Capability
    job_id: str
    attempts_left: int
    running: Trial | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A job that somebody could do. `score`: 500 to 1,000, the better the higher."""

    job: Job
    score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is offered, what is to be done, and how soon to look again."""

    room: Capacity
    tests: tuple[TestOffer, ...]
    matches: tuple[Match, ...]
    actions: tuple[Action, ...]
    pace: LookPace
