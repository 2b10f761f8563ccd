"""The watchdog turns silence and a spent budget into an honest end."""

from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.messages import Role
from earnest.engine.run import EngineRun
from earnest.foundation.errors import Broken

LOOK_MS: Final = 250
ENDING_MS: Final = 5_000
"""How long R7 has for the FinalResult of a run that is to stop."""


async def watch(run: EngineRun, clock: Clock, already_elapsed_ms: int) -> None:
    """Look at the run every quarter of a second; stop it over its time budget or when nothing moves any more.

    A run that does not end although it was stopped, by whomever, fails: nobody waits for ever. Ticks are counted,
    so that a clock that is set meanwhile neither stretches a deadline nor brings it on.
    """
    started_ns = clock.ticks_ns()
    while not run.stopping:
        now_ns, budget_ms = clock.ticks_ns(), run.constants.time_budget_ms
        elapsed_ms = already_elapsed_ms + (now_ns - started_ns) // 1_000_000
        if elapsed_ms >= budget_ms:
            run.stop(Role.WATCHDOG, AbandonCause.TIME, f"the time budget of {budget_ms / 1000:g} s is spent")
        elif not run.effects_in_flight and now_ns - run.post.last_ns >= run.limits.silence_ms * 1_000_000:
            run.stop(Role.WATCHDOG, AbandonCause.SILENCE, f"no message for {run.limits.silence_ms / 1000:g} s")
        else:
            await clock.sleep_ms(min(LOOK_MS, budget_ms - elapsed_ms))
    await clock.sleep_ms(ENDING_MS)
    run.fail(Broken(f"the run was stopped and R7 gave no result within {ENDING_MS // 1000} s"))
