"""The minds of a run whose criteria stand in a spec and whose one subtask a program of somebody else's works.

Nothing is interpreted: the subtask is the spec's. The program is given the task, the criteria and what is unmet, and
answers for none of it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.contracts.node import plain_object
from earnest.contracts.spec import VerificationSpec
from earnest.effects.hands.tools.record import ToolCall
from earnest.effects.hands.tools.task_folder import PROGRAM, PROMPT
from earnest.engine.messages import (
    Alternatives,
    CorrectionSignal,
    PlannedSubTask,
    PlanningFailed,
    PlanReady,
    SubTask,
    SubTaskStatus,
    TaskRequested,
    TaskSpec,
)
from earnest.engine.ports import Assertion, GuardedTools, PlanningContext, RoleModel
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.memory.megram import Tag, approach_tag

SUBTASK: Final = "work"
SHOWN_CHECKS: Final = frozenset({"command", "diff", "files", "json_list", "json_schema", "md_table"})
"""Kinds whose config a program may see. Of others, such as hidden tests, only the kind is told."""


@dataclass(frozen=True, slots=True)
class SpecPerceiver:
    """The mind of R1: the user's words, and the spec's title as the class of such tasks."""

    task_class: str

    async def perceive(self, request: TaskRequested, _model: RoleModel) -> TaskSpec:
        """The intent is the request as it stands."""
        return TaskSpec(task_class=self.task_class, intent=request.raw_input, raw_input=request.raw_input)


@dataclass(frozen=True, slots=True)
class SpecPlanner:
    """The mind of R2: one subtask with the spec's criteria, in every round; `program` names who works it."""

    spec: VerificationSpec
    program: str

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        """How this program fared with such tasks."""
        return (approach_tag(spec.task_class, SUBTASK, self.program),)

    async def plan(self, context: PlanningContext, _model: RoleModel) -> PlanReady | PlanningFailed:
        """What was not met in the round before becomes the context of the next."""
        directive = context.directive
        if directive is not None and PROGRAM in directive.blocked_tools:
            reasons = ("the program was tried, and nobody else is there to do the work",)
            return PlanningFailed(round=context.round, reasons=reasons, exhausted=True)
        told = directive.unmet if directive else ()
        subtask = PlannedSubTask(
            id=SUBTASK,
            sequence=1,
            intent=context.spec.intent,
            criteria=self.spec.criteria,
            context="\n".join(f"- {one.text}: {one.reason}" for one in told),
        )
        alternatives = (Alternatives(subtask_id=SUBTASK, chosen=(PROGRAM,), untried=()),)
        return PlanReady(round=context.round, task_criteria=(), subtasks=(subtask,), alternatives=alternatives)


class ProgramExecutor:
    """The mind of R3. What the program said in earlier executions is kept for it, one file each."""

    def __init__(self, command: str, timeout_ms: int, *, sandbox: bool, network: bool) -> None:
        self._args: JsonObject = {"command": command, "sandbox": True} if sandbox else {"command": command}
        self._timeout_ms = timeout_ms
        self._network = sandbox and network
        self._previous: dict[str, list[str]] = {}

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, _model: RoleModel
    ) -> Assertion:
        """Start the program once. What it prints, and exit code 0, are an assertion."""
        previous = self._previous.setdefault(order.subtask.id, [])
        files = task_files(order, correction, previous)
        call = ToolCall(
            tool=PROGRAM, args={**self._args, "files": files}, timeout_ms=self._timeout_ms, network=self._network
        )
        record = await tools.call(call)
        previous.append(record.output_excerpt)
        if record.ok:
            return Assertion(status=SubTaskStatus.COMPLETED, output=record.output_excerpt)
        assert record.failure is not None
        return Assertion(status=SubTaskStatus.FAILED, output=record.output_excerpt, reason=record.failure.message)


def task_files(order: SubTask, correction: CorrectionSignal | None, previous: list[str]) -> JsonObject:
    """The files of the task folder; the prompt holds what the others do, for programs that read stdin only."""
    task = f"{order.subtask.intent}\n"
    criteria = [_criterion_to_json(criterion) for criterion in order.subtask.criteria]
    feedback = "".join(f"{line}\n" for line in _feedback(order.subtask, correction))
    told = "\n".join(f"- {criterion.id}: {criterion.text}{_how(criterion)}" for criterion in order.subtask.criteria)
    prompt = f"{task}\nThe work is judged by these criteria, in the current folder:\n\n{told}\n"
    if feedback:
        prompt += f"\nNot met so far:\n\n{feedback}"
    files: dict[str, JsonValue] = {
        PROMPT: prompt,
        "task.md": task,
        "criteria.json": json.dumps(criteria, indent=2, ensure_ascii=False) + "\n",
        "feedback.md": feedback,
    }
    files.update({f"previous/{number}.txt": said for number, said in enumerate(previous, start=1)})
    return files


def _feedback(subtask: PlannedSubTask, correction: CorrectionSignal | None) -> Iterator[str]:
    if subtask.context:
        yield subtask.context
    if correction is not None:
        yield from (f"- {wrong}" for wrong in correction.what_was_wrong)
        yield correction.what_to_do


def _criterion_to_json(criterion: Criterion) -> JsonObject:
    check: JsonValue = None
    if criterion.check is not None:
        is_shown = criterion.check.kind in SHOWN_CHECKS
        check = {"kind": criterion.check.kind, "config": plain_object(criterion.check.config) if is_shown else None}
    return {"id": criterion.id, "text": criterion.text, "check": check}


def _how(criterion: Criterion) -> str:
    if criterion.check is None:
        return ""
    kind, config = criterion.check.kind, plain_object(criterion.check.config)
    shown = f" {json.dumps(config, ensure_ascii=False)}" if kind in SHOWN_CHECKS else ""
    return f" (checked: {kind}{shown})"
