"""The watchdog turns silence and a spent budget into an honest end."""

from earnest.effects.clock import Clock
from earnest.engine.gradient.cascade import Cause
from earnest.engine.messages import Role
from earnest.engine.run import Run

LOOK_MS = 250


async def watch(run: Run, clock: Clock, already_elapsed_ms: int) -> None:
    """Look at the run every quarter of a second; stop it over its time budget or when nothing moves any more."""
    started_ms = clock.now_ms() - already_elapsed_ms
    budget_ms = run.constants.time_budget_ms
    while not run.result.done():
        now_ms = clock.now_ms()
        if now_ms - started_ms >= budget_ms:
            run.stop(Role.WATCHDOG, Cause.TIME, f"the time budget of {budget_ms / 1000:g} s is spent")
            return
        if not run.effects_in_flight and now_ms - run.post.last_ms >= run.limits.silence_ms:
            run.stop(Role.WATCHDOG, Cause.SILENCE, f"no message for {run.limits.silence_ms / 1000:g} s")
            return
        await clock.sleep_ms(min(LOOK_MS, budget_ms - (now_ms - started_ms)))
