"""When the runner looks again: states and the present instant in, an instant out."""

from dataclasses import dataclass, replace
from typing import Final

from earnest.accountability.gate import DailyHours, minute_of
from earnest.client.heartbeat import BREAK_MS, ERRORS_MAX, LONGEST_MS, SPACING_MS, HeartbeatState
from earnest.foundation.instants import MINUTE_MS

INTERVAL_MS: Final = 30 * MINUTE_MS
"""The seed's pace, until a contract has another."""
IDLE_LONGEST_MS: Final = 60 * MINUTE_MS
"""Nobody is idle for longer: what is due by a task's own `every` is found by looking."""
SEARCHED_MS: Final = 50 * 60 * MINUTE_MS
"""Two days, one of them 25 hours long, and an hour more: any active hours begin within them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatPace:
    """What the platform wants: how often, when next (0: it did not say), and whether a penalty applies."""

    interval_ms: int = INTERVAL_MS
    next_wake_ms: int = 0
    is_penalised: bool = False


def next_look_ms(state: HeartbeatState, pace: HeartbeatPace) -> int:
    """The instant of the next look after one that was answered, at a minute's distance at least.

    At the platform's next wake, or an interval after the last look where that is sooner. After ten looks at which
    nothing was due the wait doubles with each, up to an hour or the interval, and never under a penalty.
    """
    last_ms = state.last_heartbeat_at_ms
    if pace.is_penalised:
        state = replace(state, consecutive_no_action_count=0)
    latest_ms = last_ms + max(pace.interval_ms, IDLE_LONGEST_MS)
    if last_ms < pace.next_wake_ms < latest_ms:
        latest_ms = pace.next_wake_ms
    return state.next_ms(pace.interval_ms, latest_ms)


def failure_wait_ms(failures: int, longest_ms: int, asked_ms: int | None = None) -> int:
    """How long to wait after so many failures in a row: 1, 2, 4, 8 minutes; from the fifth on 1, 2, 4 … hours.

    At most `longest_ms`; at least what the platform has asked for (Retry-After), of which a day is believed.
    """
    if failures < ERRORS_MAX:
        wait_ms = SPACING_MS << max(0, failures - 1)
    else:
        wait_ms = BREAK_MS << min(failures - ERRORS_MAX, 16)
    return max(min(wait_ms, longest_ms), min(asked_ms or 0, LONGEST_MS))


def first_look_ms(state: HeartbeatState, failures: int, now_ms: int) -> int:
    """When a runner that starts may begin: a minute after the last look, or when its breaker lets it try.

    A last look that lies ahead, because the clock was put back, does not count.
    """
    if not 0 < state.last_heartbeat_at_ms <= now_ms:
        return now_ms
    wait_ms = SPACING_MS
    if failures >= ERRORS_MAX:
        wait_ms = failure_wait_ms(failures, LONGEST_MS)
    elif state.is_broken:
        wait_ms = BREAK_MS
    return max(now_ms, state.last_heartbeat_at_ms + wait_ms)


def opens_ms(now_ms: int, hours: DailyHours, zone: str) -> int:
    """The first instant from now on that lies within the active hours, by the clocks of `zone`.

    Minute by minute, so that a night in which clocks change has as many as it has.
    """
    if hours.hold(minute_of(now_ms, zone)):
        return now_ms
    next_ms = now_ms - now_ms % MINUTE_MS + MINUTE_MS
    later = range(next_ms, now_ms + SEARCHED_MS, MINUTE_MS)
    return next((at_ms for at_ms in later if hours.hold(minute_of(at_ms, zone))), now_ms + SEARCHED_MS)
