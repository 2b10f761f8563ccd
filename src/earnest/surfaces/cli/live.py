"""The live view: one line for whatever happens in a run, and a status line that moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from rich.console import Console
from rich.text import Text

from earnest.effects.bus.api import Bus, Envelope, Subscription
from earnest.effects.clock import Clock
from earnest.engine.messages import (
    CorrectionSignal,
    ExecutionResult,
    FinalResult,
    Outcome,
    OutcomeSummary,
    PlanDirective,
    PlanningFailed,
    PlanReady,
    ReplanRequest,
    RunResumed,
    Status,
    StopRequested,
    SubTask,
    SubTaskOutcome,
    TaskSpec,
    ToolCalled,
)
from earnest.foundation.instants import duration_text
from earnest.foundation.text import printable
from earnest.verification.verdict import Answer

QUEUE_MAX = 10_000
REFRESH_MS = 100
MARKS = {Answer.VERIFIED: ("✓", "green"), Answer.NOT_VERIFIED: ("✗", "red"), Answer.UNCLEAR: ("?", "yellow")}


@contextlib.asynccontextmanager
async def watching(bus: Bus, clock: Clock, run_id: str) -> AsyncIterator[None]:
    """Print what happens in the run until the block ends."""
    console = Console(highlight=False)
    subscription = bus.subscribe("live view", None, capacity=QUEUE_MAX)
    view = _View(console, clock, run_id)
    task = asyncio.get_running_loop().create_task(view.follow(subscription))
    try:
        yield
    finally:
        subscription.close()
        await task


class _View:
    def __init__(self, console: Console, clock: Clock, run_id: str) -> None:
        self._console = console
        self._clock = clock
        self._run_id = run_id
        self._started_ms = clock.now_ms()
        self._busy: dict[str, str] = {}

    async def follow(self, subscription: Subscription) -> None:
        with self._console.status("starting") as status:
            ticker = asyncio.get_running_loop().create_task(self._tick(status.update))
            async for envelope in subscription:
                if envelope.run_id == self._run_id:
                    self._show(envelope)
            ticker.cancel()

    async def _tick(self, update) -> None:  # type: ignore[no-untyped-def]
        while True:
            spent = duration_text(self._clock.now_ms() - self._started_ms)
            update(Text(f"{spent}  {', '.join(self._busy.values()) or 'thinking'}"))
            await self._clock.sleep_ms(REFRESH_MS)

    def _show(self, envelope: Envelope) -> None:
        self._track(envelope.payload)
        for text, style in lines_of(envelope.payload):
            replayed = "↺ " if envelope.replayed else ""
            line = Text(f"{duration_text(envelope.at_ms - self._started_ms):>8}  {envelope.sender:<10}  ")
            line.append(replayed + printable(text), style=style)
            self._console.print(line, soft_wrap=True)

    def _track(self, payload: object) -> None:
        match payload:
            case SubTask(subtask=subtask):
                self._busy[subtask.id] = f"{subtask.id}: working"
            case ExecutionResult(subtask_id=subtask_id):
                self._busy[subtask_id] = f"{subtask_id}: being judged"
            case SubTaskOutcome(subtask_id=subtask_id):
                self._busy.pop(subtask_id, None)


def lines_of(payload: object) -> Iterator[tuple[str, str]]:
    """What a message looks like: lines and their style. Messages that say nothing to people give none."""
    match payload:
        case TaskSpec(intent=intent, task_class=task_class):
            yield f"{intent}  [{task_class}]", "bold"
        case PlanReady() as plan:
            yield from _plan_lines(plan)
        case PlanningFailed(reasons=reasons):
            yield f"no plan: {'; '.join(reasons)}", "red"
        case ToolCalled(record=record, subtask_id=subtask_id):
            ending = "ok" if record.ok else f"failed: {record.failure.message if record.failure else '?'}"
            yield (
                f"{subtask_id}  {record.tool} {record.target}  {ending}  {record.duration_ms} ms",
                "dim" if record.ok else "red",
            )
        case ExecutionResult(status=Status.FAILED) as result:
            yield f"{result.subtask_id}  attempt {result.attempt} failed: {result.reason}", "red"
        case CorrectionSignal() as correction:
            yield (
                f"{correction.subtask_id}  attempt {correction.attempt} sent back: {'; '.join(correction.what_was_wrong)}",
                "yellow",
            )
        case SubTaskOutcome() as outcome:
            yield from _outcome_lines(outcome)
        case ReplanRequest(gap_summary=gap):
            yield f"objects: {gap}", "red"
        case OutcomeSummary():
            yield "accepts: every criterion is met", "green"
        case PlanDirective() as directive:
            yield from _directive_lines(directive)
        case RunResumed(downtime_ms=downtime_ms):
            yield f"resumed after {duration_text(downtime_ms)}", "cyan"
        case StopRequested(cause=cause, detail=detail):
            yield f"stop: {cause} ({detail})", "yellow"
        case FinalResult() as result:
            loss = result.loss
            if loss:
                yield (
                    f"L {loss.total:.2f}  D {loss.distance:.2f}  P {loss.implausibility:.2f}  Ω {loss.resource:.2f}",
                    "bold",
                )
        case _:
            pass


def _plan_lines(plan: PlanReady) -> Iterator[tuple[str, str]]:
    yield f"round {plan.round}: {len(plan.subtasks)} subtasks, {len(plan.carried)} kept", "bold"
    for note in plan.notes:
        yield note, "cyan"
    for subtask in plan.subtasks:
        if subtask.id not in plan.carried:
            approach = f" by {subtask.approach.id}" if subtask.approach else ""
            yield f"{subtask.sequence}. {subtask.id}{approach}: {subtask.intent}", ""


def _outcome_lines(outcome: SubTaskOutcome) -> Iterator[tuple[str, str]]:
    matched = outcome.status is Outcome.MATCHED
    attempts = len(outcome.trajectory)
    yield (
        f"{outcome.subtask_id}  {outcome.status} after {attempts} attempt{'s' * (attempts != 1)}",
        "green" if matched else "red",
    )
    for verdict in outcome.verdicts:
        mark, style = MARKS[verdict.answer]
        yield f"  {mark} {verdict.id}  {verdict.reason}", style


def _directive_lines(directive: PlanDirective) -> Iterator[tuple[str, str]]:
    loss = directive.loss
    yield (
        f"round {directive.round}: L {loss.total:.2f}  D {loss.distance:.2f}  P {loss.implausibility:.2f}  "
        f"Ω {loss.resource:.2f}  ∇ {directive.gradient:+.2f}  → {directive.directive} ({directive.urgency} urgency)",
        "magenta",
    )
    yield directive.rationale, "dim"
    blocked = [*directive.blocked_tools, *(f"{t.tool} on {t.target}" for t in directive.blocked_targets)]
    blocked += [f"approach {a.subtask}/{a.approach}" for a in directive.blocked_approaches]
    if blocked:
        yield f"blocked: {', '.join(blocked)}", "dim"
