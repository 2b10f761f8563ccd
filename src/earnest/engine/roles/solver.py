"""R7 on the bus: it reads the round, decides, steers R2 or ends the run in words, and says what is to be remembered."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.asking import Asking
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.gradient.lessons import lessons
from earnest.engine.gradient.trajectory import Observation, Round, Trajectory, answered, halt, observe
from earnest.engine.memory_messages import MegramEmitted, MemoryAnswered
from earnest.engine.messages import (
    ExecutionResult,
    FinalResult,
    OutcomeSummary,
    PlanDirective,
    PlanningFailed,
    PlanReady,
    ReplanRequest,
    Role,
    StopRequested,
    SubTaskEnding,
    SubTaskOutcome,
    TaskRequested,
    TaskSpec,
    ToolCalled,
    UnmetCriterion,
)
from earnest.engine.model_messages import ModelAnswered
from earnest.engine.participant import Participant, Work
from earnest.engine.ports import LastWords
from earnest.engine.remembering import dissonances, preferring
from earnest.engine.run import EngineRun
from earnest.engine.sensing import STATUS, Seen, judged, observation
from earnest.engine.spending import usage_of
from earnest.memory.megram import Tag

NEXT_MOVES: Final[dict[AbandonCause, tuple[str, ...]]] = {
    AbandonCause.BUDGET: (
        "allow more replans, tokens, calls or cost, or add another approach to the failing subtasks",
    ),
    AbandonCause.TIME: ("raise the time budget", "make the slow step smaller"),
    AbandonCause.DIVERGENCE: ("look at the trajectory: each change made the result worse",),
    AbandonCause.EXHAUSTED: (
        "add another approach to the failing subtasks",
        "check whether the criteria can be met at all",
    ),
    AbandonCause.UNCLEAR: (
        "mend what the reasons name, and start again",
        "if they name nothing of yours, `earnest doctor` tells what cannot be judged here",
    ),
    AbandonCause.PLANNING: ("look at the reasons: the plan broke the rules twice",),
    AbandonCause.UNANSWERED: ("look whether the model's endpoint answers: `earnest doctor`", "try a stronger model"),
    AbandonCause.IMPOSSIBLE: ("provide what is missing, or name another, and start again",),
    AbandonCause.LAW_1: ("confirm the named action, or leave it out",),
    AbandonCause.UNKNOWN_EFFECT: ("give the step a `look` command, which tells whether it happened",),
    AbandonCause.SILENCE: ("look at `earnest audit tail` for the last message",),
    AbandonCause.USER: ("start again when you are ready",),
    AbandonCause.FAULT: ("report this with the output of `earnest show --json`",),
}


@dataclass(slots=True)
class SolverState:
    """What R7 knows of a run."""

    request: str = ""
    """The user's words, which name the task where R1 never did."""
    spec: TaskSpec | None = None
    started_ms: int = 0
    seen: Seen = field(default_factory=Seen)
    trajectory: Trajectory = field(default_factory=Trajectory)
    rules: dict[str, Tag] = field(default_factory=dict)
    """Rules of memory that may be blamed, once each."""
    megrams: int = 0


