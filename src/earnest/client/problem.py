"""A platform's refusal as a value."""

import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from earnest.foundation.errors import EarnestError

if TYPE_CHECKING:
    from httpx2 import Response

MS: Final = 1_000
TEXT_CHARACTERS_MAX: Final = 2_000


class Problem(EarnestError):
    """A refusal or a failure (RFC 9457). `code` is from the platform's closed list, `GET /api/v1/meta/errors`.

    `retryable`: the same request may do later, unchanged, `retry_after_ms` later where that was said. `members`: all
    that was said, further members included.
    """

    def __init__(self, status: int, members: Mapping[str, Any], retry_after_ms: int | None = None) -> None:
        self.status = status
        self.retry_after_ms = retry_after_ms
        self.members = dict(members)
        self.code = str(members.get("code") or f"http_{status}")
        self.detail = str(members.get("detail") or members.get("title") or "")[:TEXT_CHARACTERS_MAX]
        self.retryable = members.get("retryable") is True
        self.request_id = str(members.get("request_id") or "")
        self.next_call: Mapping[str, Any] | None = members.get("next_call")
        self.errors: list[Mapping[str, Any]] = members.get("errors") or []
        super().__init__(f"{self.code}: {self.detail}" if self.detail else self.code)


def problem_of(answer: "Response") -> Problem:
    """The problem that an answer is, also where something on the way has written it, or sends us elsewhere."""
    try:
        members = answer.json()
    except (ValueError, RecursionError):
        members = None
    return Problem(answer.status_code, members if isinstance(members, dict) else {}, retry_after_ms(answer))


def retry_after_ms(answer: "Response") -> int | None:
    """Retry-After, in seconds or as a date that the answer's own Date is compared with; None: nothing was said."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return int(text[:9]) * MS
    at, now = _instant(text), _instant(answer.headers.get("date", ""))
    return max(0, int((at - now).total_seconds() * MS)) if at and now else None


def _instant(text: str) -> datetime | None:
    try:
        found = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
