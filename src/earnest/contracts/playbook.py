"""Playbooks: plans in YAML that run without a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from earnest.contracts.criterion import Criterion, criterion_to_json
from earnest.contracts.environment import EnvironmentSpec, environment_to_json
from earnest.contracts.node import frozen_object
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.shapes import to_json

FORMAT: Final = "earnest-playbook-v1"
INTENT_CHARACTERS_MAX: Final = 4_000
STEPS_MAX: Final = 10
INPUTS_MAX: Final = 50
WRITES_MAX: Final = 20
BUDGET_S_MAX: Final = 86_400
REPLANS_MAX: Final = 10
STEP_S_MAX: Final = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookBudget:
    """`time_s`: 1 to `BUDGET_S_MAX`; `replans`: 0 to `REPLANS_MAX`."""

    time_s: int = 300
    replans: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One tool call. `writes`: paths outside the workspace; `look`: a command that tells whether they were written."""

    tool: str
    args: JsonObject = field(default_factory=dict)
    timeout_s: int = 60
    may_fail: bool = False
    network: bool = False
    writes: tuple[str, ...] = ()
    look: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", frozen_object(self.args))


@dataclass(frozen=True, slots=True, kw_only=True)
class Approach:
    """One way to do a subtask. `corrections` are tried in order when the checks did not pass."""

    id: str
    steps: tuple[Step, ...]
    corrections: tuple[tuple[Step, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """A part of the task. Subtasks of one sequence may run at once; `after` is what the author wrote, if anything."""

    id: str
    intent: str
    criteria: tuple[Criterion, ...]
    approaches: tuple[Approach, ...]
    sequence: int = 1
    after: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """`inputs` and `edits` map a name in the workspace to a path: absolute, or relative to the playbook's folder.

    An input is read; of an edit the run works on a copy, which takes the original's place only after a verdict.
    """

    intent: str
    task_class: str
    subtasks: tuple[Subtask, ...]
    criteria: tuple[Criterion, ...] = ()
    budget: PlaybookBudget = PlaybookBudget()
    inputs: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)
    environment: EnvironmentSpec | None = None


def playbook_to_json(playbook: Playbook) -> JsonObject:
    """The playbook in its own format, every default written out; `playbook_from_json` gives it back."""
    return {
        "format": FORMAT,
        "intent": playbook.intent,
        "task_class": playbook.task_class,
        "budget": to_json(playbook.budget),
        "inputs": dict(playbook.inputs),
        "edits": dict(playbook.edits),
        **environment_to_json(playbook.environment),
        "criteria": [criterion_to_json(criterion) for criterion in playbook.criteria],
        "subtasks": [_subtask_to_json(subtask) for subtask in playbook.subtasks],
    }


def _subtask_to_json(subtask: Subtask) -> JsonObject:
    order: dict[str, JsonValue] = (
        {"sequence": subtask.sequence} if subtask.after is None else {"after": list(subtask.after)}
    )
    return {
        "id": subtask.id,
        **order,
        "intent": subtask.intent,
        "criteria": [criterion_to_json(criterion) for criterion in subtask.criteria],
        "approaches": [to_json(approach) for approach in subtask.approaches],
    }
