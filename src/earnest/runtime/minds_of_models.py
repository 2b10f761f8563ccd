"""Minds that ask models, for tasks in words. No playbook loads this."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from earnest.contracts.criterion import CheckFaults, Criterion
from earnest.effects.hands.tools.api import Leave, Tool
from earnest.effects.hands.tools.shell import Shell
from earnest.effects.hands.tools.task_folder import PROGRAM
from earnest.engine.model.calling import ToolOffer
from earnest.engine.model.executor import ModelExecutor
from earnest.engine.model.graceful import last_words
from earnest.engine.model.judge import ModelJudge
from earnest.engine.model.perceiver import ModelPerceiver
from earnest.engine.model.planner import ModelPlanner
from earnest.engine.picture import Look
from earnest.engine.ports import Agreeing, Clarifier, Executor, Models
from earnest.runtime.minds import Minds
from earnest.runtime.order import Grants

_NO_GRANTS: Final = Grants()


def offers_of(tools: Iterable[Tool], grants: Grants = _NO_GRANTS, *, attended: bool = True) -> tuple[ToolOffer, ...]:
    """What models are told of these tools, in their order: the first that fits is to be preferred (seed R3)."""
    asked = tuple(_grantable(grants, attended=attended))
    return tuple(
        ToolOffer(name=tool.name, purpose=tool.purpose, args=tool.args_schema, reach=_reach(tool, asked))
        for tool in tools
    )


def _grantable(grants: Grants, *, attended: bool) -> Iterator[str]:
    """What a command may ask for: what nobody can grant would end the run."""
    if attended or grants.approved or grants.network:
        yield "network"
    if attended or grants.approved or grants.write:
        yield "writes"


def _reach(tool: Tool, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Only a command takes the network and writes outside; what stands elsewhere takes its time."""
    if tool.name == Shell.name:
        return ("timeout_s", *asked)
    return () if tool.leave is Leave.NONE else ("timeout_s",)


def within_reach(tools: Iterable[Tool], grants: Grants, *, attended: bool) -> Iterator[Tool]:
    """Those for which leave was given, or somebody is there to give it: a call of another one would end the run.

    A program is for the user to name.
    """
    for tool in tools:
        granted = tool.leave is Leave.NONE or (tool.leave is Leave.NETWORK and grants.network)
        if (granted or attended) and tool.name != PROGRAM:
            yield tool


def model_minds(
    models: Models,
    *,
    offers: Sequence[ToolOffer],
    today: str,
    calls_max: int,
    check_faults: CheckFaults,
    clarifier: Clarifier | None,
    persona: str,
    look: Look,
    executor: Executor | None = None,
    agreeing: Agreeing | None = None,
    standing: Sequence[Criterion] = (),
) -> Minds:
    """They ask models. `today` is the ISO date on which the run began, in every process that works it.

    The `persona` is for those that speak, plan and work, not for who judges. An `executor` takes the place of the model
    that would work.
    """
    return Minds(
        perceiver=ModelPerceiver(today=today, clarifier=clarifier, persona=persona, look=look),
        planner=ModelPlanner(
            today=today, offers=offers, check_faults=check_faults, persona=persona, look=look, standing=standing
        ),
        executor=executor or ModelExecutor(offers=offers, calls_max=calls_max, persona=persona, look=look),
        judge=ModelJudge(today=today, look=look),
        models=models,
        last_words=partial(last_words, persona=persona),
        agreeing=agreeing,
    )
