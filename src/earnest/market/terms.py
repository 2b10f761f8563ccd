"""The numbers of the market. Each is a setting of the operator; these are the defaults of the rulings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from earnest.foundation.bounds import Fitting, Whole
from earnest.ledger.rules import AMOUNT_MICRO_MAX

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
MICRO: Final = 1_000_000
OWN: Final = "AID"
"""What the platform gives and takes of its own: ai$, from and to a treasury that is filled once."""
CURRENCIES: Final = ("USD", OWN)
BPS: Final = 10_000
SMALL_MICRO_MAX: Final = 1_000_000 * MICRO
"""What is given, fined or laid down at once."""
REVISIONS_MAX: Final = 100
_SMALL: Final = Whole(0, SMALL_MICRO_MAX)
_AMOUNT: Final = Whole(0, AMOUNT_MICRO_MAX)
_SHARE: Final = Whole(0, BPS)
_COUNT: Final = Whole(1, 1_000)
_RELEASE: Final = Whole(DAY_S, 14 * DAY_S)
"""Times that a job can set for itself are no wider than what the API takes."""
_PERIOD: Final = Whole(HOUR_S, 90 * DAY_S)
CURRENCY_ORDERED: Final = (("stake_min_micro", "stake_max_micro"),)
ORDERED: Final = (
    ("auto_release_min_s", "auto_release_s"),
    ("auto_release_s", "auto_release_max_s"),
    ("grace_s", "job_work_max_s"),
    ("revise_s", "job_work_max_s"),
    ("review_on_time_s", "review_closes_s"),
    ("dispute_respond_s", "dispute_limit_s"),
    ("dispute_appeal_s", "dispute_limit_s"),
    ("capacity_aid", "capacity_max"),
    ("capacity_default", "capacity_max"),
    ("job_open_s", "hold_age_max_s"),
    ("genesis_aid_micro", "treasury_aid_micro"),
)
"""The first of each is at most the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyTerms:
    """Terms of one currency, money in micro-units."""

    fee_bps: Annotated[int, Whole(0, BPS // 2)]
    """The platform's share of a reward, in hundredths of a per cent."""
    dispute_floor_micro: Annotated[int, _AMOUNT]
    """A claim worth less cannot be disputed."""
    stake_bps: Annotated[int, _SHARE]
    """A dispute's stake, in hundredths of a per cent of the amount."""
    stake_min_micro: Annotated[int, _SMALL]
    """The least stake."""
    stake_max_micro: Annotated[int, _SMALL]
    """The most."""
    clearing_s: Annotated[int, Whole(0, 90 * DAY_S)]
    """How long earnings wait before they can be spent."""
    payout_min_micro: Annotated[int, _SMALL]
    """The least payout."""
    can_pay_out: bool
    """Whether it comes from outside and leaves; `AID` never."""

    def contradictions(self) -> Iterator[tuple[str, str, str]]:
        """What does not go together, each in words and with the keys it is about."""
        return _disordered(self, CURRENCY_ORDERED)


USD: Final = CurrencyTerms(
    fee_bps=500,
    dispute_floor_micro=5 * MICRO,
    stake_bps=1_000,
    stake_min_micro=MICRO,
    stake_max_micro=50 * MICRO,
    clearing_s=DAY_S,
    payout_min_micro=MICRO,
    can_pay_out=True,
)
AID: Final = CurrencyTerms(
    fee_bps=0,
    dispute_floor_micro=0,
    stake_bps=0,
    stake_min_micro=0,
    stake_max_micro=0,
    clearing_s=0,
    payout_min_micro=0,
    can_pay_out=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Seconds end in `_s`, money in `_micro`."""

    currencies: Mapping[str, CurrencyTerms] = field(default_factory=lambda: {"USD": USD, "AID": AID})
    practice: Annotated[bool, Fitting(lambda _: False, "left to `earnest serve --practice`")] = False
    """Each agent gets a made-up owner of its own: no setting, but how the platform is served."""
    treasury_aid_micro: Annotated[int, _AMOUNT] = 10_000_000 * MICRO
    """All the ai$ there will ever be; counts at the first start only."""
    genesis_aid_micro: Annotated[int, _SMALL] = 100 * MICRO
    """What an agent gets once somebody answers for it."""
    approved_aid_micro: Annotated[int, _SMALL] = MICRO
    """What worker and creator each get for an approved ai$ job."""
    fail_penalty_aid_micro: Annotated[int, _SMALL] = MICRO
    """What a worker owes when verification rejects the work of an ai$ job."""
    fail_penalty_bps: Annotated[int, _SHARE] = 0
    """And a share of the reward, in 1/10,000."""
    proposer_penalty_aid_micro: Annotated[int, _SMALL] = 0
    """What a worker owes when the proposer rejects it."""
    proposer_penalty_bps: Annotated[int, _SHARE] = 1_000
    """And a share of the reward, in 1/10,000."""
    proposer_penalty_max_aid_micro: Annotated[int, _SMALL] = 5 * MICRO
    """The most that this share comes to."""
    trial_aid_micro: Annotated[int, _SMALL] = 10_000
    """What a passed test job pays."""
    grace_s: Annotated[int, Whole(0, 7 * DAY_S)] = DAY_S
    """Time after a deadline in which work still counts, late."""
    auto_release_s: Annotated[int, _RELEASE] = 72 * HOUR_S
    """A buyer's time to decide, after which silence pays."""
    auto_release_min_s: Annotated[int, _RELEASE] = DAY_S
    """The least that a job may say there."""
    auto_release_max_s: Annotated[int, _RELEASE] = 14 * DAY_S
    """The most."""
    revise_s: Annotated[int, Whole(60, 14 * DAY_S)] = DAY_S
    """A worker's time for requested changes."""
    revisions_max: Annotated[int, Whole(0, REVISIONS_MAX)] = 2
    """How often a buyer may ask for changes."""
    submissions_max: Annotated[int, Whole(1, 100)] = 3
    """How often evidence is handed in for one request."""
    extension_share: Annotated[int, _COUNT] = 4
    """A claim is lengthened by itself by at most 1 / this of its time."""
    appeal_s: Annotated[int, Whole(HOUR_S, 30 * DAY_S)] = 72 * HOUR_S
    """Time to dispute rejected work."""
    unjudged_s: Annotated[int, Whole(DAY_S, 90 * DAY_S)] = 14 * DAY_S
    """After its review time, when unjudged work is refunded."""
    review_on_time_s: Annotated[int, _PERIOD] = 7 * DAY_S
    """From the end of a claim, until when a review is on time."""
    review_closes_s: Annotated[int, _PERIOD] = 14 * DAY_S
    """Until when it is taken at all."""
    dispute_stake_s: Annotated[int, Whole(60, DAY_S)] = 30 * 60
    """Time to lay down a stake."""
    dispute_respond_s: Annotated[int, _PERIOD] = 5 * DAY_S
    """Time to answer a case."""
    dispute_limit_s: Annotated[int, Whole(DAY_S, 365 * DAY_S)] = 21 * DAY_S
    """When the clock rules on a case."""
    dispute_appeal_s: Annotated[int, _PERIOD] = 72 * HOUR_S
    """Time to appeal a ruling."""
    resume_min_s: Annotated[int, Whole(HOUR_S, 7 * DAY_S)] = DAY_S
    """What a claim has left, at least, when its dispute is withdrawn."""
    declines_per_week: Annotated[int, Whole(0, 1_000)] = 3
    """How often a buyer may decline work that is not verified."""
    declines_share_percent: Annotated[int, Whole(0, 100)] = 20
    """Or, where that is more, what share of the work judged."""
    redos_max: Annotated[int, Whole(0, 100)] = 3
    """How often a job is offered anew."""
    capacity_aid: Annotated[int, _COUNT] = 1
    """Ai$ claims at once of an agent without capabilities."""
    open_jobs_aid: Annotated[int, _COUNT] = 1
    """Open ai$ jobs of an agent in a period."""
    capacity_default: Annotated[int, _COUNT] = 1
    """Claims at once of one without capabilities."""
    capacity_max: Annotated[int, _COUNT] = 100
    """Claims at once of any agent."""
    job_open_s: Annotated[int, Whole(HOUR_S, 365 * DAY_S)] = 30 * DAY_S
    """How long a job is open that does not say."""
    job_work_max_s: Annotated[int, Whole(DAY_S, 90 * DAY_S)] = 90 * DAY_S
    """How long a claim may last, with all extensions."""
    trial_attempts_per_day: Annotated[int, _COUNT] = 3
    """Test jobs of one class of work in 24 hours."""
    capability_lapses_s: Annotated[int, Whole(DAY_S, 3_650 * DAY_S)] = 180 * DAY_S
    """How long a badge lasts."""
    claim_link_s: Annotated[int, Whole(DAY_S, 365 * DAY_S)] = 7 * DAY_S
    """How long a claim_url works."""
    key_overlap_s: Annotated[int, Whole(0, 30 * DAY_S)] = DAY_S
    """How long a rotated key goes on working, at most."""
    hold_age_max_s: Annotated[int, Whole(DAY_S, 730 * DAY_S)] = 90 * DAY_S
    """How long money may lie in escrow."""
    world_pace: Annotated[int, Whole(1, 1_440)] = 1
    """Seconds that pass in the town while one passes here."""

    def contradictions(self) -> Iterator[tuple[str, str, str]]:
        """What does not go together, each in words and with the keys it is about."""
        return _disordered(self, ORDERED)


def _disordered(terms: object, ordered: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str, str]]:
    for less, more in ordered:
        found, bound = getattr(terms, less), getattr(terms, more)
        if found > bound:
            yield f"{less} is {found}: it must be at most {more}, {bound}", less, more
