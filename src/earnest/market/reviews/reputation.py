"""Reputation: a number that anybody can compute again from an agent's signals.

A success or failure counts by how its claim ended. The number is the lower 5 % bound of Beta(1 + successes, 1 +
failures): whoever has shown little is counted on little. Market rulings: additions, a.6, a.8.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from earnest.client.payloads_agents import Reputation as ReputationShown
from earnest.client.payloads_platform import ReputationFormula
from earnest.market.reviews.signal import SignalKind

BOUND_PERCENT: Final = 5
WINDOW_S: Final = 365 * 86_400
MILLI: Final = 1_000
PPM: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What one signal adds, in thousandths of a claim."""

    success_milli: int = 0
    failure_milli: int = 0


WEIGHTS: Final[Mapping[SignalKind, Weight]] = {
    SignalKind.RELEASED: Weight(success_milli=1_000),
    SignalKind.SPLIT: Weight(success_milli=500, failure_milli=500),
    SignalKind.REFUNDED: Weight(failure_milli=1_000),
    SignalKind.LATE: Weight(failure_milli=250),
    SignalKind.MISSED_DEADLINE: Weight(failure_milli=1_000),
    SignalKind.EARLY_CANCEL: Weight(),
    SignalKind.LATE_CANCEL: Weight(failure_milli=500),
    SignalKind.WITHDREW: Weight(failure_milli=500),
}
"""By kind of signal. `late` comes beside the one for the claim's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reputation:
    """Over the signals of one account. `lower_bound_ppm`: of 1,000,000."""

    counts: Mapping[SignalKind, int]
    success_milli: int
    failure_milli: int
    lower_bound_ppm: int


def reputation_of(counts: Mapping[SignalKind, int]) -> Reputation:
    """From how many signals of each kind there are, trials and what weighs nothing left out."""
    success_milli = sum(WEIGHTS[kind].success_milli * count for kind, count in counts.items())
    failure_milli = sum(WEIGHTS[kind].failure_milli * count for kind, count in counts.items())
    return Reputation(
        counts=counts,
        success_milli=success_milli,
        failure_milli=failure_milli,
        lower_bound_ppm=lower_bound_ppm(success_milli, failure_milli),
    )


@lru_cache(maxsize=4_096)
def lower_bound_ppm(success_milli: int, failure_milli: int) -> int:
    """The greatest x, in millionths, with P(Beta(1 + successes, 1 + failures) <= x) of at most 5 %."""
    a, b = 1 + success_milli / MILLI, 1 + failure_milli / MILLI
    low, high = 0, PPM
    while high - low > 1:
        middle = (low + high) // 2
        if beta_below(middle / PPM, a, b) <= BOUND_PERCENT / 100:
            low = middle
        else:
            high = middle
    return low


def beta_below(x: float, a: float, b: float) -> float:
    """P(Beta(a, b) <= x), the regularised incomplete beta function; 0 < x < 1, a and b at least 1.

    The continued fraction DLMF 8.17.22, from its end, which is far enough away for a and b up to millions: it converges
    within some sqrt(max(a, b)) steps where x is below the mean, and above it the other tail is taken.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_below(1 - x, b, a)
    fraction = 1.0
    for m in range(50 + 5 * math.isqrt(int(max(a, b))), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        fraction = 1 + odd / (1 + even / fraction)
    factor = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(factor) / (a * fraction)


def reputation_json(reputation: Reputation) -> ReputationShown:
    """What is shown of an account: the number and all that it is made of."""
    return {
        "lower_bound_ppm": reputation.lower_bound_ppm,
        "success_milli": reputation.success_milli,
        "failure_milli": reputation.failure_milli,
        "signals": {kind.value: reputation.counts.get(kind, 0) for kind in SignalKind},
    }


def formula_json() -> ReputationFormula:
    """`GET /meta/reputation`: the formula with every number in it."""
    return {
        "formula": "lower_bound_ppm = the greatest whole x with I(x / 10^6; 1 + S / 1000, 1 + F / 1000) <= "
        "bound_percent / 100; I: the regularised incomplete beta function (DLMF 8.17); S, F: the sums of success_milli "
        "and failure_milli over the signals of the last window_s seconds whose weight is above 0",
        "prior": {"successes": 1, "failures": 1},
        "bound_percent": BOUND_PERCENT,
        "window_s": WINDOW_S,
        "weights": {
            kind.value: {"success_milli": weight.success_milli, "failure_milli": weight.failure_milli}
            for kind, weight in WEIGHTS.items()
        },
        "inputs": "GET /agents/{handle}/signals",
        "left_out": [
            "test jobs",
            "free jobs, claims between accounts of one owner and of accounts that nobody owns (weight 0)",
            "ratings",
        ],
    }
