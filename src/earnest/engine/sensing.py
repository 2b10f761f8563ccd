"""From a round's messages to what the solver looks at: the whole population of criteria, and what was tried."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.gradient.blocking import AttemptedCall, SubTaskTrial
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion
from earnest.engine.gradient.trajectory import Observation
from earnest.engine.guard import REFUSALS
from earnest.engine.messages import (
    Alternatives,
    OutcomeSummary,
    PlanReady,
    ReplanRequest,
    SubTaskEnding,
    SubTaskOutcome,
    ToolCalled,
)
from earnest.engine.model_messages import ModelAnswered
from earnest.verification.verdict import Answer as Verdict
from earnest.verification.verdict import CriterionVerdict

STATUS: Final = "(status)"
"""Stands for the criterion of a subtask that requires none: that it is done."""

_ANSWERS: Final = {
    Verdict.VERIFIED: CriterionState.PASS,
    Verdict.NOT_VERIFIED: CriterionState.FAIL,
    Verdict.UNCLEAR: CriterionState.UNCLEAR,
}


@dataclass(slots=True)
class Seen:
    """What R7 has heard of a run: the plan in force, its outcomes so far, every record by its key, what models took."""

    plan: PlanReady | None = None
    outcomes: dict[str, SubTaskOutcome] = field(default_factory=dict)
    records: dict[str, ToolRecord] = field(default_factory=dict)
    task_verdicts: tuple[CriterionVerdict, ...] = ()
    answers: list[ModelAnswered] = field(default_factory=list)
    sequences: dict[tuple[int, str], int] = field(default_factory=dict)
    """Of the subtasks of every round so far."""

    def note(self, payload: object) -> None:
        """Fold one message."""
        match payload:
            case PlanReady() as plan:
                self._begin(plan)
            case ToolCalled(key=key, record=record):
                self.records[key] = record
            case SubTaskOutcome() as outcome:
                self.outcomes[outcome.subtask_id] = outcome
            case ReplanRequest(task_verdicts=verdicts) | OutcomeSummary(task_verdicts=verdicts):
                self.task_verdicts = verdicts
            case ModelAnswered() as answer:
                self.answers.append(answer)
            case _:
                pass

    @property
    def planned_outcomes(self) -> list[SubTaskOutcome]:
        """Those that there are, in the order of the plan."""
        return [self.outcomes[one.id] for one in (self.plan.subtasks if self.plan else ()) if one.id in self.outcomes]

    @property
    def verdicts(self) -> Mapping[tuple[str | None, str], CriterionVerdict]:
        """All verdicts by their subtask, None for the task, and the criterion's id."""
        of_subtasks = {(one.subtask_id, each.id): each for one in self.outcomes.values() for each in one.verdicts}
        return of_subtasks | {(None, verdict.id): verdict for verdict in self.task_verdicts}

    def _begin(self, plan: PlanReady) -> None:
        """A round begins. Of what was there, only carried outcomes stand: the rest is taken back and worked anew."""
        self.plan, self.task_verdicts = plan, ()
        self.sequences |= {(plan.round, subtask.id): subtask.sequence for subtask in plan.subtasks}
        self.outcomes = {subtask_id: self.outcomes[subtask_id] for subtask_id in plan.carried}


def observation(seen: Seen, elapsed_ms: int) -> Observation:
    """The round as R7 judges it."""
    plan = seen.plan
    assert plan is not None
    return Observation(
        judged=tuple(judged(seen)),
        trials=tuple(_trials(plan, seen.outcomes, seen.records)),
        elapsed_ms=elapsed_ms,
        alternatives={ways.subtask_id: tuple(_open_ways(ways, seen.outcomes)) for ways in plan.alternatives},
    )


def judged(seen: Seen) -> Iterator[JudgedCriterion]:
    """Every required criterion of every subtask and of the task; what was not run or not judged says so.

    A subtask that requires nothing is one criterion, answered by its status: it can fail all the same.
    """
    if seen.plan is None:
        return
    for subtask in seen.plan.subtasks:
        outcome = seen.outcomes.get(subtask.id)
        verdicts = {verdict.id: verdict for verdict in outcome.verdicts} if outcome else {}
        required = tuple(_required(subtask.criteria))
        for criterion in required:
            yield _judged(criterion, subtask.id, verdicts.get(criterion.id), outcome)
        if not required:
            yield _judged_by_status(subtask.id, outcome)
    task_verdicts = {verdict.id: verdict for verdict in seen.task_verdicts}
    for criterion in _required(seen.plan.task_criteria):
        yield _judged(criterion, None, task_verdicts.get(criterion.id), None)


def _required(criteria: Iterable[Criterion]) -> Iterator[Criterion]:
    """What is not required is judged and shown, and steers nothing."""
    return (criterion for criterion in criteria if criterion.required)


def _judged(
    criterion: Criterion, subtask: str | None, verdict: CriterionVerdict | None, outcome: SubTaskOutcome | None
) -> JudgedCriterion:
    gaps = outcome.trajectory if outcome else ()
    return JudgedCriterion(
        criterion=criterion.id,
        subtask=subtask,
        answer=_ANSWERS[verdict.answer] if verdict else CriterionState.NOT_RUN,
        mode=criterion.mode,
        failure_class=verdict.failure_class if verdict else None,
        attempts=len(gaps),
        failed_attempts=sum(criterion.id in gap.unmet for gap in gaps),
    )


def _judged_by_status(subtask: str, outcome: SubTaskOutcome | None) -> JudgedCriterion:
    if outcome is None:
        return JudgedCriterion(criterion=STATUS, subtask=subtask, answer=CriterionState.NOT_RUN)
    answer = CriterionState.PASS if outcome.status is SubTaskEnding.MATCHED else CriterionState.FAIL
    return JudgedCriterion(criterion=STATUS, subtask=subtask, answer=answer, failure_class=outcome.failure_class)


def _open_ways(ways: Alternatives, outcomes: Mapping[str, SubTaskOutcome]) -> Iterator[frozenset[str]]:
    """What is left to try; the chosen approach too, if its subtask was not run."""
    if ways.subtask_id not in outcomes:
        yield frozenset(ways.chosen)
    yield from map(frozenset, ways.untried)


def _trials(
    plan: PlanReady, outcomes: Mapping[str, SubTaskOutcome], records: Mapping[str, ToolRecord]
) -> Iterator[SubTaskTrial]:
    for subtask in plan.subtasks:
        outcome = outcomes.get(subtask.id)
        if outcome is not None:
            calls = tuple(_call(records[key]) for key in outcome.calls)
            yield SubTaskTrial(subtask=subtask.id, approach=outcome.approach_id, calls=calls)


def _call(record: ToolRecord) -> AttemptedCall:
    """A call that the engine refused was never made: so its failure says nothing; to find nothing is no failure."""
    failed = None if record.found_nothing else record.failure
    failure = None if failed is None or failed.code in REFUSALS else failed.failure_class
    return AttemptedCall(
        tools=frozenset(record.tool_ids), target=record.target, ok=record.ok or record.found_nothing, failure=failure
    )
