"""The minds of a run. Those of a playbook stand here."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from earnest.contracts.playbook import Playbook
from earnest.engine.playbook import NoModels, PlaybookExecutor, PlaybookPerceiver, PlaybookPlanner
from earnest.engine.ports import Agreeing, Executor, Hands, LastWords, Models, Perceiver, Planner

if TYPE_CHECKING:
    from earnest.engine.model.judge import ModelJudge


@dataclass(frozen=True, slots=True, kw_only=True)
class Minds:
    """One run's, and what they ask."""

    perceiver: Perceiver
    planner: Planner
    executor: Executor
    judge: "ModelJudge | None"
    models: Models
    last_words: LastWords | None
    agreeing: Agreeing | None = None


def playbook_minds(playbook: Playbook, hands: Hands) -> Minds:
    """They follow the playbook and ask nobody."""
    return Minds(
        perceiver=PlaybookPerceiver(playbook),
        planner=PlaybookPlanner(playbook, hands),
        executor=PlaybookExecutor(),
        judge=None,
        models=NoModels(),
        last_words=None,
    )
