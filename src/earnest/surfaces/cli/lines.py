"""What a message of a run looks like to people: lines of text, each with a style."""

from collections.abc import Callable, Iterator
from typing import Any, Final

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
    SubTaskOutcome,
    TaskSpec,
    ToolCalled,
)
from earnest.foundation.instants import duration_text
from earnest.foundation.text import printable
from earnest.verification.verdict import Answer

Lines = Iterator[tuple[str, str]]

MARKS: Final = {Answer.VERIFIED: ("✓", "green"), Answer.NOT_VERIFIED: ("✗", "red"), Answer.UNCLEAR: ("?", "yellow")}


def lines_of(payload: object) -> Lines:
    """Lines and their style; text from outside is made harmless. Messages that say nothing to people give none."""
    told = _LINES.get(type(payload))
    if told is not None:
        for text, style in told(payload):
            yield printable(text), style


def ending_lines(result: FinalResult) -> list[str]:
    """How a run ended, what is not met, and what could be done."""
    found = [f"{result.directive.upper()}  {printable(result.summary)}"]
    found += [f"  unmet  {c.scope}: {printable(c.text)} ({printable(c.reason)})" for c in result.unmet]
    found += [f"  next   {move}" for move in result.next_moves]
    return found


def _spec(spec: TaskSpec) -> Lines:
    yield f"{spec.intent}  [{spec.task_class}]", "bold"


def _plan(plan: PlanReady) -> Lines:
    kept = f", {len(plan.carried)} kept" if plan.carried else ""
    count = len(plan.subtasks)
    yield f"round {plan.round}: {count} subtask{'s' * (count != 1)}{kept}", "bold"
    for note in plan.notes:
        yield note, "cyan"
    for subtask in plan.subtasks:
        if subtask.id not in plan.carried:
            approach = f" by {subtask.approach.id}" if subtask.approach else ""
            yield f"{subtask.sequence}. {subtask.id}{approach}: {subtask.intent}", ""


def _planning_failed(failed: PlanningFailed) -> Lines:
    yield f"no plan: {'; '.join(failed.reasons)}", "red"


def _tool_called(called: ToolCalled) -> Lines:
    record = called.record
    ending = f"failed: {record.failure.message}" if record.failure else "ok"
    told = f"{called.subtask_id}  {record.tool} {record.target}  {ending}  {record.duration_ms} ms"
    yield told, "red" if record.failure else "dim"


def _execution(result: ExecutionResult) -> Lines:
    if result.status is Status.FAILED:
        yield f"{result.subtask_id}  attempt {result.attempt} failed: {result.reason}", "red"


def _correction(signal: CorrectionSignal) -> Lines:
    yield f"{signal.subtask_id}  attempt {signal.attempt} sent back: {'; '.join(signal.what_was_wrong)}", "yellow"


def _outcome(outcome: SubTaskOutcome) -> Lines:
    attempts = len(outcome.trajectory)
    told = f"{outcome.subtask_id}  {outcome.status} after {attempts} attempt{'s' * (attempts != 1)}"
    yield told, "green" if outcome.status is Outcome.MATCHED else "red"
    for verdict in outcome.verdicts:
        mark, style = MARKS[verdict.answer]
        yield f"  {mark} {verdict.id}  {verdict.reason}", style


def _objection(request: ReplanRequest) -> Lines:
    yield f"objects: {request.gap_summary}", "red"


def _acceptance(_: OutcomeSummary) -> Lines:
    yield "accepts: every criterion is met", "green"


def _directive(directive: PlanDirective) -> Lines:
    loss = directive.loss
    numbers = f"L {loss.total:.2f}  D {loss.distance:.2f}  P {loss.implausibility:.2f}  Ω {loss.resource:.2f}"
    steer = f"∇ {directive.gradient:+.2f}  → {directive.directive} ({directive.urgency} urgency)"
    yield f"round {directive.round}: {numbers}  {steer}", "magenta"
    yield directive.rationale, "dim"
    blocked = [*directive.blocked_tools, *(f"{t.tool} on {t.target}" for t in directive.blocked_targets)]
    blocked += [f"approach {a.subtask}/{a.approach}" for a in directive.blocked_approaches]
    if blocked:
        yield f"blocked: {', '.join(blocked)}", "dim"


def _resumed(resumed: RunResumed) -> Lines:
    yield f"resumed after {duration_text(resumed.downtime_ms)}", "cyan"


def _stop(stop: StopRequested) -> Lines:
    yield f"stop: {stop.cause} ({stop.detail})", "yellow"


def _final(result: FinalResult) -> Lines:
    if result.loss is not None:
        loss = result.loss
        numbers = f"L {loss.total:.2f}  D {loss.distance:.2f}  P {loss.implausibility:.2f}  Ω {loss.resource:.2f}"
        yield f"{numbers}  ∇ {result.gradient:+.2f}  → {result.directive}", "bold"


_LINES: Final[dict[type, Callable[[Any], Lines]]] = {
    TaskSpec: _spec,
    PlanReady: _plan,
    PlanningFailed: _planning_failed,
    ToolCalled: _tool_called,
    ExecutionResult: _execution,
    CorrectionSignal: _correction,
    SubTaskOutcome: _outcome,
    ReplanRequest: _objection,
    OutcomeSummary: _acceptance,
    PlanDirective: _directive,
    RunResumed: _resumed,
    StopRequested: _stop,
    FinalResult: _final,
}
