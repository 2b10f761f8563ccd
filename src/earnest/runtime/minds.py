"""The minds of a run. Those of a playbook stand here."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from earnest.contracts.playbook import Playbook
from earnest.engine.playbook import NoModels, PlaybookExecutor, PlaybookPerceiver, PlaybookPlanner
from earnest.engine.ports import Agreeing, Executor, Hands, LastWords, Models, Perceiver, Planner

if TYPE_CHECKING:
    from earnest.engine.model.judge import ModelJudge


@dataclass(frozen=True, slots=True, kw_only=True)
class Minds:
    """One run's, and what they ask; by default nobody."""

    perceiver: Perceiver
    planner: Planner
    executor: Executor
    judge: "ModelJudge | None" = None
    models: Models = field(default_factory=NoModels)
    last_words: LastWords | None = None
    agreeing: Agreeing | None = None


def playbook_minds(playbook: Playbook, hands: Hands) -> Minds:
    """They follow the playbook and ask nobody."""
    return Minds(
        perceiver=PlaybookPerceiver(playbook),
        planner=PlaybookPlanner(playbook, hands),
        executor=PlaybookExecutor(),
    )
