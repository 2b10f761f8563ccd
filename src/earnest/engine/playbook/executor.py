"""A playbook's executor takes the steps of the chosen approach in order and stops at the first that fails."""

from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.messages import CorrectionSignal, SubTask, SubTaskStatus
from earnest.engine.plan_rules import tool_call
from earnest.engine.ports import Assertion, GuardedTools, RoleModel
from earnest.foundation.errors import Broken


class PlaybookExecutor:
    """The mind of R3 for a playbook. A correction takes the next list of the approach's `corrections`."""

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, _model: RoleModel
    ) -> Assertion:
        """Status `failed` names the step that failed; a step with `may_fail` fails without consequence."""
        approach = order.subtask.approach
        if approach is None:
            raise Broken(f"subtask {order.subtask.id} of a playbook has no approach")
        steps = approach.steps if correction is None else approach.corrections[correction.attempt - 1]
        records: list[ToolRecord] = []
        failure = ""
        for number, step in enumerate(steps, start=1):
            record = await tools.call(tool_call(step), step.look)
            records.append(record)
            if not record.ok and not step.may_fail:
                assert record.failure is not None
                failure = f"step {number} ({step.tool}): {record.failure.message}"
                break
        return Assertion(
            status=SubTaskStatus.FAILED if failure else SubTaskStatus.COMPLETED,
            output=records[-1].output_excerpt if records else "",
            reason=failure,
        )
