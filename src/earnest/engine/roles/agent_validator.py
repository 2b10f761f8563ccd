"""R4a measures the gap between a subtask's criteria and the evidence, and drives the fast loop until it is closed."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.asking import Asking
from earnest.engine.judging import judge, unmet_of
from earnest.engine.messages import (
    CorrectionSignal,
    ExecutionResult,
    Gap,
    Role,
    SubTask,
    SubTaskEnding,
    SubTaskOutcome,
    SubTaskStatus,
    ToolCalled,
)
from earnest.engine.participant import Participant, Work
from earnest.engine.run import EngineRun
from earnest.verification.verdict import Answer, Cause, CriterionVerdict, FailureClass, not_verified


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
    proves nothing, where a search that really ran and found nothing is successful; any criterion that is not met fails
    the subtask; no word of the executor outranks a criterion.
    """

    role = Role.R4A
    hears = (SubTask, ToolCalled, ExecutionResult)
    fresh = ValidatorState

    def hear(self, run: EngineRun, state: ValidatorState, envelope: Envelope) -> Work | None:
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
        self,
        run: EngineRun,
        cause: Envelope,
        fitting: Fitting,
        result: ExecutionResult,
        records: tuple[ToolRecord, ...],
    ) -> None:
        criteria = fitting.order.subtask.criteria
        prefix = f"r{result.round}/{result.subtask_id}/a{result.attempt}"
        unproven = _unproven(result, records)
        if unproven:
            failing = _last_failure(records)
            verdicts = tuple(replace(not_verified(c.id, unproven, failing), required=c.required) for c in criteria)
        else:
            model = Asking(
                run, Role.R4A, cause, round_number=result.round, subtask_id=result.subtask_id, attempt=result.attempt
            )
            verdicts = await judge(run, f"{prefix}/verdict", criteria, records, output=result.output, model=model)
        unmet = unmet_of(verdicts)
        gap = Gap(
            attempt=result.attempt,
            score_permille=1000 * (len(verdicts) - len(unmet)) // max(1, len(verdicts)),
            unmet=tuple(verdict.id for verdict in unmet),
            failure_class=failure_class_of(unmet),
        )
        fitting.gaps.append(gap)
        if _may_correct(fitting, result, unmet):
            run.post.send(Role.R4A, f"{prefix}/correction", _correction(result, unmet), cause)
        else:
            outcome = _outcome(fitting, result, verdicts, unproven, _last_failure(records))
            run.post.send(Role.R4A, f"{prefix}/outcome", outcome, cause)


def _unproven(result: ExecutionResult, records: tuple[ToolRecord, ...]) -> str:
    """Why there is nothing to judge; empty if there is."""
    if result.status is SubTaskStatus.FAILED:
        return f"the execution failed: {result.reason or 'no reason given'}"
    if not any(record.ok or record.found_nothing for record in records):
        return "no tool call succeeded, so nothing shows that anything was done"
    return ""


def _may_correct(fitting: Fitting, result: ExecutionResult, unmet: tuple[CriterionVerdict, ...]) -> bool:
    """Not after an execution that failed, nor for a validator that broke, nor beyond what the approach names."""
    approach = fitting.order.subtask.approach
    named = fitting.order.corrections_max if approach is None else len(approach.corrections)
    mendable = any(map(_is_mendable, unmet))
    left = result.attempt <= min(named, fitting.order.corrections_max)
    return mendable and left and result.status is not SubTaskStatus.FAILED


def _is_mendable(verdict: CriterionVerdict) -> bool:
    """True for what is wrong with the work. What no validator could tell is no work for the executor."""
    return verdict.answer is Answer.NOT_VERIFIED or verdict.cause is Cause.EVIDENCE


def failure_class_of(verdicts: Iterable[CriterionVerdict]) -> FailureClass | None:
    """Logical if any is, else environmental if any is, else None."""
    classes = {verdict.failure_class for verdict in verdicts}
    return next((c for c in (FailureClass.LOGICAL, FailureClass.ENVIRONMENTAL) if c in classes), None)


def _last_failure(calls: tuple[ToolRecord, ...]) -> FailureClass | None:
    """Of the last call that failed. Whoever claims success without any call has the wrong approach."""
    failures = [record.failure.failure_class for record in calls if record.failure is not None]
    return failures[-1] if failures else FailureClass.LOGICAL


def _correction(result: ExecutionResult, unmet: tuple[CriterionVerdict, ...]) -> CorrectionSignal:
    """All that can be mended; what is wrong with several criteria is told once."""
    wrong = tuple(filter(_is_mendable, unmet))
    reasons = dict.fromkeys(verdict.reason for verdict in wrong)
    named = {reason: ", ".join(verdict.id for verdict in wrong if verdict.reason == reason) for reason in reasons}
    return CorrectionSignal(
        round=result.round,
        subtask_id=result.subtask_id,
        attempt=result.attempt,
        what_was_wrong=tuple(f"{ids}: {reason}" for reason, ids in named.items()),
        what_to_do="meet the criteria that are not met, in another way than before",
        failure_class=failure_class_of(wrong),
    )


def _outcome(
    fitting: Fitting,
    result: ExecutionResult,
    verdicts: tuple[CriterionVerdict, ...],
    unproven: str,
    failing: FailureClass | None,
) -> SubTaskOutcome:
    """Without a required criterion, an unproven execution still fails."""
    approach = fitting.order.subtask.approach
    unmet = unmet_of(verdicts)
    return SubTaskOutcome(
        round=result.round,
        subtask_id=result.subtask_id,
        status=SubTaskEnding.FAILED if unmet or unproven else SubTaskEnding.MATCHED,
        output=result.output,
        approach_id=approach.id if approach else None,
        verdicts=verdicts,
        trajectory=tuple(fitting.gaps),
        calls=tuple(fitting.calls),
        failure_reason=unproven or "; ".join(verdict.reason for verdict in unmet),
        failure_class=failing if unproven else failure_class_of(unmet),
    )