class SolverRole(Participant[SolverState]):
    """The only sender of PlanDirective, FinalResult and MegramEmitted."""

    role = Role.R7
    hears = (
        TaskRequested,
        TaskSpec,
        ModelAnswered,
        MemoryAnswered,
        PlanReady,
        ToolCalled,
        SubTaskOutcome,
        ReplanRequest,
        OutcomeSummary,
        PlanningFailed,
        ExecutionResult,
        StopRequested,
    )
    fresh = SolverState

    def hear(self, run: EngineRun, state: SolverState, envelope: Envelope) -> Work | None:
        """Fold what happens; decide at the end of a round. After the end nothing is heard any more."""
        if state.trajectory.end is not None:
            return None
        state.seen.note(envelope.payload)
        if ending := _ending(envelope.payload, state.seen):
            return self._halt(run, state, envelope, *ending)
        match envelope.payload:
            case TaskRequested(raw_input=request):
                state.request = request
            case TaskSpec() as spec:
                state.spec, state.started_ms = spec, envelope.at_ms
                run.tune(spec.task_class)
                if spec.reply:
                    state.trajectory = answered(spec.reply)
                    return self._end(run, state, envelope, "")
            case MemoryAnswered(recollections=recollections):
                state.rules = preferring(recollections)
            case ReplanRequest() | OutcomeSummary():
                return self._decide(run, state, envelope)
        return None

    def _decide(self, run: EngineRun, state: SolverState, envelope: Envelope) -> Work | None:
        before = state.trajectory
        elapsed_ms = run.post.elapsed_ms(state.started_ms, envelope.at_ms)
        observed = observation(state.seen, elapsed_ms)
        state.trajectory, current = observe(before, observed, run.constants)
        self._remember(run, state, envelope, before, observed)
        if current.directive is None:
            return self._end(run, state, envelope, "")
        run.post.send(Role.R7, f"r{current.number}/directive", _directive(current, state.seen), envelope)
        return None

    def _halt(
        self, run: EngineRun, state: SolverState, envelope: Envelope, cause: AbandonCause, detail: str
    ) -> Work | None:
        before = state.trajectory
        state.trajectory = halt(before, cause)
        self._remember(run, state, envelope, before, None)
        return self._end(run, state, envelope, detail)

    def _remember(
        self, run: EngineRun, state: SolverState, envelope: Envelope, before: Trajectory, observed: Observation | None
    ) -> None:
        about = state.spec.task_class if state.spec else state.request
        if not about:
            return
        found = lessons(
            task_class=about,
            before=before,
            after=state.trajectory,
            observation=observed,
            constants=run.constants,
        )
        blamed = dict(dissonances(state.seen.plan, state.rules, observed, found, run.constants))
        state.rules = {rule_id: tag for rule_id, tag in state.rules.items() if rule_id not in blamed}
        for lesson in (*found, *blamed.values()):
            state.megrams += 1
            key = f"megram/{state.megrams}"
            megram = MegramEmitted(megram_id=f"{run.id}/{key}", lesson=lesson)
            run.post.send(Role.R7, key, megram, envelope)

    def _end(self, run: EngineRun, state: SolverState, envelope: Envelope, detail: str) -> Work | None:
        """Say the result; of a run that R7 itself abandons, after a model had a chance to add to its words."""
        elapsed_ms = run.post.elapsed_ms(state.started_ms, envelope.at_ms) if state.spec else 0
        result = _final_result(state.seen, state.trajectory, detail, elapsed_ms)
        if run.last_words is not None and result.cause is not None and not run.stopping:
            return _part(run, run.last_words, state.seen, result, envelope)
        run.post.send(Role.R7, "final", result, envelope)
        return None


async def _part(run: EngineRun, last_words: LastWords, seen: Seen, result: FinalResult, cause: Envelope) -> None:
    """Whatever becomes of the words, the result is said, and what they took is counted."""
    model = Asking(run, Role.R7, cause)
    try:
        result = await last_words(result, model)
    finally:
        usage = usage_of((*seen.answers, *model.answers), seen.sequences)
        run.post.send(Role.R7, "final", replace(result, usage=usage), cause)


def _ending(payload: object, seen: Seen) -> tuple[AbandonCause, str] | None:
    """What ends a run whatever its rounds were like, and why; a check that cannot run blames nobody."""
    match payload:
        case PlanningFailed(impossible=str(missing)) | ExecutionResult(impossible=str(missing)) if missing:
            return AbandonCause.IMPOSSIBLE, missing
        case PlanningFailed(reasons=reasons, exhausted=exhausted):
            return (AbandonCause.EXHAUSTED if exhausted else AbandonCause.PLANNING), "; ".join(reasons)
        case StopRequested(cause=cause, detail=detail):
            return cause, detail
        case ReplanRequest() | OutcomeSummary():
            stuck = (one.reason for one in seen.verdicts.values() if one.required and one.cannot_run)
            return next(((AbandonCause.UNCLEAR, reason) for reason in stuck), None)
    return None


