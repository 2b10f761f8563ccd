"""R1 and R2 of a run whose criteria stand in a spec: nothing is interpreted, the one subtask is the spec's."""

from typing import Final

from earnest.contracts.spec import VerificationSpec
from earnest.effects.hands.tools.task_folder import PROGRAM
from earnest.engine.messages import Alternatives, PlannedSubTask, PlanningFailed, PlanReady, TaskRequested, TaskSpec
from earnest.engine.ports import PlanningContext, RoleModel
from earnest.memory.megram import Tag, approach_tag

SUBTASK: Final = "work"


class SpecPerceiver:
    """The mind of R1: the user's words, and the spec's title as the class of such tasks."""

    def __init__(self, task_class: str) -> None:
        self._task_class = task_class

    async def perceive(self, request: TaskRequested, _model: RoleModel) -> TaskSpec:
        """The intent is the request as it stands."""
        return TaskSpec(task_class=self._task_class, intent=request.raw_input, raw_input=request.raw_input)


class SpecPlanner:
    """The mind of R2: one subtask with the spec's criteria, in every round; `program` names who works it."""

    def __init__(self, spec: VerificationSpec, program: str) -> None:
        self._spec = spec
        self._program = program

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        """How this program fared with such tasks."""
        return (approach_tag(spec.task_class, SUBTASK, self._program),)

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
            criteria=self._spec.criteria,
            context="\n".join(f"- {one.text}: {one.reason}" for one in told),
        )
        alternatives = (Alternatives(subtask_id=SUBTASK, chosen=(PROGRAM,), untried=()),)
        return PlanReady(round=context.round, task_criteria=(), subtasks=(subtask,), alternatives=alternatives)
