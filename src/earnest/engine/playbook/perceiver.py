"""A playbook says what it wants in so many words; R1 has nothing to interpret."""

from earnest.contracts.playbook import Playbook
from earnest.engine.messages import TaskRequested, TaskSpec
from earnest.engine.ports import RoleModel


class PlaybookPerceiver:
    """The mind of R1 for a playbook."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook

    async def perceive(self, request: TaskRequested, _model: RoleModel) -> TaskSpec:
        """Intent and task class as the playbook states them."""
        return TaskSpec(task_class=self._playbook.task_class, intent=self._playbook.intent, raw_input=request.raw_input)
