"""Which minds work an order? Those of its playbook, or models."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from earnest.contracts.criterion import CheckFaults
from earnest.contracts.playbook import Playbook
from earnest.effects.tools.api import Leave, Tool
from earnest.engine.model.executor import ModelExecutor
from earnest.engine.model.graceful import last_words
from earnest.engine.model.judge import ModelJudge
from earnest.engine.model.offers import Offer
from earnest.engine.model.perceiver import ModelPerceiver
from earnest.engine.model.planner import ModelPlanner
from earnest.engine.playbook.executor import PlaybookExecutor
from earnest.engine.playbook.no_models import NoModels
from earnest.engine.playbook.perceiver import PlaybookPerceiver
from earnest.engine.playbook.planner import PlaybookPlanner
from earnest.engine.ports import Clarifier, Executor, Hands, LastWords, Models, Perceiver, Planner
from earnest.runtime.order import Grants


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


def offers_of(tools: Iterable[Tool]) -> tuple[Offer, ...]:
    """What models are told of these tools, in their order: the first that fits is to be preferred (seed R3)."""
    return tuple(Offer(name=tool.name, purpose=tool.purpose, args=tool.args_schema) for tool in tools)


def within_reach(tools: Iterable[Tool], grants: Grants, *, attended: bool) -> Iterator[Tool]:
    """Those for which leave was given, or somebody is there to give it: a call of another one would end the run."""
    for tool in tools:
        granted = tool.leave is Leave.NONE or (tool.leave is Leave.NETWORK and grants.network)
        if granted or attended:
            yield tool


def model_minds(
    models: Models,
    *,
    tools: Iterable[Tool],
    today: str,
    calls_max: int,
    check_faults: CheckFaults,
    clarifier: Clarifier | None,
) -> Minds:
    """They ask models. `today` is the ISO date on which the run began, in every process that works it."""
    offers = offers_of(tools)
    return Minds(
        perceiver=ModelPerceiver(today=today, clarifier=clarifier),
        planner=ModelPlanner(today=today, offers=offers, check_faults=check_faults),
        executor=ModelExecutor(offers=offers, calls_max=calls_max),
        judge=ModelJudge(today=today),
        models=models,
        last_words=last_words,
    )
