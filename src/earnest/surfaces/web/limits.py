"""Limits of requests: exact sliding windows, and the headers that say so (market ruling a.10)."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final

from earnest.foundation.errors import Refused

SUBJECTS_MAX: Final = 100_000
MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """At most `count` requests in any `window_s` seconds."""

    name: str
    count: int
    window_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """`register` is an address's; the others are an account's over all its keys, without one an address's."""

    home: Quota = field(default_factory=lambda: Quota(name="home", count=120, window_s=60))
    read: Quota = field(default_factory=lambda: Quota(name="read", count=600, window_s=60))
    write: Quota = field(default_factory=lambda: Quota(name="write", count=60, window_s=60))
    register: Quota = field(default_factory=lambda: Quota(name="register", count=10, window_s=3_600))
    export: Quota = field(default_factory=lambda: Quota(name="export", count=6, window_s=3_600))

    def all(self) -> tuple[Quota, ...]:
        """Every one."""
        return self.home, self.read, self.write, self.register, self.export


@dataclass(frozen=True, slots=True)
class Share:
    """What is left of a quota. After `reset_s` there is more of it again."""

    quota: Quota
    remaining: int
    reset_s: int
    is_allowed: bool

    def headers(self, now_s: int) -> list[tuple[bytes, bytes]]:
        """RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-10), and the older three."""
        quota = self.quota
        return [
            (b"ratelimit-policy", f'"{quota.name}";q={quota.count};w={quota.window_s}'.encode()),
            (b"ratelimit", f'"{quota.name}";r={self.remaining};t={self.reset_s}'.encode()),
            (b"x-ratelimit-limit", b"%d" % quota.count),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % (now_s + self.reset_s)),
        ]

    def refusal(self) -> Refused:
        """Why there is no answer."""
        quota = self.quota
        return Refused(
            "quota_exceeded",
            f"at most {quota.count} requests of the kind {quota.name} in {quota.window_s} s; wait {self.reset_s} s",
            retry_after_s=self.reset_s,
            **{"violated-policies": [quota.name]},
        )


class RateLimits:
    """When each subject's requests were. Only what was allowed is counted.

    Of more than `SUBJECTS_MAX` subjects those that have been silent longest are forgotten.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], deque[int]] = OrderedDict()

    def take(self, quota: Quota, subject: str, now_ms: int) -> Share:
        """Count a request of `subject`, if it is allowed. `now_ms` never goes back."""
        window_ms = quota.window_s * MS
        key = (quota.name, subject)
        if key in self._seen:
            self._seen.move_to_end(key)
        elif len(self._seen) >= SUBJECTS_MAX:
            self._seen.popitem(last=False)
        seen = self._seen.setdefault(key, deque())
        while seen and now_ms - seen[0] >= window_ms:
            seen.popleft()
        is_allowed = len(seen) < quota.count
        if is_allowed:
            seen.append(now_ms)
        reset_ms = seen[0] + window_ms - now_ms if seen else window_ms
        return Share(quota, max(0, quota.count - len(seen)), -(-reset_ms // MS), is_allowed)
