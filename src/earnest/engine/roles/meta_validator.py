"""R4b looks at the whole: it collects every outcome of a round, and accepts only when every criterion is met."""

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.asking import Asking
from earnest.engine.judging import judge, unmet_of
from earnest.engine.messages import (
    DispatchEnded,
    OutcomeSummary,
    PlanReady,
    ReplanRequest,
    Role,
    SubTaskEnding,
    SubTaskOutcome,
    ToolCalled,
)
from earnest.engine.participant import Participant, Work
from earnest.engine.run import EngineRun
from earnest.engine.sensing import Seen
from earnest.verification.verdict import CriterionVerdict


class MetaValidatorRole(Participant[Seen]):
    """DispatchEnded → ReplanRequest, without judging if a subtask failed; else the task criteria decide."""

    role = Role.R4B
    hears = (PlanReady, ToolCalled, SubTaskOutcome, DispatchEnded)
    fresh = Seen

    def hear(self, run: EngineRun, seen: Seen, envelope: Envelope) -> Work | None:
        """Collect; judge when the round is complete."""
        seen.note(envelope.payload)
        if isinstance(envelope.payload, DispatchEnded):
            return self._conclude(run, seen, envelope, envelope.payload)
        return None

    async def _conclude(self, run: EngineRun, seen: Seen, cause: Envelope, ended: DispatchEnded) -> None:
        plan, outcomes = seen.plan, seen.planned_outcomes
        assert plan is not None
        failed = [outcome for outcome in outcomes if outcome.status is SubTaskEnding.FAILED]
        reasons = [f"{outcome.subtask_id}: {outcome.failure_reason}" for outcome in failed]
        reasons += [f"{subtask_id}: not run" for subtask_id in ended.not_run]
        merged = "\n\n".join(f"[{outcome.subtask_id}]\n{outcome.output}" for outcome in outcomes)
        verdicts: tuple[CriterionVerdict, ...] = ()
        if not reasons:
            calls = tuple(seen.records[key] for outcome in outcomes for key in outcome.calls)
            model = Asking(run, Role.R4B, cause, round_number=plan.round)
            key = f"r{plan.round}/task/verdict"
            verdicts = await judge(run, key, plan.task_criteria, calls, output=merged, model=model)
            reasons += [f"{verdict.id}: {verdict.reason}" for verdict in unmet_of(verdicts)]
        if reasons:
            request = ReplanRequest(
                round=plan.round,
                failed=tuple(outcome.subtask_id for outcome in failed),
                not_run=ended.not_run,
                task_verdicts=verdicts,
                gap_summary="; ".join(reasons),
            )
            run.post.send(Role.R4B, f"r{plan.round}/replan", request, cause)
        else:
            met = f"{len(plan.subtasks)} subtasks and {len(verdicts)} criteria of the task are met"
            accepted = OutcomeSummary(round=plan.round, merged_output=merged, task_verdicts=verdicts, summary=met)
            run.post.send(Role.R4B, f"r{plan.round}/accept", accepted, cause)
