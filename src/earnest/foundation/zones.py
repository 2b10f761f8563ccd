"""Names of time zones, and times of day, that mean the same on every machine."""

import re
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]|24:00", re.ASCII)
_ZONE: Final = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}", re.ASCII)
_OWN: Final = frozenset({"Factory", "localtime", "posixrules"})
"""Names that each machine gives a meaning of its own."""
_OTHER_SECONDS: Final = ("posix/", "right/")
"""Second sets of all zones, the latter with leap seconds."""


def is_zone(name: str) -> bool:
    """True for a zone of the IANA time zone database."""
    if not _ZONE.fullmatch(name) or name in _OWN or name.startswith(_OTHER_SECONDS):
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def is_time(text: str) -> bool:
    """True for `HH:MM`, from 00:00 to 24:00."""
    return _TIME.fullmatch(text) is not None
