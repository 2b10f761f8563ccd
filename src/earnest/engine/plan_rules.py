"""What a plan must obey. The runtime validates plans; a prompt only asks."""

from collections.abc import Collection, Iterator
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.contracts.playbook import Approach, Step
from earnest.effects.hands.tools.record import ToolCall
from earnest.engine.gradient.blocking import Target, TriedApproach
from earnest.engine.messages import PlanDirective, PlannedSubTask, PlanReady
from earnest.engine.ports import Hands, PlanningContext
from earnest.foundation.names import is_slug

SUBTASKS_MAX: Final = 200


def plan_faults(plan: PlanReady, context: PlanningContext, hands: Hands) -> tuple[str, ...]:
    """Every rule that the plan breaks, in words for whoever planned; empty if it may be dispatched."""
    faults: list[str] = []
    ids = [subtask.id for subtask in plan.subtasks]
    if not ids:
        faults.append("a plan needs at least one subtask")
    if len(ids) > SUBTASKS_MAX:
        faults.append(f"a plan may have at most {SUBTASKS_MAX} subtasks, this one has {len(ids)}")
    if len(set(ids)) != len(ids):
        faults.append("two subtasks have the same id")
    if _repeats_an_id(plan.task_criteria):
        faults.append("two criteria of the task have the same id")
    faults.extend(f"{other} is carried over, and is no subtask of the plan" for other in set(plan.carried) - set(ids))
    for subtask in plan.subtasks:
        found = list(_subtask_faults(subtask))
        if subtask.id in plan.carried:
            found += _carrying_faults(subtask, plan, context)
        else:
            found += blocking_faults(subtask.id, subtask.approach, context.directive, hands)
        faults.extend(f"subtask {subtask.id}: {fault}" for fault in found)
    return tuple(faults)


def _subtask_faults(subtask: PlannedSubTask) -> Iterator[str]:
    if not is_slug(subtask.id):
        yield "its id is not a slug"
    if subtask.sequence < 1:
        yield f"its sequence is {subtask.sequence}, the first is 1"
    if not subtask.criteria:
        yield "it has no criteria"
    if _repeats_an_id(subtask.criteria):
        yield "two of its criteria have the same id"


def _carrying_faults(subtask: PlannedSubTask, plan: PlanReady, context: PlanningContext) -> Iterator[str]:
    """An outcome stands only for what was matched, and only while all that it may rest on stands too."""
    if subtask.id not in context.matched:
        yield "it is carried over, and did not match"
    if any(other.sequence < subtask.sequence and other.id not in plan.carried for other in plan.subtasks):
        yield "it is carried over, and a subtask before it is worked anew"


def blocking_faults(
    subtask_id: str, approach: Approach | None, directive: PlanDirective | None, hands: Hands
) -> Iterator[str]:
    """What of this approach to a subtask is blocked; nothing before the first directive."""
    if directive is None:
        return
    if approach is not None and way_of(subtask_id, approach) in directive.blocked_approaches:
        yield f"it takes the blocked approach {approach.id}"
    for call in planned_calls(approach):
        if blocked := hands.tool_ids(call) & frozenset(directive.blocked_tools):
            yield f"it uses the blocked tool {min(blocked)}"
        if targets(hands, call) & frozenset(directive.blocked_targets):
            yield f"it uses the blocked target {hands.target(call)}"


def way_of(subtask_id: str, approach: Approach) -> TriedApproach:
    """The approach under the name by which it is remembered and blocked."""
    return TriedApproach(subtask=subtask_id, approach=approach.id)


def _repeats_an_id(criteria: Collection[Criterion]) -> bool:
    return len({criterion.id for criterion in criteria}) != len(criteria)


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
