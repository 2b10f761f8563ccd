"""The words with which a run ends: what was done, what was not, why, and what could be done next."""

from collections.abc import Iterator
from typing import Final

from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.gradient.trajectory import Trajectory
from earnest.engine.messages import FinalResult, SubTaskEnding, UnmetCriterion
from earnest.engine.sensing import STATUS, Seen, judged
from earnest.engine.spending import usage_of

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


def final_result(seen: Seen, trajectory: Trajectory, detail: str, elapsed_ms: int) -> FinalResult:
    """The last message of a run whose trajectory has ended. Partial results are named as such."""
    decision = trajectory.end
    assert decision is not None
    last = trajectory.rounds[-1] if trajectory.rounds else None
    done = tuple(outcome for outcome in seen.planned_outcomes if outcome.status is SubTaskEnding.MATCHED)
    names = {outcome.subtask_id for outcome in done}
    planned = seen.plan.subtasks if seen.plan else ()
    unmet = tuple(unmet_criteria(seen))
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


def unmet_criteria(seen: Seen) -> Iterator[UnmetCriterion]:
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
