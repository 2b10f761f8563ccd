"""R3 works a subtask with tools. What it says about its work is an assertion; the records are the evidence."""

from dataclasses import dataclass, field

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.asking import Asking
from earnest.engine.guard import ExecutionOver, ToolGuard
from earnest.engine.messages import CorrectionSignal, ExecutionResult, Role, SubTask, SubTaskStatus, TaskSpec
from earnest.engine.participant import Participant, Work
from earnest.engine.ports import Assertion
from earnest.engine.run import EngineRun


@dataclass(slots=True)
class ExecutorState:
    """The order of each subtask in work."""

    orders: dict[str, SubTask] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """What the request takes as given."""


class ExecutorRole(Participant[ExecutorState]):
    """SubTask → ExecutionResult; CorrectionSignal → another ExecutionResult.

    That something is impossible is passed on only with a call that was made, and once the runtime found it so.
    """

    role = Role.R3
    hears = (TaskSpec, SubTask, CorrectionSignal)
    fresh = ExecutorState

    def hear(self, run: EngineRun, state: ExecutorState, envelope: Envelope) -> Work | None:
        """Work, or work again."""
        match envelope.payload:
            case TaskSpec(needs=needs):
                state.needs = needs
            case SubTask() as order:
                state.orders[order.subtask.id] = order
                return self._execute(run, state, envelope, order, None)
            case CorrectionSignal(subtask_id=subtask_id) as correction:
                return self._execute(run, state, envelope, state.orders[subtask_id], correction)
        return None

    async def _execute(
        self, run: EngineRun, state: ExecutorState, cause: Envelope, order: SubTask, correction: CorrectionSignal | None
    ) -> None:
        attempt = correction.attempt + 1 if correction else 1
        guard = ToolGuard(run, order, attempt, cause)
        model = Asking(run, Role.R3, cause, round_number=order.round, subtask_id=order.subtask.id, attempt=attempt)
        try:
            said = await run.executor.execute(order, correction, guard, model)
        except ExecutionOver:
            said = None
        if said is None or guard.over:
            said = Assertion(status=SubTaskStatus.FAILED, output="", reason=guard.over)
        missing = ""
        if said.impossible is not None and said.impossible.names_one_of(len(guard.calls)):
            missing = await run.reality.confirmed(said.impossible, state.needs, order.subtask.criteria)
        result = ExecutionResult(
            round=order.round,
            subtask_id=order.subtask.id,
            attempt=attempt,
            status=said.status,
            output=said.output,
            calls=tuple(guard.calls),
            reason=said.reason,
            impossible=missing,
        )
        run.post.send(Role.R3, f"{guard.prefix}result", result, cause)
