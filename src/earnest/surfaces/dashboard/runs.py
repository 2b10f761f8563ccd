"""Runs: all of them, and one with its promise, rounds, tool output, change and cost."""

from typing import Any, Final

from earnest.engine.messages import CorrectionSignal, PlanDirective, PlanReady, SubTaskOutcome, ToolCalled
from earnest.foundation.errors import EarnestError, Refused
from earnest.surfaces.dashboard.look import Look
from earnest.surfaces.loss import loss_chart
from earnest.views.runs import RoundView, RunView, list_runs, show_run

RUNS_MAX: Final = 200
DIFF_LINES_MAX: Final = 5_000


def show_runs(look: Look) -> tuple[str, dict[str, Any]]:
    """The newest runs first."""
    look.need_all()
    return "runs.html", {"title": "Runs", "runs": list_runs(look.reader, RUNS_MAX)}


def show_run_page(look: Look) -> tuple[str, dict[str, Any]]:
    """One run in full."""
    look.need_all()
    view = show_run(look.reader, look.params["run_id"])
    return "run.html", {
        "title": view.line.intent,
        "view": view,
        "rounds": [_round(one) for one in view.rounds],
        "chart": loss_chart(view),
        **_change(look, view),
    }


def _round(one: RoundView) -> dict[str, Any]:
    """A round as a tree: the plan, under each subtask its attempts, and what was decided."""
    plan = next(message for message in one.messages if isinstance(message, PlanReady))
    subtasks = []
    for subtask in plan.subtasks:
        mine = [message for message in one.messages if getattr(message, "subtask_id", None) == subtask.id]
        outcome = next((message for message in mine if isinstance(message, SubTaskOutcome)), None)
        numbers = sorted({one.attempt for one in mine if isinstance(one, ToolCalled | CorrectionSignal)})
        subtasks.append(
            {
                "planned": subtask,
                "is_carried": subtask.id in plan.carried,
                "outcome": outcome,
                "verdicts": {verdict.id: verdict for verdict in outcome.verdicts} if outcome else {},
                "attempts": [
                    {
                        "number": number,
                        "calls": [m for m in mine if isinstance(m, ToolCalled) and m.attempt == number],
                        "corrections": [m for m in mine if isinstance(m, CorrectionSignal) and m.attempt == number],
                    }
                    for number in numbers
                ],
            }
        )
    said = [
        one for one in one.messages if not isinstance(one, PlanReady | ToolCalled | CorrectionSignal | SubTaskOutcome)
    ]
    return {
        "number": one.number,
        "plan": plan,
        "subtasks": subtasks,
        "directive": next((message for message in said if isinstance(message, PlanDirective)), None),
        "verdicts": [verdict for message in said for verdict in getattr(message, "task_verdicts", ())],
    }


def _change(look: Look, view: RunView) -> dict[str, Any]:
    """What the run changed in the user's files, if it was given any and they can be read here."""
    nothing = {"change": None, "diff": "", "is_cut": False}
    if look.place is None:
        return nothing
    from earnest.runtime.edits.change import read_change  # noqa: PLC0415 - loads all that runs need

    try:
        change = read_change(look.reader, view.line.run_id, look.place.runs)
        lines = [line for edit in change.edits for line in edit.diff()]
    except (Refused, EarnestError, OSError):
        return nothing
    return {"change": change, "diff": "\n".join(lines[:DIFF_LINES_MAX]), "is_cut": len(lines) > DIFF_LINES_MAX}
