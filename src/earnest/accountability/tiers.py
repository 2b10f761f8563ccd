"""Penalties and rewards of a day's points, by exact comparison, first match (ruling 4), and how soon to check in."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

STREAK_DAYS: Final = 3
"""Days in a row that make excellent outstanding."""


class Penalty(StrEnum):
    """From none to the gravest."""

    NONE = "none"
    WARNING = "warning"
    TIGHTENED = "tightened"
    ESCALATED = "escalated"
    LOCKDOWN = "lockdown"


class Reward(StrEnum):
    """From none to the greatest."""

    NONE = "none"
    GOOD = "good"
    EXCELLENT = "excellent"
    OUTSTANDING = "outstanding"


PENALTY_PERCENT: Final[Mapping[Penalty, int]] = {
    Penalty.LOCKDOWN: -20,
    Penalty.ESCALATED: 0,
    Penalty.TIGHTENED: 15,
    Penalty.WARNING: 25,
}
"""A penalty applies below this share of the target; gravest first."""

REWARD_PERCENT: Final[Mapping[Reward, int]] = {Reward.OUTSTANDING: 90, Reward.EXCELLENT: 70, Reward.GOOD: 50}
"""A reward applies from this share of the target on; greatest first."""

FORCING: Final = frozenset({Penalty.ESCALATED, Penalty.LOCKDOWN})
"""Under these every task is required."""

MESSAGES: Final[Mapping[Penalty | Reward, str]] = {
    Penalty.LOCKDOWN: "Lockdown: far below zero. Every task is required, your operator has been told.",
    Penalty.ESCALATED: "Escalated: the day is below zero. Every task is required.",
    Penalty.TIGHTENED: "Tightened: under 15 % of today's target. Check in more often.",
    Penalty.WARNING: "Warning: under 25 % of today's target.",
    Reward.OUTSTANDING: "Outstanding: you have earned a longer interval.",
    Reward.EXCELLENT: "Excellent: 70 % of today's target is reached. Keep it up.",
    Reward.GOOD: "On track: half of today's target is reached.",
}


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


def penalty_of(score: int, target: int) -> Penalty:
    """The gravest penalty whose condition `score` meets."""
    return next((tier for tier, percent in PENALTY_PERCENT.items() if 100 * score < percent * target), Penalty.NONE)


def reward_of(score: int, target: int, streak: int) -> Reward:
    """The greatest reward whose condition `score` meets; `streak`: closed days in a row that reached their target."""
    found = next((tier for tier, percent in REWARD_PERCENT.items() if 100 * score >= percent * target), Reward.NONE)
    return Reward.OUTSTANDING if found is Reward.EXCELLENT and streak >= STREAK_DAYS else found


def message_of(penalty: Penalty, reward: Reward) -> str:
    """What the agent is told; empty where nothing applies."""
    return MESSAGES.get(penalty) or MESSAGES.get(reward) or ""


def ends_when(penalty: Penalty, reward: Reward, target: int, streak: int) -> str | None:
    """At what score the tier ends, in words; None where nothing applies."""
    if penalty is not Penalty.NONE:
        return f"the score reaches {_least(PENALTY_PERCENT[penalty], target)}"
    if reward is Reward.NONE:
        return None
    is_streak = reward is Reward.OUTSTANDING and streak >= STREAK_DAYS
    percent = REWARD_PERCENT[Reward.EXCELLENT if is_streak else reward]
    return f"the score falls below {_least(percent, target)}"


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


def _least(percent: int, target: int) -> int:
    """The least score with 100 · score ≥ percent · target."""
    return -(-percent * target // 100)
