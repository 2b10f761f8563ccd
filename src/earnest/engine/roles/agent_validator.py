"""R4a measures the gap between a subtask's criteria and the evidence, and drives the fast loop until it is closed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from earnest.effects.bus.api import Envelope
from earnest.effects.tools.record import ToolRecord
from earnest.engine.messages import (
    CorrectionSignal,
    ExecutionResult,
    Gap,
    Outcome,
    Role,
    Status,
    SubTask,
    SubTaskOutcome,
    ToolCalled,
)
from earnest.engine.participant import Participant, Work
from earnest.engine.run import Run
from earnest.verification.verdict import Answer, CriterionVerdict, FailureClass, not_verified


@dataclass(slots=True)
class Fitting:
    """A subtask between order and outcome."""

    order: SubTask
    gaps: list[Gap] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ValidatorState:
    """The subtasks in work, and every record by its key."""

    records: dict[str, ToolRecord] = field(default_factory=dict)

    fittings: dict[str, Fitting] = field(default_factory=dict)


class AgentValidatorRole(Participant[ValidatorState]):
    """ExecutionResult → CorrectionSignal or SubTaskOutcome.

    Gates, in code: an execution that failed is not judged and not repeated; an execution without one successful call
    proves nothing; any criterion that is not met fails the subtask; no word of the executor outranks a criterion.
    """

    role = Role.R4A
    hears = (SubTask, ToolCalled, ExecutionResult)

    def fresh(self) -> ValidatorState:
        """Nothing in work."""
        return ValidatorState()

    def hear(self, run: Run, state: ValidatorState, envelope: Envelope) -> Work | None:
        """Note the order; judge the result."""
        match envelope.payload:
            case SubTask() as order:
                state.fittings[order.subtask.id] = Fitting(order=order)
            case ToolCalled(key=key, record=record):
                state.records[key] = record
            case ExecutionResult() as result:
                fitting = state.fittings[result.subtask_id]
                fitting.calls.extend(result.calls)
                records = tuple(state.records[key] for key in result.calls)
                return self._judge(run, envelope, fitting, result, records)
        return None

    async def _judge(
        self, run: Run, cause: Envelope, fitting: Fitting, result: ExecutionResult, records: tuple[ToolRecord, ...]
    ) -> None:
        verdicts, final = await self._verdicts(run, fitting, result, records)
        unmet = tuple(verdict for verdict in verdicts if verdict.required and verdict.answer is not Answer.VERIFIED)
        met_permille = 1000 * (len(verdicts) - len(unmet)) // max(1, len(verdicts))
        fitting.gaps.append(
            Gap(
                attempt=result.attempt,
                score_permille=met_permille,
                unmet=tuple(verdict.id for verdict in unmet),
                failure_class=failure_class_of(unmet),
            )
        )
        prefix = f"r{result.round}/{result.subtask_id}/a{result.attempt}"
        if not final and self._may_correct(fitting, result, unmet):
            run.post.send(Role.R4A, f"{prefix}/correction", _correction(result, unmet), cause)
        else:
            run.post.send(Role.R4A, f"{prefix}/outcome", _outcome(fitting, result, verdicts, unmet), cause)

    async def _verdicts(
        self, run: Run, fitting: Fitting, result: ExecutionResult, records: tuple[ToolRecord, ...]
    ) -> tuple[tuple[CriterionVerdict, ...], bool]:
        """The verdicts of this attempt, and whether they are final whatever they say."""
        criteria = fitting.order.subtask.criteria
        if result.status is Status.FAILED:
            failing = _last_failure(records)
            reason = f"the execution failed: {result.reason or 'no reason given'}"
            return tuple(not_verified(c.id, reason, failing) for c in criteria), True
        if not any(record.ok for record in records):
            reason = "no tool call succeeded, so nothing shows that anything was done"
            return tuple(not_verified(c.id, reason, FailureClass.LOGICAL) for c in criteria), False
        run.effects_in_flight += 1
        try:
            key = f"r{result.round}/{result.subtask_id}/a{result.attempt}/verdict"
            return await run.judge.judge(key, criteria, records, result.output), False
        finally:
            run.effects_in_flight -= 1

    @staticmethod
    def _may_correct(fitting: Fitting, result: ExecutionResult, unmet: tuple[CriterionVerdict, ...]) -> bool:
        """A broken validator is no fault of the executor, and an approach has no more corrections than it names."""
        approach = fitting.order.subtask.approach
        left = fitting.order.corrections_max if approach is None else len(approach.corrections)
        refuted = any(verdict.answer is Answer.NOT_VERIFIED for verdict in unmet)
        return refuted and result.attempt <= min(left, fitting.order.corrections_max)


def failure_class_of(verdicts: Iterable[CriterionVerdict]) -> FailureClass | None:
    """Logical if any is, else environmental if any is, else None."""
    classes = {verdict.failure_class for verdict in verdicts}
    return next((c for c in (FailureClass.LOGICAL, FailureClass.ENVIRONMENTAL) if c in classes), None)


def _last_failure(calls: tuple[ToolRecord, ...]) -> FailureClass | None:
    failures = [record.failure.failure_class for record in calls if record.failure is not None]
    return failures[-1] if failures else FailureClass.LOGICAL


def _correction(result: ExecutionResult, unmet: tuple[CriterionVerdict, ...]) -> CorrectionSignal:
    return CorrectionSignal(
        round=result.round,
        subtask_id=result.subtask_id,
        attempt=result.attempt,
        what_was_wrong=tuple(f"{verdict.id}: {verdict.reason}" for verdict in unmet),
        what_to_do="meet the criteria that are not met, in another way than before",
        failure_class=failure_class_of(unmet),
    )


def _outcome(
    fitting: Fitting,
    result: ExecutionResult,
    verdicts: tuple[CriterionVerdict, ...],
    unmet: tuple[CriterionVerdict, ...],
) -> SubTaskOutcome:
    approach = fitting.order.subtask.approach
    return SubTaskOutcome(
        round=result.round,
        subtask_id=result.subtask_id,
        status=Outcome.FAILED if unmet else Outcome.MATCHED,
        output=result.output,
        approach_id=approach.id if approach else None,
        verdicts=verdicts,
        trajectory=tuple(fitting.gaps),
        calls=tuple(fitting.calls),
        failure_reason="; ".join(verdict.reason for verdict in unmet),
        failure_class=failure_class_of(unmet),
    )
