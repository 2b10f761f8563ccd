"""What a plan must obey. The runtime validates plans; a prompt only asks."""

from collections.abc import Iterable
from typing import Final

from earnest.contracts.playbook import Approach, Step
from earnest.effects.tools.record import ToolCall
from earnest.engine.gradient.blocking import Target
from earnest.engine.messages import PlanDirective, PlannedSubTask, PlanReady
from earnest.engine.ports import Hands
from earnest.foundation.names import is_slug

SUBTASKS_MAX: Final = 200


def plan_faults(plan: PlanReady, directive: PlanDirective | None, hands: Hands) -> tuple[str, ...]:
    """Every rule that the plan breaks, in words for whoever planned; empty if it may be dispatched."""
    faults: list[str] = []
    ids = [subtask.id for subtask in plan.subtasks]
    if not ids:
        faults.append("a plan needs at least one subtask")
    if len(ids) > SUBTASKS_MAX:
        faults.append(f"a plan may have at most {SUBTASKS_MAX} subtasks, this one has {len(ids)}")
    if len(set(ids)) != len(ids):
        faults.append("two subtasks have the same id")
    for subtask in plan.subtasks:
        faults.extend(f"subtask {subtask.id}: {fault}" for fault in _subtask_faults(subtask, plan, directive, hands))
    return tuple(faults)


def _subtask_faults(
    subtask: PlannedSubTask, plan: PlanReady, directive: PlanDirective | None, hands: Hands
) -> Iterable[str]:
    if not is_slug(subtask.id):
        yield "its id is not a slug"
    if subtask.sequence < 1:
        yield f"its sequence is {subtask.sequence}, the first is 1"
    if not subtask.criteria:
        yield "it has no criteria"
    if directive is None or subtask.id in plan.carried:
        return
    for call in planned_calls(subtask.approach):
        blocked = hands.tool_ids(call) & frozenset(directive.blocked_tools)
        if blocked:
            yield f"it uses the blocked tool {min(blocked)}"
        if targets(hands, call) & frozenset(directive.blocked_targets):
            yield f"it uses the blocked target {hands.target(call)}"


def planned_calls(approach: Approach | None) -> tuple[ToolCall, ...]:
    """The tool calls that are already fixed when the plan is made; none for a model's executor."""
    if approach is None:
        return ()
    steps = [*approach.steps, *(step for steps in approach.corrections for step in steps)]
    return tuple(tool_call(step) for step in steps)


def tool_call(step: Step) -> ToolCall:
    """A playbook's step as the call that R3 makes of it."""
    return ToolCall(
        tool=step.tool,
        args=step.args,
        timeout_ms=step.timeout_s * 1000,
        network=step.network,
        writes=step.writes,
    )


def targets(hands: Hands, call: ToolCall) -> frozenset[Target]:
    """What the call touches, in the form in which targets are blocked."""
    return frozenset(Target(tool=tool, target=hands.target(call)) for tool in hands.tool_ids(call))
