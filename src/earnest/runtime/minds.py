"""Which minds work an order? Those of its playbook, or models."""

from dataclasses import dataclass

from earnest.contracts.criterion import CheckFaults
from earnest.contracts.playbook import Playbook
from earnest.engine.model.executor import ModelExecutor
from earnest.engine.model.graceful import last_words
from earnest.engine.model.judge import ModelJudge
from earnest.engine.model.offers import BUILT_IN
from earnest.engine.model.perceiver import ModelPerceiver
from earnest.engine.model.planner import ModelPlanner
from earnest.engine.playbook.executor import PlaybookExecutor
from earnest.engine.playbook.no_models import NoModels
from earnest.engine.playbook.perceiver import PlaybookPerceiver
from earnest.engine.playbook.planner import PlaybookPlanner
from earnest.engine.ports import Executor, Hands, LastWords, Models, Perceiver, Planner


@dataclass(frozen=True, slots=True, kw_only=True)
class Minds:
    """One run's, and what they ask."""

    perceiver: Perceiver
    planner: Planner
    executor: Executor
    judge: ModelJudge | None
    models: Models
    last_words: LastWords | None


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


def model_minds(models: Models, *, today: str, calls_max: int, check_faults: CheckFaults) -> Minds:
    """They ask models. `today` is the ISO date on which the run began, in every process that works it."""
    return Minds(
        perceiver=ModelPerceiver(today=today),
        planner=ModelPlanner(today=today, offers=BUILT_IN, check_faults=check_faults),
        executor=ModelExecutor(offers=BUILT_IN, calls_max=calls_max),
        judge=ModelJudge(today=today),
        models=models,
        last_words=last_words,
    )
