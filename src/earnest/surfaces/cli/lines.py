"""What a message of a run looks like to people: lines of text, each with a style."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from earnest.contracts.criterion import Criterion
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.gradient.loss import Loss
from earnest.engine.messages import (
    ConfirmationAnswered,
    CorrectionSignal,
    ExecutionResult,
    FinalResult,
    OutcomeSummary,
    PlanDirective,
    PlannedSubTask,
    PlanningFailed,
    PlanReady,
    Remarked,
    ReplanRequest,
    Role,
    RunResumed,
    StopRequested,
    SubTaskEnding,
    SubTaskOutcome,
    SubTaskStatus,
    TaskSpec,
    ToolCalled,
    Usage,
)
from earnest.engine.model_messages import ModelAnswered
from earnest.foundation.canonical import canonical_text
from earnest.foundation.instants import duration_text
from earnest.surfaces.cli.printing import short
from earnest.verification.verdict import Answer, CriterionVerdict

Lines = Iterator[tuple[str, str]]

MARKS: Final = {Answer.VERIFIED: ("✓", "green"), Answer.NOT_VERIFIED: ("✗", "red"), Answer.UNCLEAR: ("?", "yellow")}
ENDINGS: Final = {
    MacroState.ACCEPT: "ACCEPTED",
    MacroState.SUCCESS: "DELIVERED, with unmet criteria",
    MacroState.ABANDON: "ABANDONED",
}
NAMES: Final[dict[str, str]] = {
    Role.R1: "R1 perceiver",
    Role.R2: "R2 planner",
    Role.R3: "R3 executor",
    Role.R4A: "R4a validator",
    Role.R4B: "R4b validator",
    Role.R7: "R7 solver",
}
LINE_CHARACTERS_MAX: Final = 300
CHECK_CHARACTERS_MAX: Final = 120
_ACTION: Final = re.compile(r"\(this action alone: (sha256:[0-9a-f]{64})\)")
"""How a run names the action that it had no leave for; the last is the one, for commands may imitate it."""


def ending_lines(result: FinalResult) -> list[str]:
    """How a run ended, what is not met, and what could be done."""
    found = [f"{ENDINGS[result.directive]}  {_cut(result.summary)}"]
    found += [f"  unmet  {c.scope}: {_cut(c.text)} ({_cut(c.reason)})" for c in result.unmet]
    found += [f"  next   {move}" for move in result.next_moves]
    if result.cause is AbandonCause.LAW_1:
        found += [
            f"  next   to allow exactly this, once: --yes {action}" for action in _ACTION.findall(result.summary)[-1:]
        ]
        found.append("  next   to allow such things for a whole run: --allow-write PATH or --allow-network")
    return found


def plan_lines(plan: PlanReady) -> Lines:
    """A plan with what each part must reach, and who decides whether it does."""
    for subtask in plan.subtasks:
        yield _subtask_line(subtask)
        if subtask.context:
            yield f"   {_cut(subtask.context)}", "dim"
        yield from map(_criterion_line, subtask.criteria)
    yield from _whole_lines(plan, map(_criterion_line, plan.task_criteria))


def _subtask_line(subtask: PlannedSubTask) -> tuple[str, str]:
    approach = f" by {subtask.approach.id}" if subtask.approach else ""
    return f"{subtask.sequence}. {subtask.id}{approach}: {_cut(subtask.intent)}", ""


def _whole_lines(plan: PlanReady, lines: Iterable[tuple[str, str]]) -> Lines:
    """Under a heading, those that no part of the plan says as well."""
    of_parts = {_criterion_line(criterion) for subtask in plan.subtasks for criterion in subtask.criteria}
    if alone := [line for line in lines if line not in of_parts]:
        yield "the whole:", ""
        yield from alone


def _criterion_line(criterion: Criterion) -> tuple[str, str]:
    return f"   - {_cut(criterion.text)}  [{_decides(criterion)}]", ""


def _decides(criterion: Criterion) -> str:
    """The kind of the check and what it is told, in short; without one it is a model."""
    check = criterion.check
    if check is None:
        return "a model, by the records"
    match tuple(check.config.values()):
        case ():
            config = ""
        case (str(alone),):
            config = alone
        case _:
            config = canonical_text(check.config)
    return short(f"{check.kind} {config}".strip(), CHECK_CHARACTERS_MAX)


def usage_text(usage: Usage) -> str:
    """What the models of a run took, and of how much of it the price is known."""
    if not usage.model_calls:
        return "no model"
    known = usage.model_calls - usage.unpriced_calls
    cost = f"cost {_money(usage.cost_micro)}" if known else "cost not known"
    if 0 < known < usage.model_calls:
        cost += f" for {known} of the calls"
    return (
        f"{_number(usage.passes, 'pass', 'passes')}, {_number(usage.model_calls, 'model call', 'model calls')}, "
        f"{usage.prompt_tokens} + {usage.completion_tokens} tokens, {cost}"
    )


def _money(micro: int) -> str:
    """In whole units of the currency: `0.0012`."""
    return f"{micro // 1_000_000}.{micro % 1_000_000:06d}".rstrip("0").rstrip(".")


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


OUTPUT_LINES: Final = 3
"""So much of the end of what a failed call put out is shown."""


class Teller:
    """Tells one run. It remembers what is promised: that is told once, and a verdict in the criterion's words."""

    def __init__(self, target_characters: int = LINE_CHARACTERS_MAX) -> None:
        self._target_characters = target_characters
        self._promised: dict[tuple[str, str], Criterion] = {}
        self._failed_calls: set[str] = set()

    def lines_of(self, payload: object) -> Lines:
        """Lines and their style. Messages that say nothing to people give none."""
        told = self._TOLD.get(type(payload))
        return iter(()) if told is None else told(self, payload)

    def promised(self, plan: PlanReady) -> Lines:
        """All of a plan, as `plan_lines`; what it promises is not told again when its round begins."""
        for subtask in plan.subtasks:
            self._news(subtask.id, subtask.criteria)
        self._news("", plan.task_criteria)
        return plan_lines(plan)

    def _plan(self, plan: PlanReady) -> Lines:
        kept = f", kept: {', '.join(plan.carried)}" if plan.carried else ""
        yield f"round {plan.round}{kept}", "bold"
        for note in plan.notes:
            yield note, "cyan"
        for subtask in plan.subtasks:
            if subtask.id not in plan.carried:
                yield _subtask_line(subtask)
            yield from self._news(subtask.id, subtask.criteria)
        yield from _whole_lines(plan, self._news("", plan.task_criteria))

    def _news(self, scope: str, criteria: Iterable[Criterion]) -> list[tuple[str, str]]:
        """A line for each criterion that was not promised before."""
        news = [criterion for criterion in criteria if self._promised.get((scope, criterion.id)) != criterion]
        self._promised |= {(scope, criterion.id): criterion for criterion in news}
        return [_criterion_line(criterion) for criterion in news]

    def _tool_called(self, called: ToolCalled) -> Lines:
        record = called.record
        told = f"{called.subtask_id}: {record.tool} {short(record.target, self._target_characters)}".rstrip()
        if record.failure:
            self._failed_calls.add(called.key)
            yield f"{told}: {_cut(record.failure.message)}", "red"
            yield from ((f"  {_cut(line)}", "red") for line in record.output_excerpt.splitlines()[-OUTPUT_LINES:])
        else:
            yield f"{told} ({record.duration_ms} ms)", "dim"

    def _execution(self, result: ExecutionResult) -> Lines:
        if result.status is SubTaskStatus.FAILED and self._failed_calls.isdisjoint(result.calls):
            yield f"{result.subtask_id}: attempt {result.attempt} failed: {_cut(result.reason)}", "red"

    def _correction(self, signal: CorrectionSignal) -> Lines:
        yield f"{signal.subtask_id}: attempt {signal.attempt} sent back", "yellow"
        for wrong in signal.what_was_wrong:
            yield f"  ✗ {_cut(wrong)}", "yellow"

    def _outcome(self, outcome: SubTaskOutcome) -> Lines:
        attempts = len(outcome.trajectory)
        again = f" after {attempts} attempts" if attempts > 1 else ""
        style = "green" if outcome.status is SubTaskEnding.MATCHED else "red"
        yield f"{outcome.subtask_id}: {outcome.status}{again}", style
        yield from self._verdicts(outcome.subtask_id, outcome.verdicts)

    def _objection(self, request: ReplanRequest) -> Lines:
        parts = [f"{name} failed" for name in request.failed] + [f"{name} was not run" for name in request.not_run]
        yield f"does not accept{': ' if parts else ''}{', '.join(parts)}", "red"
        yield from self._verdicts("", request.task_verdicts)

    def _acceptance(self, accepted: OutcomeSummary) -> Lines:
        yield "accepts the whole", "green"
        yield from self._verdicts("", accepted.task_verdicts)

    def _verdicts(self, scope: str, verdicts: Iterable[CriterionVerdict]) -> Lines:
        for verdict in verdicts:
            mark, style = MARKS[verdict.answer]
            promised = self._promised.get((scope, verdict.id))
            yield f"  {mark} {_cut(promised.text if promised else verdict.id)}", style
            if verdict.answer is not Answer.VERIFIED:
                yield f"    {_cut(verdict.reason)}", style

    _TOLD: Final[Mapping[type, Callable[[Any, Any], Lines]]] = {
        TaskSpec: lambda _, spec: iter([(f"{_cut(spec.intent)}  [{spec.task_class}]", "bold")]),
        PlanReady: _plan,
        PlanningFailed: lambda _, failed: iter([(f"no plan: {_cut('; '.join(failed.reasons))}", "red")]),
        ModelAnswered: lambda _, answer: _model_answered(answer),
        ToolCalled: _tool_called,
        ConfirmationAnswered: lambda _, answered: _confirmation(answered),
        ExecutionResult: _execution,
        CorrectionSignal: _correction,
        SubTaskOutcome: _outcome,
        ReplanRequest: _objection,
        OutcomeSummary: _acceptance,
        PlanDirective: lambda _, directive: _directive(directive),
        Remarked: lambda _, said: iter([(f"you: {_cut(said.text)}", "cyan")]),
        RunResumed: lambda _, resumed: iter([(f"goes on after {duration_text(resumed.downtime_ms)}", "cyan")]),
        StopRequested: lambda _, stop: iter([(f"stop: {stop.cause} ({_cut(stop.detail)})", "yellow")]),
        FinalResult: lambda _, result: _final(result),
    }


