"""Time and chance: the only place that reads a clock or a random source."""

import asyncio
import heapq
import random
import secrets
import time
from typing import Protocol


class Clock(Protocol):
    """What everybody asks for the time."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def ticks_ns(self) -> int:
        """A clock that never goes back, for durations."""

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return after `duration_ms`; 0 or less yields once."""


class Chance(Protocol):
    """What everybody asks for a new id or a random number."""

    def new_id(self, at_ms: int) -> str:
        """26 Crockford characters (a ULID) that sort by `at_ms`."""

    def fraction(self) -> float:
        """A number in [0, 1)."""

    def secret(self) -> bytes:
        """32 bytes that nobody can guess, unless the source is a seeded one."""


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """See `Clock`."""
        return time.time_ns() // 1_000_000

    def ticks_ns(self) -> int:
        """See `Clock`."""
        return time.monotonic_ns()

    async def sleep_ms(self, duration_ms: int) -> None:
        """See `Clock`."""
        await asyncio.sleep(max(0, duration_ms) / 1000)


def rest_ms(duration_ms: int) -> None:
    """Do nothing for so long, in a process without an event loop that gives way to others."""
    time.sleep(max(0, duration_ms) / 1000)


class VirtualClock:
    """A clock that moves only when told to. Sleepers wake in order of their time."""

    def __init__(self, start_ms: int = 1_750_000_000_000) -> None:
        self._now_ms = start_ms
        self._set_by_ms = 0
        self._order = 0
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        """See `Clock`."""
        return self._now_ms + self._set_by_ms

    def ticks_ns(self) -> int:
        """See `Clock`."""
        return self._now_ms * 1_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        """See `Clock`."""
        if duration_ms <= 0:
            await asyncio.sleep(0)
            return
        wake = asyncio.get_running_loop().create_future()
        self._order += 1
        heapq.heappush(self._sleepers, (self._now_ms + duration_ms, self._order, wake))
        await wake

    def set_by_ms(self, difference_ms: int) -> None:
        """Set the time of day forward or back, as a person does; ticks and sleepers go on as before."""
        self._set_by_ms += difference_ms

    def jump_ms(self, duration_ms: int) -> None:
        """Move the time alone, as after a suspended machine; sleepers wake at the next `advance_ms`."""
        self._now_ms += duration_ms

    async def advance_ms(self, duration_ms: int) -> None:
        """Let `duration_ms` pass; whoever's time comes on the way wakes at exactly that time."""
        end_ms = self._now_ms + duration_ms
        while self._sleepers and self._sleepers[0][0] <= end_ms:
            wake_ms, _, wake = heapq.heappop(self._sleepers)
            self._now_ms = max(self._now_ms, wake_ms)
            if not wake.done():
                wake.set_result(None)
            await _settle()
        self._now_ms = end_ms
        await _settle()


async def _settle() -> None:
    """Give every task that can run a few turns."""
    for _ in range(10):
        await asyncio.sleep(0)


class SystemChance:
    """The operating system's random source."""

    def new_id(self, at_ms: int) -> str:
        """See `Chance`."""
        return _ulid(at_ms, secrets.token_bytes(10))

    def fraction(self) -> float:
        """See `Chance`."""
        return secrets.randbits(53) / 2**53

    def secret(self) -> bytes:
        """See `Chance`."""
        return secrets.token_bytes(32)


class SeededChance:
    """The same ids and numbers for the same seed: for simulations and tests, never for secrets."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311

    def new_id(self, at_ms: int) -> str:
        """See `Chance`."""
        return _ulid(at_ms, self._random.randbytes(10))

    def fraction(self) -> float:
        """See `Chance`."""
        return self._random.random()

    def secret(self) -> bytes:
        """See `Chance`."""
        return self._random.randbytes(32)


def first_id(at_ms: int) -> str:
    """The least of all that `Chance.new_id` gives from that instant on."""
    return _ulid(max(0, at_ms), bytes(10))


def _ulid(at_ms: int, chance: bytes) -> str:
    from ulid import ULID  # noqa: PLC0415 - slow to import, and most commands make no id

    return str(ULID.from_bytes(at_ms.to_bytes(6, "big") + chance))
