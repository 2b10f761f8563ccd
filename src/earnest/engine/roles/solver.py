"""R7 on the bus: it reads the round, decides, steers R2 or ends the run, and says what is to be remembered."""

from dataclasses import dataclass, field

from earnest.effects.bus.api import Envelope
from earnest.engine.ending import final_result
from earnest.engine.gradient.cascade import Cause
from earnest.engine.gradient.lessons import lessons
from earnest.engine.gradient.trajectory import Observation, Round, Trajectory, halt, observe
from earnest.engine.messages import (
    MegramEmitted,
    OutcomeSummary,
    PlanDirective,
    PlanningFailed,
    PlanReady,
    ReplanRequest,
    Role,
    StopRequested,
    SubTaskOutcome,
    TaskSpec,
    ToolCalled,
)
from earnest.engine.participant import Participant, Work
from earnest.engine.run import Run
from earnest.engine.sensing import Seen, observation


@dataclass(slots=True)
class SolverState:
    """What R7 knows of a run."""

    spec: TaskSpec | None = None
    started_ms: int = 0
    seen: Seen = field(default_factory=Seen)
    trajectory: Trajectory = field(default_factory=Trajectory)
    megrams: int = 0


class SolverRole(Participant[SolverState]):
    """The only sender of PlanDirective, FinalResult and MegramEmitted."""

    role = Role.R7
    hears = (
        TaskSpec,
        PlanReady,
        ToolCalled,
        SubTaskOutcome,
        ReplanRequest,
        OutcomeSummary,
        PlanningFailed,
        StopRequested,
    )

    def fresh(self) -> SolverState:
        """Nothing seen."""
        return SolverState()

    def hear(self, run: Run, state: SolverState, envelope: Envelope) -> Work | None:
        """Fold what happens; decide at the end of a round. After the end nothing is heard any more."""
        if state.trajectory.end is not None:
            return None
        seen = state.seen
        match envelope.payload:
            case TaskSpec() as spec:
                state.spec, state.started_ms = spec, envelope.at_ms
            case PlanReady() as plan:
                seen.begin(plan)
            case ToolCalled(key=key, record=record):
                seen.records[key] = record
            case SubTaskOutcome() as outcome:
                seen.outcomes[outcome.subtask_id] = outcome
            case ReplanRequest(task_verdicts=verdicts) | OutcomeSummary(task_verdicts=verdicts):
                seen.task_verdicts = verdicts
                self._decide(run, state, envelope)
            case PlanningFailed(reasons=reasons, exhausted=exhausted):
                self._halt(run, state, envelope, Cause.EXHAUSTED if exhausted else Cause.PLANNING, "; ".join(reasons))
            case StopRequested(cause=cause, detail=detail):
                self._halt(run, state, envelope, cause, detail)
        return None

    def _decide(self, run: Run, state: SolverState, envelope: Envelope) -> None:
        before = state.trajectory
        elapsed_ms = run.post.elapsed_ms(state.started_ms, envelope.at_ms)
        observed = observation(state.seen, elapsed_ms)
        state.trajectory, current = observe(before, observed, run.constants)
        self._remember(run, state, envelope, before, observed)
        if current.directive is not None:
            run.post.send(Role.R7, f"r{current.number}/directive", _directive(current), envelope)
        else:
            self._end(run, state, envelope, "")

    def _halt(self, run: Run, state: SolverState, envelope: Envelope, cause: Cause, detail: str) -> None:
        before = state.trajectory
        state.trajectory = halt(before, cause)
        self._remember(run, state, envelope, before, None)
        self._end(run, state, envelope, detail)

    def _remember(
        self, run: Run, state: SolverState, envelope: Envelope, before: Trajectory, observed: Observation | None
    ) -> None:
        if state.spec is None:
            return
        for lesson in lessons(
            task_class=state.spec.task_class,
            before=before,
            after=state.trajectory,
            observation=observed,
            constants=run.constants,
        ):
            state.megrams += 1
            key = f"megram/{state.megrams}"
            megram = MegramEmitted(megram_id=f"{run.id}/{key}", lesson=lesson)
            run.post.send(Role.R7, key, megram, envelope)

    def _end(self, run: Run, state: SolverState, envelope: Envelope, detail: str) -> None:
        elapsed_ms = run.post.elapsed_ms(state.started_ms, envelope.at_ms) if state.spec else 0
        result = final_result(state.seen, state.trajectory, detail, elapsed_ms)
        run.post.send(Role.R7, "final", result, envelope)


def _directive(current: Round) -> PlanDirective:
    directive, decision = current.directive, current.decision
    assert directive is not None
    return PlanDirective(
        round=current.number,
        directive=decision.state,
        previous=current.previous,
        loss=current.loss,
        gradient=current.quality_gradient,
        loss_gradient=current.loss_gradient,
        urgency=decision.urgency,
        blocked_tools=directive.blocked_tools,
        blocked_targets=directive.blocked_targets,
        blocked_approaches=directive.blocked_approaches,
        failed_criterion=directive.failed_criterion,
        failure_class=directive.failure_class,
        rationale=decision.rationale,
    )
