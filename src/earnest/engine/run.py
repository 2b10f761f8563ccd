"""One run as the roles see it: its minds, its hands, its limits, its post and its running work."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.gradient.constants import Constants, Tuning, tuned
from earnest.engine.impossibility import Reality
from earnest.engine.messages import FinalResult, Remarked, Role, StopRequested
from earnest.engine.ports import (
    Agreeing,
    BudgetSpent,
    Confirming,
    CriteriaJudge,
    EffectUnknown,
    Executor,
    GivenUp,
    Hands,
    LastWords,
    Models,
    NeedsConfirmation,
    Perceiver,
    Planner,
    Unanswered,
)
from earnest.engine.post import Outbox
from earnest.foundation.errors import Broken, Unavailable
from earnest.foundation.text import head_tail

REMARKS_MAX: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Bounds of one run."""

    parallel_subtasks: int = 4
    calls_per_execution: int = 40
    silence_ms: int = 120_000
    """How long a run may say nothing while no effect is in flight."""


@dataclass(kw_only=True)
class EngineRun:
    """Admitted to the engine until its FinalResult was handled by every role."""

    post: Outbox
    perceiver: Perceiver
    planner: Planner
    executor: Executor
    hands: Hands
    judge: CriteriaJudge
    models: Models
    last_words: LastWords | None = None
    constants: Constants
    tuning: Mapping[str, Tuning] = field(default_factory=dict)
    """By task class."""
    limits: RunLimits = field(default_factory=RunLimits)
    agreeing: Agreeing | None = None
    confirming: Confirming
    reality: Reality
    result: asyncio.Future[FinalResult] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    effects_in_flight: int = 0
    remarks: int = 0
    """How many the user made while it was worked."""
    stopping: bool = False
    """True once somebody asked for the end: nothing new begins."""
    _work: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.post.run_id

    @contextmanager
    def effect(self) -> Iterator[None]:
        """While it lasts an effect is in flight, and to say nothing is no silence."""
        self.effects_in_flight += 1
        try:
            yield
        finally:
            self.effects_in_flight -= 1

    def tune(self, task_class: str) -> None:
        """Take on what was set for this class of tasks."""
        if task_class in self.tuning:
            self.constants = tuned(self.constants, self.tuning[task_class])

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        """Let `work` run beside the roles' inboxes.

        What it raises ends the run with a message, never in silence; or lets it wait, where a disk or a person is at
        fault, for then it may go on.
        """
        if self.stopping or self.result.done():
            work.close()
            return
        task = asyncio.get_running_loop().create_task(self._guard(work))
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        task.add_done_callback(lambda _: work.close())  # cancelled before its first step, it would never be awaited

    def remark(self, text: str) -> bool:
        """Tell R2 what the user says, for its next plan. False for nothing, and beyond `REMARKS_MAX`."""
        if not text.strip() or self.remarks >= REMARKS_MAX or self.stopping:
            return False
        self.remarks += 1
        self.post.send(Role.USER, f"remark/{self.remarks}", Remarked(text=head_tail(text.strip())), None)
        return True

    def repeat_remarks(self) -> None:
        """Tell R2 what was said to an earlier process. Plans that are kept stay as they are."""
        while self.post.repeat(Role.USER, f"remark/{self.remarks + 1}"):
            self.remarks += 1

    def stop(self, sender: Role, cause: AbandonCause, detail: str) -> None:
        """Ask for the end and cancel what runs. Asking again changes nothing: the first reason counts."""
        if self.stopping or self.result.done():
            return
        self.stopping = True
        request = StopRequested(cause=cause, detail=detail)
        self.post.send(sender, f"stop/{self.post.interruptions}", request, None)
        self._cancel()

    def fail(self, error: Exception) -> None:
        """End without a FinalResult: whoever waits for one gets the error. The run may be resumed."""
        if not self.result.done():
            self.result.set_exception(error)

    async def cancel_work(self) -> None:
        """End whatever runs, processes included, and wait until it has ended."""
        self.stopping = True
        self._cancel()
        if self._work:
            await asyncio.wait(self._work)

    def _cancel(self) -> None:
        """Work that asks for the end itself is about to return."""
        own = asyncio.current_task()
        for task in self._work:
            if task is not own:
                task.cancel()

    async def _guard(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except NeedsConfirmation as error:
            self.stop(Role.RUNTIME, AbandonCause.LAW_1, str(error))
        except (EffectUnknown, Broken, Unavailable, OSError, MemoryError) as error:  # says nothing about the task
            self.fail(error)
        except GivenUp as error:
            self.stop(Role.USER, AbandonCause.UNKNOWN_EFFECT, str(error))
        except Unanswered as error:
            self.stop(Role.RUNTIME, AbandonCause.UNANSWERED, str(error))
        except BudgetSpent as error:
            self.stop(Role.RUNTIME, AbandonCause.BUDGET, str(error))
        except Exception as error:
            self.stop(Role.RUNTIME, AbandonCause.FAULT, f"{type(error).__name__}: {error}")
