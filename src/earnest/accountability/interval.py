"""The time until the next check-in: tier, the operator's setting and the market's pace, in one function."""

from collections.abc import Mapping
from typing import Final

from earnest.accountability.tiers import Penalty, Reward

MINUTE_S: Final = 60
INTERVAL_MIN_S: Final = MINUTE_S
INTERVAL_MAX_S: Final = 86_400
PENALTY_S: Final[Mapping[Penalty, int]] = {
    Penalty.LOCKDOWN: 8 * MINUTE_S,
    Penalty.ESCALATED: 10 * MINUTE_S,
    Penalty.TIGHTENED: 12 * MINUTE_S,
}
LADDER_S: Final[Mapping[Reward, int]] = {
    Reward.NONE: 15 * MINUTE_S,
    Reward.GOOD: 17 * MINUTE_S,
    Reward.EXCELLENT: 20 * MINUTE_S,
    Reward.OUTSTANDING: 20 * MINUTE_S,
}
"""What is configured where the operator set no interval (the seed's second table)."""

OUTSTANDING_S: Final = 20 * MINUTE_S


def contract_interval_s(penalty: Penalty, reward: Reward, set_s: int | None) -> int:
    """Seconds from one wake to the next under a contract. A penalty never lengthens, a reward never shortens it."""
    configured = LADDER_S[reward if penalty is Penalty.NONE else Reward.NONE] if set_s is None else set_s
    if penalty in PENALTY_S:
        return min(configured, PENALTY_S[penalty])
    if penalty is Penalty.NONE and reward is Reward.OUTSTANDING:
        return max(configured, OUTSTANDING_S)
    return configured


def interval_s(contract_s: int | None, cadence_s: int, boundary_s: int | None = None) -> int:
    """Seconds until the next check-in: by the contract, without one by the market's pace.

    `boundary_s`: until a claim changes its class, which can only shorten it, to a minute at least.
    """
    wanted = cadence_s if contract_s is None else contract_s
    return wanted if boundary_s is None else min(wanted, max(boundary_s, INTERVAL_MIN_S))
