"""Runs: all of them, and one with its promise, rounds, tool output, change and cost."""

from typing import Any, Final

from earnest.engine.gradient.cascade import MacroState
from earnest.engine.messages import CorrectionSignal, PlanDirective, PlanReady, SubTaskOutcome, ToolCalled
from earnest.foundation.errors import EarnestError, Refused
from earnest.runtime.leave import open_questions
from earnest.runtime.unknown_effects import EffectDecision, open_effect
from earnest.surfaces.cli.lines import NAMES, Teller
from earnest.surfaces.dashboard.look import Look
from earnest.surfaces.leave import question_lines
from earnest.surfaces.loss import loss_chart
from earnest.views.runs import RoundView, RunLine, RunView, list_runs, show_run

PAGE: Final = 50
DIFF_LINES_MAX: Final = 5_000
LINE_CHARACTERS_MAX: Final = 300
LOOKED_AT_MAX: Final = 20
KNOWN_MAX: Final = 1_000


def show_runs(look: Look) -> tuple[str, dict[str, Any]]:
    """The newest runs first."""
    look.need_all()
    found = list_runs(look.reader, PAGE + 1, look.query.get("before", "")[:60])
    more = found[PAGE - 1].run_id if len(found) > PAGE else ""
    return "runs.html", {"title": "Runs", "runs": found[:PAGE], "more": more}


def show_run_page(look: Look) -> tuple[str, dict[str, Any]]:
    """One run in full."""
    look.need_all()
    view = show_run(look.reader, look.params["run_id"])
    return "run.html", {
        "title": view.line.intent,
        "view": view,
        "rounds": [_round(one) for one in view.rounds],
        "chart": loss_chart(view),
        "messages": _messages(view),
        "asked": open_effect(look.reader, view.line.run_id),
        "leave": [
            (one, question_lines(one.asked)) for one in open_questions(look.reader, view.line.run_id, look.now_ms)
        ],
        "decisions": list(EffectDecision),
        **_change(look, view),
    }


def changes_to_apply(look: Look) -> list[RunLine]:
    """Runs among the newest whose change was accepted, is not nothing, and was neither applied nor taken back."""
    if look.place is None:
        return []
    from earnest.runtime.edits.change import APPLYING  # noqa: PLC0415 - loads all that runs need
    from earnest.runtime.edits.taking import TAKEN  # noqa: PLC0415

    def has(kind: str, run_id: str) -> bool:
        return next(look.reader.facts(kind=kind, subject=run_id, limit=1), None) is not None

    return [
        one
        for one in list_runs(look.reader, LOOKED_AT_MAX)
        if one.result is not None
        and one.result.directive is MacroState.ACCEPT
        and has(TAKEN, one.run_id)
        and not has(APPLYING, one.run_id)
        and _has_changed(look, one.run_id)
    ]


_CHANGED: Final[dict[tuple[str, str], bool]] = {}
"""What is known of runs that have ended: their workspaces are read once."""


def _has_changed(look: Look, run_id: str) -> bool:
    from earnest.runtime.edits.change import read_change  # noqa: PLC0415

    assert look.place is not None
    key = (str(look.place.runs), run_id)
    if key not in _CHANGED:
        try:
            _CHANGED[key] = not read_change(look.reader, run_id, look.place.runs).is_empty
        except (EarnestError, OSError):
            return False
        if len(_CHANGED) > KNOWN_MAX:
            del _CHANGED[next(iter(_CHANGED))]
    return _CHANGED[key]


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


def _messages(view: RunView) -> list[dict[str, Any]]:
    """What roles said on the bus, the newest first, as the live view of `earnest run` words it."""
    teller = Teller(LINE_CHARACTERS_MAX)
    told = [
        {
            "at_ms": one.at_ms,
            "sender": NAMES.get(one.sender, str(one.sender)),
            "kind": one.kind,
            "lines": [text for text, _ in teller.lines_of(one.payload)],
        }
        for one in view.messages
    ]
    return told[::-1]


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
