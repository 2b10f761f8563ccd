"""From a round's messages to what the solver looks at: the whole population of criteria, and what was tried."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from earnest.contracts.criterion import Criterion
from earnest.effects.tools.record import ToolRecord
from earnest.engine.gradient.blocking import Call, Trial
from earnest.engine.gradient.loss import Answer, Judged
from earnest.engine.gradient.trajectory import Observation
from earnest.engine.messages import PlanReady, SubTaskOutcome
from earnest.verification.verdict import Answer as Verdict
from earnest.verification.verdict import CriterionVerdict

_ANSWERS = {Verdict.VERIFIED: Answer.PASS, Verdict.NOT_VERIFIED: Answer.FAIL, Verdict.UNCLEAR: Answer.UNCLEAR}


@dataclass(slots=True)
class Seen:
    """What R7 has heard of a run: the plan in force, the last outcome of each subtask, every record by its key."""

    plan: PlanReady | None = None
    outcomes: dict[str, SubTaskOutcome] = field(default_factory=dict)
    records: dict[str, ToolRecord] = field(default_factory=dict)
    task_verdicts: tuple[CriterionVerdict, ...] = ()


def observation(seen: Seen, not_run: tuple[str, ...], elapsed_ms: int) -> Observation:
    """The round as R7 judges it."""
    plan = seen.plan
    assert plan is not None
    return Observation(
        judged=tuple(judged(seen, not_run)),
        trials=tuple(_trials(plan, seen.outcomes, seen.records, not_run)),
        elapsed_ms=elapsed_ms,
        alternatives={
            alternative.subtask_id: tuple(frozenset(tools) for tools in alternative.tool_sets)
            for alternative in plan.alternatives
        },
    )


def judged(seen: Seen, not_run: tuple[str, ...]) -> Iterator[Judged]:
    """Every criterion of every subtask and of the task; what was not run or not judged says so."""
    if seen.plan is None:
        return
    for subtask in seen.plan.subtasks:
        outcome = None if subtask.id in not_run else seen.outcomes.get(subtask.id)
        verdicts = {verdict.id: verdict for verdict in outcome.verdicts} if outcome else {}
        for criterion in _required(subtask.criteria):
            yield _judged(criterion, subtask.id, verdicts.get(criterion.id), outcome)
    task_verdicts = {verdict.id: verdict for verdict in seen.task_verdicts}
    for criterion in _required(seen.plan.task_criteria):
        yield _judged(criterion, None, task_verdicts.get(criterion.id), None)


def _required(criteria: Iterable[Criterion]) -> Iterator[Criterion]:
    """What is not required is judged and shown, and steers nothing."""
    return (criterion for criterion in criteria if criterion.required)


def _judged(
    criterion: Criterion, subtask: str | None, verdict: CriterionVerdict | None, outcome: SubTaskOutcome | None
) -> Judged:
    gaps = outcome.trajectory if outcome else ()
    return Judged(
        criterion=criterion.id,
        subtask=subtask,
        answer=_ANSWERS[verdict.answer] if verdict else Answer.NOT_RUN,
        mode=criterion.mode,
        failure_class=verdict.failure_class if verdict else None,
        attempts=len(gaps),
        failed_attempts=sum(criterion.id in gap.unmet for gap in gaps),
    )


def _trials(
    plan: PlanReady, outcomes: Mapping[str, SubTaskOutcome], records: Mapping[str, ToolRecord], not_run: tuple[str, ...]
) -> Iterator[Trial]:
    for subtask in plan.subtasks:
        outcome = outcomes.get(subtask.id)
        if outcome is not None and subtask.id not in not_run:
            calls = tuple(_call(records[key]) for key in outcome.calls)
            yield Trial(subtask=subtask.id, approach=outcome.approach_id, calls=calls)


def _call(record: ToolRecord) -> Call:
    failure = record.failure.failure_class if record.failure else None
    return Call(tools=frozenset(record.tool_ids), target=record.target, ok=record.ok, failure=failure)
