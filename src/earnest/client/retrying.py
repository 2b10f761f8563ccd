"""Retries, alike for both clients: what is sent again, and after how long."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from earnest.client.problem import problem_of, retry_after_ms
from earnest.foundation.errors import Unavailable

if TYPE_CHECKING:
    from httpx2 import Response

REDIRECTS: Final = 300
UNCHANGED: Final = 304
BUSY: Final = 429
FAILED: Final = 500


class ReplyLost(Exception):
    """No answer came. Whether anything happened is not known: so the same key is sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """At most `attempts` in all. Between them 0.5 s, 1 s, 2 s … by chance half of it or more; or as the platform says.

    Where it says more than `wait_max_ms`, the caller is told instead.
    """

    attempts: int = 5
    first_ms: int = 500
    wait_max_ms: int = 60_000

    def wait_ms(self, got: "Response | ReplyLost", attempt: int, fraction: float) -> int | None:
        """How long to wait after attempt number `attempt`, from 0 on; None: this is the answer."""
        if attempt + 1 >= self.attempts or not _may_do_later(got):
            return None
        longest = min(self.wait_max_ms, self.first_ms << attempt)
        jitter = int(longest * fraction / 2)
        told_ms = _asked_ms(got)
        if told_ms is None:
            return longest // 2 + jitter
        return told_ms + jitter if told_ms <= self.wait_max_ms else None


def answered(got: "Response | ReplyLost") -> "Response":
    """An answer of 200 to 299, or 304. Raises `Problem`, and `Unavailable` where none came at all."""
    if isinstance(got, ReplyLost):
        raise Unavailable(
            f"the platform cannot be reached: {got}; does it serve, and is EARNEST_URL its address?"
        ) from got
    if got.status_code >= REDIRECTS and got.status_code != UNCHANGED:
        raise problem_of(got)
    return got


def _may_do_later(got: "Response | ReplyLost") -> bool:
    """A quota that ends at an hour nobody names, such as attempts a day, is not waited for."""
    if isinstance(got, ReplyLost) or got.status_code >= FAILED:
        return True
    if got.status_code == BUSY:
        return _asked_ms(got) is not None
    return got.status_code == 409 and problem_of(got).retryable


def _asked_ms(got: "Response | ReplyLost") -> int | None:
    return None if isinstance(got, ReplyLost) else retry_after_ms(got)
