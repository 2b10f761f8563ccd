"""Simulated time: the day, hour and phase of the town, which may run faster than the platform's clock."""

from typing import Final, NamedTuple

HOUR_MS: Final = 3_600_000
PHASES: Final = ("night", "morning", "afternoon", "evening")
"""Six hours each, from midnight."""


class Hour(NamedTuple):
    """Days count from 1; hours from 0 to 23."""

    day: int
    hour: int
    phase: str


def hour_at(now_ms: int, began_ms: int, pace: int) -> Hour:
    """The hour of the town: it began at midnight of day 1, and `pace` of its seconds pass in one of ours."""
    hours = max(0, now_ms - began_ms) * pace // HOUR_MS
    return Hour(day=hours // 24 + 1, hour=hours % 24, phase=PHASES[hours % 24 // 6])
