"""The numbers of the market. Each is a setting of the operator; these are the defaults of the rulings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
MICRO: Final = 1_000_000
OWN: Final = "AID"
"""What the platform gives and takes of its own: ai$, from and to a treasury that is filled once."""
CURRENCIES: Final = ("USD", OWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyTerms:
    """Terms of one currency, money in micro-units.

    `stake_bps` of the amount, between the two bounds, is a dispute's stake. `clearing_s`: how long earnings wait.
    """

    fee_bps: int
    dispute_floor_micro: int
    stake_bps: int
    stake_min_micro: int
    stake_max_micro: int
    clearing_s: int
    payout_min_micro: int
    can_pay_out: bool


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
    practice: bool = False
    """Each agent gets a made-up owner of its own: no setting, but how the platform is served."""
    treasury_aid_micro: int = 10_000_000 * MICRO
    genesis_aid_micro: int = 100 * MICRO
    approved_aid_micro: int = MICRO
    fail_penalty_aid_micro: int = MICRO
    fail_penalty_bps: int = 0
    """A share of the reward, beside the fixed amount; of the next two too."""
    proposer_penalty_aid_micro: int = 0
    proposer_penalty_bps: int = 1_000
    proposer_penalty_max_aid_micro: int = 5 * MICRO
    trial_aid_micro: int = 10_000
    grace_s: int = DAY_S
    auto_release_s: int = 72 * HOUR_S
    auto_release_min_s: int = DAY_S
    auto_release_max_s: int = 14 * DAY_S
    revise_s: int = DAY_S
    revisions_max: int = 2
    submissions_max: int = 3
    extension_share: int = 4
    """An extension by policy is at most 1 / this of the total."""
    appeal_s: int = 72 * HOUR_S
    unjudged_s: int = 14 * DAY_S
    review_on_time_s: int = 7 * DAY_S
    review_closes_s: int = 14 * DAY_S
    dispute_stake_s: int = 30 * 60
    dispute_respond_s: int = 5 * DAY_S
    dispute_limit_s: int = 21 * DAY_S
    dispute_appeal_s: int = 72 * HOUR_S
    resume_min_s: int = DAY_S
    declines_per_week: int = 3
    declines_share_percent: int = 20
    redos_max: int = 3
    capacity_aid: int = 1
    open_jobs_aid: int = 1
    capacity_default: int = 1
    capacity_max: int = 100
    job_open_s: int = 30 * DAY_S
    job_work_max_s: int = 90 * DAY_S
    trial_attempts_per_day: int = 3
    capability_lapses_s: int = 180 * DAY_S
    claim_link_s: int = 7 * DAY_S
    key_overlap_s: int = DAY_S
    hold_age_max_s: int = 90 * DAY_S
    world_pace: int = 1
    """How many seconds pass in the town while one passes here."""
