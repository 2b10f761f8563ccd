"""When an agent offers a capability, and for how much work at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Refused
from earnest.foundation.zones import is_time, is_zone

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
HOURS_MAX: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeklyHours:
    """From one time to a later one (`HH:MM`, at most `24:00`), on each of these days, as clocks in `tz` show it."""

    days: tuple[str, ...]
    begin: str
    end: str
    tz: str

    def to_json(self) -> JsonObject:
        """As it is sent."""
        return {"days": list(self.days), "from": self.begin, "to": self.end, "tz": self.tz}


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """No `hours` means always."""

    max_concurrent: int
    paused: bool = False
    hours: tuple[WeeklyHours, ...] = ()

    def text(self) -> str:
        """The canonical JSON text."""
        hours = [each.to_json() for each in self.hours]
        value: JsonObject = {"max_concurrent": self.max_concurrent, "paused": self.paused, "hours": hours}
        return canonical_text(value)


def read_availability(given: Mapping[str, object], max_concurrent_max: int) -> Availability:
    """What somebody sent: {max_concurrent, paused, hours}.

    Raises `Refused("validation")`, with the place of the first fault in `errors`.
    """
    most, paused, hours = given.get("max_concurrent"), given.get("paused", False), given.get("hours", [])
    if strange := set(given) - {"max_concurrent", "paused", "hours"}:
        raise _fault("", f"{sorted(strange)[0][:80]!r} is unknown")
    if type(most) is not int or not 0 <= most <= max_concurrent_max:
        raise _fault("/max_concurrent", f"must be a whole number from 0 to {max_concurrent_max}")
    if not isinstance(paused, bool):
        raise _fault("/paused", "must be true or false")
    if not isinstance(hours, list) or len(hours) > HOURS_MAX:
        raise _fault("/hours", f"must be a list of at most {HOURS_MAX} times")
    return Availability(
        max_concurrent=most,
        paused=paused,
        hours=tuple(_hours(each, f"/hours/{index}") for index, each in enumerate(hours)),
    )


def _hours(given: object, place: str) -> WeeklyHours:
    match given:
        case {"days": list(days), "from": str(begin), "to": str(end), "tz": str(tz)} if (
            isinstance(given, dict) and len(given) == 4
        ):
            pass
        case _:
            raise _fault(place, "must be {days, from, to, tz}")
    if not days or not all(day in DAYS for day in days) or len(set(days)) != len(days):
        raise _fault(f"{place}/days", f"must be some of {', '.join(DAYS)}, none twice")
    for name, time in (("from", begin), ("to", end)):
        if not is_time(time):
            raise _fault(f"{place}/{name}", "must be HH:MM, from 00:00 to 24:00")
    if not begin < end:
        raise _fault(
            f"{place}/to", "must be later than from; what passes midnight is two times, up to 24:00 and from 00:00"
        )
    if not is_zone(tz):
        raise _fault(f"{place}/tz", "must be a zone of the IANA time zone database, as Europe/Berlin")
    return WeeklyHours(days=tuple(sorted(days, key=DAYS.index)), begin=begin, end=end, tz=tz)


def _fault(place: str, message: str) -> Refused:
    pointer = f"/availability{place}"
    return Refused(
        "validation",
        f"{pointer[1:]}: {message}",
        errors=[{"pointer": pointer, "code": "validation", "detail": message}],
    )
