"""Values of a payload that go into the log in the clear: the few that reports and calibration need."""

from collections.abc import Mapping
from math import isfinite
from typing import Final, TypeGuard

from earnest.audit.event import Scalar, plain
from earnest.foundation.canonical import INTEGER_MAX, JsonObject, JsonValue

_LOSS: Final = {
    "D": "loss.distance",
    "P": "loss.implausibility",
    "Omega": "loss.resource",
    "L": "loss.total",
    "quality": "loss.quality",
    "gradient": "gradient",
    "loss_gradient": "loss_gradient",
    "directive": "directive",
}

FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "TaskRequested": {
        "budget_time_ms": "budget.time_ms",
        "budget_cost_micro": "budget.cost_micro",
        "budget_tokens": "budget.tokens",
        "budget_model_calls": "budget.model_calls",
    },
    "TaskSpec": {"task_class": "task_class"},
    "ModelAsked": {"prompt": "prompt"},
    "ModelAnswered": {
        "model": "model",
        "calls": "calls",
        "prompt_tokens": "prompt_tokens",
        "completion_tokens": "completion_tokens",
        "cost_micro": "cost_micro",
        "duration_ms": "duration_ms",
    },
    "PlanReady": {"round": "round"},
    "PlanningFailed": {"round": "round"},
    "SubTask": {"subtask_id": "subtask.id", "round": "round"},
    "ToolCalled": {
        "subtask_id": "subtask_id",
        "attempt": "attempt",
        "tool": "record.tool",
        "exit_code": "record.exit_code",
        "ok": "record.ok",
        "failure_class": "record.failure.failure_class",
        "duration_ms": "record.duration_ms",
    },
    "ExecutionResult": {"subtask_id": "subtask_id", "attempt": "attempt", "status": "status"},
    "CorrectionSignal": {"subtask_id": "subtask_id", "attempt": "attempt", "failure_class": "failure_class"},
    "SubTaskOutcome": {"subtask_id": "subtask_id", "status": "status"},
    "ReplanRequest": {"round": "round", "failed": "failed", "not_run": "not_run"},
    "OutcomeSummary": {"round": "round"},
    "PlanDirective": {"round": "round", "urgency": "urgency", **_LOSS},
    "StopRequested": {"cause": "cause"},
    "FinalResult": {
        "cause": "cause",
        "replans": "replans",
        "spent_cost_micro": "usage.cost_micro",
        "spent_prompt_tokens": "usage.prompt_tokens",
        "spent_completion_tokens": "usage.completion_tokens",
        "spent_model_calls": "usage.model_calls",
        "passes": "usage.passes",
        **_LOSS,
    },
    "RunResumed": {"downtime_ms": "downtime_ms"},
    "TreeHead": {"size": "size", "root": "root"},
}
"""Kind → name in the log → path in the payload. A path that leads nowhere is left out of the line.

Of a list, the number of its items is logged.
"""


_PATHS: Final = {kind: tuple((name, path.split(".")) for name, path in names.items()) for kind, names in FIELDS.items()}


def select_fields(kind: str, payload: JsonObject) -> dict[str, Scalar]:
    """The logged values of a payload: scalars only, text cut to 200 printable characters."""
    selected: dict[str, Scalar] = {}
    for name, path in _PATHS.get(kind, ()):
        value: JsonValue = payload
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str):
            selected[name] = plain(value)
        elif isinstance(value, list):
            selected[name] = len(value)
        elif _is_number(value):
            selected[name] = value
    return selected


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    """True for a bool or a number that RFC 8785 can write."""
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and -INTEGER_MAX <= value <= INTEGER_MAX
