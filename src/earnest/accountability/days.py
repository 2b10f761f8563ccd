"""The day on which something counts, and the bar that rises from day to day. (ruling 3)"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from earnest.accountability.points import Charge
from earnest.foundation.instants import EPOCH

TARGET_MIN: Final = 50
TARGET_MAX: Final = 500
RECENT_DAYS: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One agent's day. `id` is `<account>/<date>`; `date` is the calendar's in `zone`, `YYYY-MM-DD`.

    `target` and `floor` are those that the day began with. `verdicts`: how many decided on the agent's work; a day
    without any neither breaks nor extends a streak. `possible`: the most that the contract could earn.
    """

    id: str
    account_id: str
    date: str
    zone: str
    target: int
    floor: int
    score: int = 0
    verified: int = 0
    failed: int = 0
    unclear: int = 0
    contradictions: int = 0
    verdicts: int = 0
    peak: int = 0
    lowest: int = 0
    target_reached: bool = False
    possible: int = 0


def day_id(account_id: str, day: str) -> str:
    """The id of one account's day."""
    return f"{account_id}/{day}"


def date_of(at_ms: int, zone: str) -> str:
    """The calendar date at an instant, as clocks in `zone` (IANA) show it."""
    return (EPOCH + timedelta(milliseconds=at_ms)).astimezone(ZoneInfo(zone)).date().isoformat()


def begins_at_ms(day: str, zone: str, seconds: int = 0) -> int:
    """The instant at which clocks in `zone` show `seconds` after midnight of `day` for the first time.

    A time that the clocks leave out counts by the clock before the change.
    """
    year, month, number = map(int, day.split("-"))
    moment = datetime(year, month, number) + timedelta(seconds=seconds)  # noqa: DTZ001 - it is a wall clock's
    return round((moment.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC) - EPOCH).total_seconds()) * 1_000


def date_after(day: str) -> str:
    """The next calendar date."""
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def target_of(floor: int, scores: Iterable[int]) -> int:
    """The bar for a day: `floor`, or the mean of the positive days among the last recorded ones, newest first.

    Rounded half up; from 50 to 500.
    """
    positive = [score for score in islice(scores, RECENT_DAYS) if score > 0]
    mean = (2 * sum(positive) + len(positive)) // (2 * len(positive)) if positive else floor
    return min(TARGET_MAX, max(TARGET_MIN, floor, mean))


def charged(day: Day, charges: Sequence[Charge]) -> Day:
    """The day after all of these, booked together: peak, lowest and `target_reached` move once."""
    counts = dict.fromkeys(("verified", "failed", "unclear", "contradictions"), 0)
    for charge in charges:
        if charge.counted:
            counts[charge.counted] += charge.sign
    score = day.score + sum(charge.points for charge in charges)
    return replace(
        day,
        score=score,
        verdicts=day.verdicts + sum(charge.sign for charge in charges if charge.is_verdict),
        peak=max(day.peak, score),
        lowest=min(day.lowest, score),
        target_reached=day.target_reached or score >= day.target,
        **{name: getattr(day, name) + count for name, count in counts.items()},
    )


def streak_after(streak: int, day: Day) -> int:
    """The streak once `day` is closed."""
    if not day.verdicts:
        return streak
    return streak + 1 if day.target_reached else 0


def streaks_of(oldest_first: Iterable[Day]) -> tuple[int, int]:
    """The streak that closed days come to, and the longest that there ever was."""
    streak = longest = 0
    for day in oldest_first:
        streak = streak_after(streak, day)
        longest = max(longest, streak)
    return streak, longest
