"""Instants are integers: milliseconds since 1970-01-01T00:00:00Z."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MS = 86_400_000


def rfc3339(at_ms: int) -> str:
    """`2026-11-21T08:30:00.123Z` (RFC 3339, UTC, milliseconds)."""
    moment = EPOCH + timedelta(milliseconds=at_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"
