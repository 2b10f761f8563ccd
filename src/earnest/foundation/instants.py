"""Instants are integers: milliseconds since 1970-01-01T00:00:00Z."""

from datetime import UTC, datetime, timedelta
from typing import Final, overload

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000


def rfc3339(at_ms: int) -> str:
    """`2026-11-21T08:30:00.123Z` (RFC 3339, UTC, milliseconds)."""
    moment = EPOCH + timedelta(milliseconds=at_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"


@overload
def rfc3339_s(at_ms: int) -> str: ...
@overload
def rfc3339_s(at_ms: None) -> None: ...
def rfc3339_s(at_ms: int | None) -> str | None:
    """`2026-11-21T08:30:00Z`: the same in whole seconds, rounded down. None stays None."""
    if at_ms is None:
        return None
    return (EPOCH + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration_text(duration_ms: int) -> str:
    """`0.3 s`, `12.0 s`, `3 min 20 s`, `2 h 05 min`."""
    seconds = duration_ms / 1000
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = duration_ms // 60_000
    if minutes < 60:
        return f"{minutes} min {duration_ms // 1000 % 60:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
