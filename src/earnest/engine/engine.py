"""The engine puts the roles on a bus, admits runs, watches over them and gives back their results."""

import asyncio
from typing import Any, Final

from earnest.effects.ground.bus.api import Bus, Subscription
from earnest.effects.ground.clock import Clock
from earnest.engine.dispatcher import Dispatcher
from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.messages import FinalResult, Role, TaskRequested
from earnest.engine.participant import Participant
from earnest.engine.ports import Recall
from earnest.engine.roles.agent_validator import AgentValidatorRole
from earnest.engine.roles.executor import ExecutorRole
from earnest.engine.roles.meta_validator import MetaValidatorRole
from earnest.engine.roles.perceiver import PerceiverRole
from earnest.engine.roles.planner import PlannerRole
from earnest.engine.roles.shared_memory import SharedMemoryRole
from earnest.engine.roles.solver import SolverRole
from earnest.engine.run import EngineRun
from earnest.foundation.errors import Broken, Refused, Unavailable

RUNS_MAX: Final = 32
"""Runs in flight; one more is refused."""

MESSAGES_PER_RUN_MAX: Final = 8_192
"""How many unserved messages of one run a role's inbox is sized for."""

LOOK_MS: Final = 250
ENDING_MS: Final = 5_000
"""How long R7 has for the FinalResult of a run that is to stop."""


class Engine:
    """Everything a task passes through, for any number of runs at once. Use as an async context."""

    def __init__(self, *, bus: Bus, clock: Clock, recall: Recall) -> None:
        self._clock = clock
        self._runs: dict[str, EngineRun] = {}
        roles: tuple[Participant[Any], ...] = (
            PerceiverRole(self._runs),
            PlannerRole(self._runs),
            SharedMemoryRole(self._runs, recall),
            Dispatcher(self._runs),
            ExecutorRole(self._runs),
            AgentValidatorRole(self._runs),
            MetaValidatorRole(self._runs),
            SolverRole(self._runs),
        )
        capacity = RUNS_MAX * MESSAGES_PER_RUN_MAX
        self._inboxes: list[tuple[Participant[Any], Subscription]] = [
            (role, bus.subscribe(role.role, role.hears, capacity=capacity, inbox=True)) for role in roles
        ]
        self._results = bus.subscribe("results", (FinalResult,), capacity=capacity, inbox=True)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Engine":
        """Start the roles: every inbox exists before the first message can be sent."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(role.attend(inbox)) for role, inbox in self._inboxes]
        self._tasks.append(loop.create_task(self._collect()))
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Stop every run and every role. Whoever still waits for a result gets `Unavailable`."""
        for run in tuple(self._runs.values()):
            run.fail(Unavailable(f"the engine was closed before {run.id} had ended; it can be resumed"))
            await run.cancel_work()
        for _, inbox in self._inboxes:
            inbox.close()
        self._results.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def work(self, run: EngineRun, request: TaskRequested, *, already_elapsed_ms: int = 0) -> FinalResult:
        """Work one task to its end; no role knows of the run afterwards.

        Raises `Refused("too_many_runs")` when no place is free, `Unavailable` if the engine is closed meanwhile, and
        `Broken` if R7 gives no result.
        """
        if len(self._runs) >= RUNS_MAX:
            raise Refused("too_many_runs", f"{RUNS_MAX} runs are in flight already")
        self._runs[run.id] = run
        dog = asyncio.get_running_loop().create_task(watch(run, self._clock, already_elapsed_ms))
        try:
            run.post.announce_resumption()
            run.post.send(Role.USER, "request", request, None)
            run.repeat_remarks()
            return await asyncio.shield(run.result)
        finally:
            dog.cancel()
            del self._runs[run.id]
            for role, _ in self._inboxes:
                role.forget(run.id)
            await run.cancel_work()

    def stop(self, run_id: str, cause: AbandonCause, detail: str) -> None:
        """End a run in the user's name; unknown and ended runs are left alone."""
        if run_id in self._runs:
            self._runs[run_id].stop(Role.USER, cause, detail)

    def remark(self, run_id: str, text: str) -> bool:
        """Tell the run what the user says while it is worked. False if nobody heeds it any more."""
        return run_id in self._runs and self._runs[run_id].remark(text)

    async def _collect(self) -> None:
        """Hand results to whoever waits."""
        async for envelope in self._results:
            run = self._runs.get(envelope.run_id)
            if run is not None and isinstance(envelope.payload, FinalResult) and not run.result.done():
                run.result.set_result(envelope.payload)


async def watch(run: EngineRun, clock: Clock, already_elapsed_ms: int) -> None:
    """Watch over the run: stop it over its time budget, or when nothing moves any more.

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