def _model_answered(answer: ModelAnswered) -> Lines:
    told = f"{answer.turn.subtask_id}: " if answer.turn.subtask_id else ""
    told += f"{short(answer.model, 60)} ({duration_text(answer.duration_ms)})"
    yield (f"{told}: {_cut(answer.failure)}", "red") if answer.failure else (told, "dim")


def _confirmation(answered: ConfirmationAnswered) -> Lines:
    style = "green" if answered.approved else "red"
    yield f"{'allowed' if answered.approved else 'not allowed'} ({answered.by}): {answered.action}", style


def _directive(directive: PlanDirective) -> Lines:
    urgency = "" if directive.urgency == "normal" else f" ({directive.urgency} urgency)"
    yield _numbers(directive.loss, directive.gradient), "magenta"
    yield f"→ {directive.directive}{urgency}", "bold magenta"
    yield _cut(directive.rationale), "dim"
    blocked = [f"{a.approach} for {a.subtask}" for a in directive.blocked_approaches]
    blocked += directive.blocked_tools
    blocked += (f"{t.tool} on {short(t.target, 60)}" for t in directive.blocked_targets)
    if blocked:
        yield f"blocked: {', '.join(blocked)}", "dim"


def _final(result: FinalResult) -> Lines:
    if result.loss is not None:
        yield _numbers(result.loss, result.gradient), "magenta"
    yield f"→ {result.directive}", "bold magenta"


def _numbers(loss: Loss, gradient: float) -> str:
    numbers = f"D {loss.distance:.2f}  P {loss.implausibility:.2f}  Ω {loss.resource:.2f}"
    return f"{numbers}  loss {loss.total:.2f}  gradient {gradient:+.2f}"


def _cut(text: str) -> str:
    return short(text, LINE_CHARACTERS_MAX)
