"""The wait before a model is asked again."""

from email.utils import parsedate_to_datetime
from typing import Final

RETRIED_STATUSES: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
FIRST_WAIT_MS: Final = 500
WAIT_MS_MAX: Final = 8_000
RETRY_AFTER_MS_MAX: Final = 86_400_000


def retry_after_ms(header: str | None, now_ms: int) -> int | None:
    """What `Retry-After` (RFC 9110 §10.2.3: seconds or a date) asks for; None if it says nothing usable."""
    if header is None:
        return None
    text = header.strip()
    try:
        wait_ms = int(float(text) * 1000)
    except (ValueError, OverflowError):
        try:
            wait_ms = int(parsedate_to_datetime(text).timestamp() * 1000) - now_ms
        except (ValueError, OverflowError):
            return None
    return min(max(0, wait_ms), RETRY_AFTER_MS_MAX)


def wait_ms(attempt: int, asked_ms: int | None, fraction: float) -> int:
    """The wait after failed attempt `attempt` (from 1): never less than asked for, doubling otherwise.

    `fraction`, in [0, 1), spreads those who failed together.
    """
    doubled_ms = min(FIRST_WAIT_MS * 2 ** (attempt - 1), WAIT_MS_MAX)
    if asked_ms is None:
        return int(doubled_ms * (0.5 + fraction / 2))
    return asked_ms + int(FIRST_WAIT_MS * fraction)