def _directive(current: Round, seen: Seen) -> PlanDirective:
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
        unmet=tuple(_unmet_criteria(seen)),
        budget_pressure=current.loss.resource,
    )


def _final_result(seen: Seen, trajectory: Trajectory, detail: str, elapsed_ms: int) -> FinalResult:
    """The last message of a run whose trajectory has ended. Partial results are named as such."""
    decision = trajectory.end
    assert decision is not None
    last = trajectory.rounds[-1] if trajectory.rounds else None
    done = tuple(outcome for outcome in seen.planned_outcomes if outcome.status is SubTaskEnding.MATCHED)
    names = {outcome.subtask_id for outcome in done}
    planned = seen.plan.subtasks if seen.plan else ()
    unmet = tuple(_unmet_criteria(seen))
    told = f"{decision.rationale} ({detail})" if detail else decision.rationale
    progress = f" {len(done)} of {len(planned)} subtasks done." if planned else ""
    return FinalResult(
        directive=decision.state,
        cause=decision.cause,
        summary=f"{told}{progress}{_judged_only(seen, decision.state)}",
        output="\n\n".join(f"[{outcome.subtask_id}]\n{outcome.output}" for outcome in done if outcome.output),
        loss=last.loss if last else None,
        gradient=last.quality_gradient if last else 0.0,
        loss_gradient=last.loss_gradient if last else 0.0,
        round=seen.plan.round if seen.plan else 0,
        replans=max(0, seen.plan.round - 1) if seen.plan else 0,
        previous=trajectory.previous,
        done=tuple(outcome.subtask_id for outcome in done),
        not_done=tuple(subtask.id for subtask in planned if subtask.id not in names),
        unmet=() if decision.state is MacroState.ACCEPT else unmet,
        next_moves=NEXT_MOVES[decision.cause] if decision.cause else (),
        elapsed_ms=elapsed_ms,
        usage=usage_of(seen.answers, seen.sequences),
    )


def _judged_only(seen: Seen, state: MacroState) -> str:
    """Of an accepted result: how many criteria rest on a model's word about what it read, and on nothing else."""
    if state is not MacroState.ACCEPT:
        return ""
    texts = _texts(seen)
    count = len({texts[place] for place, verdict in seen.verdicts.items() if verdict.judged_only and place in texts})
    return f" Judged only, neither checked nor measured: {count} of the criteria." if count else ""


def _texts(seen: Seen) -> dict[tuple[str | None, str], str]:
    """What each criterion says, by its subtask, None for the task, and its id."""
    plan = seen.plan
    if plan is None:
        return {}
    texts: dict[tuple[str | None, str], str] = {(s.id, c.id): c.text for s in plan.subtasks for c in s.criteria}
    return texts | {(None, c.id): c.text for c in plan.task_criteria}


def _unmet_criteria(seen: Seen) -> Iterator[UnmetCriterion]:
    """Every required criterion of the round that is not met, with its reason."""
    if seen.plan is None:
        return
    texts = _texts(seen)
    reasons: dict[tuple[str | None, str], str] = {
        (outcome.subtask_id, STATUS): outcome.failure_reason for outcome in seen.outcomes.values()
    }
    reasons |= {place: verdict.reason for place, verdict in seen.verdicts.items()}
    for criterion in judged(seen):
        if not criterion.passed:
            key = (criterion.subtask, criterion.criterion)
            text = texts.get(key, "the subtask is done")
            yield UnmetCriterion(scope=criterion.subtask or "task", text=text, reason=reasons.get(key, "not run"))
