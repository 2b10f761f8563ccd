"""Limits of requests: exact sliding windows, and the headers that say so (market ruling a.10)."""

from bisect import insort
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final

from earnest.effects.ground.clock import Clock
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

    Of more than `SUBJECTS_MAX` subjects those that have been silent longest are forgotten. `untold`: where servers
    share their limits, what the others have not heard yet.
    """

    def __init__(self, clock: Clock) -> None:
        self.shares = False
        self.untold: Counter[tuple[Quota, str]] = Counter()
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str], deque[int]] = OrderedDict()

    def take(self, quota: Quota, subject: str) -> Share:
        """Count a request of `subject`, if it is allowed."""
        now_ms = self._clock.ticks_ns() // 1_000_000
        window_ms = quota.window_s * MS
        seen = self._log(quota.name, subject)
        while seen and now_ms - seen[0] >= window_ms:
            seen.popleft()
        is_allowed = len(seen) < quota.count
        if is_allowed:
            seen.append(now_ms)
            if self.shares and len(self.untold) < SUBJECTS_MAX:
                self.untold[quota, subject] += 1
        reset_ms = seen[0] + window_ms - now_ms if seen else window_ms
        return Share(quota, max(0, quota.count - len(seen)), -(-reset_ms // MS), is_allowed)

    def give_back(self, quota: Quota, subject: str) -> None:
        """Do not count the last that was taken."""
        self._log(quota.name, subject).pop()
        self.untold[quota, subject] -= self.shares

    def hear(self, name: str, subject: str, count: int, age_ms: int) -> None:
        """Count what another server let in so long ago."""
        seen = self._log(name, subject)
        for _ in range(count):
            insort(seen, self._clock.ticks_ns() // 1_000_000 - age_ms)

    def _log(self, name: str, subject: str) -> deque[int]:
        key = (name, subject)
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= SUBJECTS_MAX:
                self._seen.popitem(last=False)
            seen = self._seen[key] = deque()
        else:
            self._seen.move_to_end(key)
        return seen
