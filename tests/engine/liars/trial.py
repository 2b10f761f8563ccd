"""How does a run end whose executor does a deed, and whose judge believes everything? Through every role and book."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.ground.bus.api import Bus
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.api import Mount, Sandbox
from earnest.effects.hands.tools.record import ToolCall
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.engine import Engine
from earnest.engine.gradient.constants import Constants
from earnest.engine.impossibility import ImpossibilityClaim
from earnest.engine.memory_messages import Recollection
from earnest.engine.messages import (
    Budget,
    CorrectionSignal,
    FinalResult,
    PlannedSubTask,
    PlanningFailed,
    PlanReady,
    ReplanRequest,
    Role,
    SubTask,
    SubTaskOutcome,
    SubTaskStatus,
    TaskRequested,
    TaskSpec,
)
from earnest.engine.model.judge import Measure, ModelJudge
from earnest.engine.model_messages import ModelAnswered, ModelTurn
from earnest.engine.ports import Assertion, GuardedTools, ModelReply, PlanningContext, Question, RoleModel
from earnest.engine.post import Outbox
from earnest.engine.run import EngineRun
from earnest.foundation.canonical import JsonObject
from earnest.memory.megram import Tag
from earnest.memory.potential import Potentials
from earnest.runtime.approvals import Approvals
from earnest.runtime.hands import JournaledHands
from earnest.runtime.judge import WorkspaceJudge
from earnest.runtime.order import Grants
from earnest.runtime.run_book import RunBook, RunRemains
from earnest.verification.records.evidence import WorkRecords
from earnest.verification.records.rulings import JudgeOpinion
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

from .case import INPUTS, Deed

DEADLINE_S: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is tried: a deed under criteria; those of the task are asked of R4b over all that was done."""

    deed: Deed
    criteria: tuple[Criterion, ...]
    task_criteria: tuple[Criterion, ...] = ()
    before: tuple[ToolCall, ...] = ()
    answers: Mapping[Role, JsonObject | None] | None = None
    """What the judges answer; by default that all is met by what the deed cites. None: nothing that can be used."""
    corrected: Deed | None = None
    """What the executor does once it was sent back."""


@dataclass
class Told:
    """How a run ended, and what was recorded on the way."""

    result: FinalResult
    objections: list[str]
    """What was wrong with the first execution, or with the round."""
    asked: list[ModelTurn]
    records: WorkRecords | None
    """What the judge was shown last."""


class _Unbelieving:
    """Where a claim is looked into and nothing is confirmed."""

    async def confirmed(self, _claim: ImpossibilityClaim, _needs: Sequence[str], _criteria: Sequence[Criterion]) -> str:
        return ""

    async def lacking(self, _needs: Sequence[str], _criteria: Sequence[Criterion]) -> str:
        return ""


class _Gullible:
    """`Models` that find everything met by whatever they are told to cite."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.asked: list[ModelTurn] = []

    async def ask(self, turn: ModelTurn, question: Question) -> ModelReply:
        self.asked.append(turn)
        value = self._value(turn)
        told = ModelAnswered(
            turn=turn,
            model="gullible",
            calls=1,
            prompt_tokens=len(question.messages[-1].text),
            completion_tokens=1,
            cost_micro=0,
            duration_ms=0,
            failure="" if value else "it is down",
        )
        return ModelReply(value=value, told=told)

    def _value(self, turn: ModelTurn) -> JsonObject | None:
        trial = self._trial
        if trial.answers is not None and turn.role in trial.answers:
            return trial.answers[turn.role]
        criteria = trial.task_criteria if turn.role is Role.R4B else trial.criteria
        deed = trial.corrected if trial.corrected and turn.attempt == 2 else trial.deed
        return all_met(criteria, deed)


def all_met(criteria: Sequence[Criterion], deed: Deed) -> JsonObject:
    """The answer of a judge who believes the deed."""
    evidence = [{"call": call, "quote": quote} for call, quote in deed.cites]
    return {"criteria": [{"id": c.id, "met": True, "evidence": evidence, "reason": "it says so"} for c in criteria]}


class _SeenJudge(ModelJudge):
    """A judge whose records can be looked at."""

    seen: WorkRecords | None = None

    async def opinions(
        self,
        criteria: Sequence[Criterion],
        records: WorkRecords,
        output: str,
        model: RoleModel,
        measure: Measure | None = None,
    ) -> tuple[JudgeOpinion, ...]:
        self.seen = records
        return await super().opinions(criteria, records, output, model, measure)


class _Minds:
    """Perceiver, planner and executor of a run with one subtask."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    async def perceive(self, request: TaskRequested, model: RoleModel) -> TaskSpec:
        return TaskSpec(task_class="trial", intent="do it", raw_input=request.raw_input)

    def tags(self, spec: TaskSpec) -> tuple[Tag, ...]:
        return ()

    async def plan(self, context: PlanningContext, model: RoleModel) -> PlanReady | PlanningFailed:
        if context.round > 1:
            return PlanningFailed(round=context.round, reasons=("it was tried",), exhausted=True)
        work = PlannedSubTask(id="work", sequence=1, intent="do it", criteria=self._trial.criteria)
        return PlanReady(
            round=context.round,
            task_criteria=self._trial.task_criteria,
            subtasks=(work,),
        )

    async def execute(
        self, order: SubTask, correction: CorrectionSignal | None, tools: GuardedTools, model: RoleModel
    ) -> Assertion:
        deed = self._trial.corrected if correction else self._trial.deed
        if deed is None:
            return Assertion(status=SubTaskStatus.FAILED, output="", reason="it was done as well as it can be")
        for call in deed.calls:
            await tools.call(call)
        return Assertion(status=SubTaskStatus.COMPLETED, output=deed.says)


