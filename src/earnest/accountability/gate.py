"""The gates before a heartbeat; the first one that is closed gives the reason. (ruling 2)"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from earnest.accountability.days import begins_at_ms, date_after
from earnest.foundation.instants import EPOCH

DAY_MINUTES: Final = 24 * 60


class Skip(StrEnum):
    """Why a heartbeat did nothing, in the order in which it is asked."""

    DISABLED = "disabled"
    PAUSED = "paused"
    OUTSIDE_ACTIVE_HOURS = "outside_active_hours"
    BUSY = "busy"
    NOTHING_TO_DO = "nothing_to_do"


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyHours:
    """From `begin` to before `end`, minutes after midnight; past midnight where `end` is not later. Equal: all day."""

    begin: int = 0
    end: int = DAY_MINUTES

    def hold(self, minute: int) -> bool:
        """True for a minute of the day within them."""
        if self.begin < self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end

    def spans_s(self, day: str, zone: str) -> list[tuple[int, int]]:
        """From when to before when one calendar day lies within them, in seconds since the epoch, by its clocks."""
        spans = [(self.begin, self.end)] if self.begin < self.end else [(0, self.end), (self.begin, DAY_MINUTES)]
        return [(_at_ms(day, zone, begin) // 1_000, _at_ms(day, zone, end) // 1_000) for begin, end in spans]


def hours_of(begin: str, end: str) -> DailyHours:
    """The hours between two times. `24:00` as a beginning is midnight."""
    return DailyHours(begin=_minutes(begin) % DAY_MINUTES, end=_minutes(end))


def minute_of(at_ms: int, zone: str) -> int:
    """Minutes after midnight, as clocks in `zone` show them."""
    moment = (EPOCH + timedelta(milliseconds=at_ms)).astimezone(ZoneInfo(zone))
    return moment.hour * 60 + moment.minute


def closed_gate(
    *, is_enabled: bool, is_paused: bool, hours: DailyHours, minute: int, is_busy: bool, has_work: bool
) -> Skip | None:
    """The first gate that is closed; None: all are open."""
    gates = (
        (Skip.DISABLED, not is_enabled),
        (Skip.PAUSED, is_paused),
        (Skip.OUTSIDE_ACTIVE_HOURS, not hours.hold(minute)),
        (Skip.BUSY, is_busy),
        (Skip.NOTHING_TO_DO, not has_work),
    )
    return next((skip for skip, is_closed in gates if is_closed), None)


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)


def _at_ms(day: str, zone: str, minute: int) -> int:
    if minute == DAY_MINUTES:
        return begins_at_ms(date_after(day), zone)
    return begins_at_ms(day, zone, minute * 60)