class _NoMemory:
    def look_up(self, tags: Sequence[Tag]) -> tuple[Recollection, ...]:
        return tuple(Recollection(tag=tag, potentials=Potentials(attention=0.0, decision=0.0)) for tag in tags)


async def tried(trial: Trial, sandbox: Sandbox) -> Told:
    """Work the trial's run in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="earnest-liar-") as scratch:
        return await asyncio.wait_for(_work(trial, sandbox, Path(scratch)), DEADLINE_S)


async def _work(trial: Trial, sandbox: Sandbox, folder: Path) -> Told:
    clock, bus = SystemClock(), Bus()
    for name, text in INPUTS.items():
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / name).write_text(text, encoding="utf-8")
    inputs = (Mount(source=folder / "source", target="source"),)
    workspace = Workspace(folder / "workspace", folder / "stages", reserved=("source",))
    database = Database.open(folder / "books.sqlite3", clock)
    book = RunBook(
        run_id="run",
        database=database,
        clock=clock,
        kept=RunRemains(),
        recorded=lambda _seq, _envelope: None,
        failed=lambda _reason: None,
    )
    approvals = Approvals(book=book, clock=clock, kept={})
    hands = JournaledHands(
        book=book,
        toolbox=Toolbox(clock),
        workspace=workspace,
        sandbox=sandbox,
        inputs=inputs,
        grants=Grants(),
        approvals=approvals,
        clock=clock,
    )
    minds, models, mind = _Minds(trial), _Gullible(trial), _SeenJudge(today="2026-11-22")
    run = EngineRun(
        post=Outbox(run_id="run", bus=bus, clock=clock, kept=book),
        perceiver=minds,
        planner=minds,
        executor=minds,
        hands=hands,
        judge=WorkspaceJudge(
            book=book,
            verifier=Verifier(registry=Registry(), sandbox=sandbox, clock=clock),
            workspace=workspace,
            base_folder=folder,
            inputs=inputs,
            mind=mind,
        ),
        models=models,
        confirming=approvals,
        reality=_Unbelieving(),
        constants=Constants(),
    )
    objections: list[str] = []
    bus.tap("ear", lambda envelope: objections.extend(_objections(envelope.payload)))
    try:
        for number, call in enumerate(trial.before, start=1):
            assert (await hands.call(f"r1/earlier/a1/c{number}", call)).ok
        async with Engine(bus=bus, clock=clock, recall=_NoMemory()) as engine:
            result = await engine.work(run, TaskRequested(raw_input="do it", budget=Budget(time_ms=300_000)))
        await book.close()
    finally:
        database.close()
    return Told(result=result, objections=objections, asked=models.asked, records=mind.seen)


def _objections(payload: object) -> list[str]:
    match payload:
        case CorrectionSignal(what_was_wrong=wrong):
            return list(wrong)
        case SubTaskOutcome(failure_reason=reason) | ReplanRequest(gap_summary=reason) if reason:
            return [reason]
    return []
