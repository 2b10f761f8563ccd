"""The story of a task: from a playbook to a result, and on from where a crash left it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from earnest.contracts.never import never_criteria
from earnest.effects.ground.bus.api import Bus
from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.edits.taking import EDIT_LIMITS
from earnest.effects.hands.outside_file import Outside
from earnest.effects.hands.sandbox.api import Mount, Sandbox
from earnest.effects.hands.sandbox.equipped import equipped
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.codec import encode
from earnest.engine.engine import Engine
from earnest.engine.facts import FINISHED, RESUMED, STARTED
from earnest.engine.gradient.cascade import AbandonCause
from earnest.engine.gradient.constants import Constants, Tuning
from earnest.engine.messages import FinalResult, TaskSpec
from earnest.engine.ports import Clarifier, EffectUnknown
from earnest.engine.post import Outbox, Pause, active_ms
from earnest.engine.run import EngineRun, RunLimits
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, EarnestError, Refused, Unavailable, Waits
from earnest.foundation.facts import Fact
from earnest.foundation.instants import rfc3339
from earnest.runtime.approvals import Agreements, Approvals, Clarifications, Person, Promisee
from earnest.runtime.edits.change import undo_store
from earnest.runtime.edits.outside import Preimages
from earnest.runtime.edits.taking import TAKEN, edit_bases, history_mounts, take_in_edits
from earnest.runtime.hands import JournaledHands, Listener
from earnest.runtime.judge import WorkspaceJudge
from earnest.runtime.layers import laying
from earnest.runtime.minds import Minds, playbook_minds
from earnest.runtime.order import Order, PlaybookOrder, RequestOrder, refuse_private
from earnest.runtime.programs import program_minds
from earnest.runtime.recall import MemoryRecall
from earnest.runtime.redaction import Redaction
from earnest.runtime.run_book import RunBook, RunRemains
from earnest.runtime.surroundings import Surroundings
from earnest.runtime.task_log import TaskLog
from earnest.runtime.telling import (
    Unfinished,
    Untold,
    check_known,
    hold_run,
    let_run_go,
    marker_of,
    unfinished,
    untold,
    waiting_runs,
    waits,
)
from earnest.runtime.unknown_effects import EffectDecision, UnknownEffect, decide, open_effect
from earnest.verification.service import Verifier

if TYPE_CHECKING:
    from earnest.runtime.model_calls import RoleModels

RUNS_FOLDER: Final = "runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskServices:
    """What a task needs of the process that works it."""

    home: Path
    database: Database
    bus: Bus
    engine: Engine
    recall: MemoryRecall
    verifier: Verifier
    sandbox: Sandbox
    toolbox: Toolbox
    constants: Constants
    tuning: Mapping[str, Tuning]
    limits: RunLimits
    clock: Clock
    chance: Chance
    models: "Callable[[], Awaitable[RoleModels]]"
    """The model of each role, looked for when the first task in words comes. Raises `Unavailable` if there is none."""
    redaction: Redaction
    user_home: Path | None = None
    """What of the user's files tools may read."""
    person: Person | None = None
    """Who is asked for leave, if anybody is there."""
    clarifier: Clarifier | None = None
    """Who is asked about a request, if anybody is there."""
    promisee: Promisee | None = None
    """Who is shown a promise before the work begins, if anybody is there."""


class TaskRuns:
    """Begins and works tasks. Records `run.started`, `run.resumed` and `run.finished`."""

    def __init__(self, services: TaskServices) -> None:
        self._services = services
        self._working: set[str] = set()
        self._preparing: set[str] = set()
        self._listeners: dict[str, Listener] = {}

    async def begin(self, order: Order) -> str:
        """Take an order on; the id of its run, which is ours for `work` to work.

        Raises `Refused("input_private")`, and `Unavailable` without a model.
        """
        shown = (*order.inputs.values(), *order.edits.values())
        if shown and (user_home := self._services.user_home) is not None:
            await asyncio.to_thread(refuse_private, shown, user_home, self._services.home)
        if isinstance(order, RequestOrder) and order.spec is None:
            await self._services.models()
        run_id = f"run_{self._services.chance.new_id(self._services.clock.now_ms())}"
        hold_run(self._folder(run_id))
        await self._record(run_id, STARTED, order.to_json())
        return run_id

    async def work(self, run_id: str) -> FinalResult:
        """Work a run to its end, from wherever it stands.

        Raises `Refused` (`run_unknown`, `run_finished`, `run_in_work`, `too_many_runs`), and `Waits` if it stopped
        without an end. Cancelled, it has none either. A run that has an end stays ours until `note_told`.
        """
        if run_id in self._working:
            raise Refused("run_in_work", f"{run_id} is being worked already")
        self._services.database.read_sync(lambda reader: check_known(reader, run_id))
        hold_run(self._folder(run_id))
        self._working.add(run_id)
        self._preparing.add(run_id)
        try:
            return await self._resume(run_id)
        except BaseException:
            let_run_go(self._folder(run_id))
            raise
        finally:
            self._preparing.discard(run_id)
            self._working.discard(run_id)

    def stop(self, run_id: str, detail: str) -> bool:
        """End a run in the user's name; one that has ended is left alone.

        False while its servers of tools and whatever else it needs are still got ready: then whoever awaits `work` has
        to be cancelled, and the run stays unfinished.
        """
        self._services.engine.stop(run_id, AbandonCause.USER, detail)
        return run_id not in self._preparing

    def remark(self, run_id: str, text: str) -> bool:
        """Tell a run that is worked what its user says; its next plan heeds it. False if there is none to tell."""
        return self._services.engine.remark(run_id, text)

    @contextmanager
    def overheard(self, run_id: str, listener: Listener) -> Iterator[None]:
        """Within the block the listener hears what is said and put out in this run, as it comes. One a run."""
        self._listeners[run_id] = listener
        try:
            yield
        finally:
            del self._listeners[run_id]

    def workspace_of(self, run_id: str) -> Path:
        """Where the run's files are."""
        return self._folder(run_id) / "workspace"

    async def interrupted(self, order: Order) -> str | None:
        """The first of `telling.waiting_runs` that nobody else has; it is ours then."""
        runs = self._services.home / RUNS_FOLDER
        read = self._services.database.read
        found = await read(lambda reader: list(waiting_runs(reader, order.digest, runs)))
        for run_id in (one for one in found if one not in self._working):
            with suppress(Refused):
                hold_run(self._folder(run_id))
                if await read(partial(waits, run_id=run_id, runs_folder=runs)):  # still: others are quick
                    return run_id
                let_run_go(self._folder(run_id))
        return None

    async def untold(self, run_id: str) -> Untold | None:
        """See `telling.untold`."""
        runs = self._services.home / RUNS_FOLDER
        return await self._services.database.read(lambda reader: untold(reader, run_id, runs))

    async def open_effect(self, run_id: str) -> UnknownEffect | None:
        """What a person is asked before the run can go on."""
        return await self._services.database.read(lambda reader: open_effect(reader, run_id))

    async def decide(self, run_id: str, decision: EffectDecision, by: str, key: str | None = None) -> None:
        """See `unknown_effects.decide`."""
        await decide(self._services.database, self._services.clock, run_id, decision, by=by, key=key)

    async def _resume(self, run_id: str) -> FinalResult:
        left = await self._services.database.read(lambda reader: unfinished(reader, run_id))
        try:
            return await self._go_on(run_id, left)
        except Refused:
            raise
        except EffectUnknown as unknown:
            raise Waits(run_id, str(unknown), asks=True) from unknown
        except Exception as error:
            told = str(error) if isinstance(error, EarnestError) else f"{type(error).__name__}: {error}"
            raise Waits(run_id, told) from error

    async def _go_on(self, run_id: str, left: Unfinished) -> FinalResult:
        if left.order.equipment is not None:
            left.order.equipment.check()
        if not left.kept.messages:
            return await self._work(run_id, left, (), 0)
        pause = Pause(from_ms=left.last_ms, to_ms=max(left.last_ms, self._services.clock.now_ms()))
        await self._record(run_id, RESUMED, {"from_ms": pause.from_ms, "to_ms": pause.to_ms})
        started_ms = next((m.at_ms for m in left.kept.messages.values() if isinstance(m.payload, TaskSpec)), None)
        elapsed_ms = 0 if started_ms is None else active_ms(started_ms, left.last_ms, left.pauses)
        return await self._work(run_id, left, (*left.pauses, pause), elapsed_ms)

    async def _work(self, run_id: str, left: Unfinished, pauses: tuple[Pause, ...], elapsed_ms: int) -> FinalResult:
        services, kept = self._services, left.kept
        book = RunBook(
            run_id=run_id,
            database=services.database,
            clock=services.clock,
            kept=kept,
            recorded=services.recall.project,
            failed=lambda reason: run.fail(Broken(reason)),
        )
        run, workspace = await self._admit(left, book, pauses)
        self._preparing.discard(run_id)
        log = TaskLog(self._folder(run_id), services.redaction, services.clock)
        marker = marker_of(self._folder(run_id))
        # Beside the work, for a new file takes as long as a commit.
        made = asyncio.get_running_loop().run_in_executor(None, _make_files, marker, log)
        end_tap = services.bus.tap(f"book of {run_id}", book.see)
        end_log = services.bus.tap(f"task log of {run_id}", log.see)
        result = next((m.payload for m in kept.messages.values() if isinstance(m.payload, FinalResult)), None)
        try:
            if result is None:
                result = await services.engine.work(run, left.order.request, already_elapsed_ms=elapsed_ms)
            await workspace.sweep()
            await made
        except BaseException:
            with suppress(Broken, Unavailable):
                await book.close()
            raise
        finally:
            end_tap()
            end_log()
            workspace.close()
        marker.touch()
        body: JsonObject = {"result": encode(result)}
        await book.close((Fact(kind=FINISHED, subject=run_id, at_ms=services.clock.now_ms(), body=body),))
        return result

    async def _admit(self, left: Unfinished, book: RunBook, pauses: tuple[Pause, ...]) -> tuple[EngineRun, Workspace]:
        services, order, kept, run_id = self._services, left.order, left.kept, book.run_id
        mounts = tuple(Mount(source=path, target=name) for name, path in order.inputs.items())
        await services.toolbox.open(order.tools)
        mounts += history_mounts(order.edits, self._folder(run_id))
        before = self.workspace_of(order.after) if isinstance(order, RequestOrder) and order.after else None
        workspace = Workspace(
            self.workspace_of(run_id),
            self._folder(run_id) / "stages",
            EDIT_LIMITS if order.edits or before else None,
            reserved=tuple(mount.target for mount in mounts),
            lays=laying(services.sandbox),
        )
        await take_in_edits(
            order.edits,
            workspace,
            self._folder(run_id),
            lambda body: self._record(run_id, TAKEN, body),
            before=before,
            inputs=order.inputs,
        )
        approvals, undo = self._approvals(order, book, kept), undo_store(services.home / RUNS_FOLDER, run_id)
        hands = JournaledHands(
            book=book,
            toolbox=services.toolbox,
            workspace=workspace,
            sandbox=equipped(services.sandbox, order.equipment),
            inputs=mounts,
            grants=order.grants,
            program=order.program if isinstance(order, RequestOrder) else None,
            approvals=approvals,
            clock=services.clock,
            home=services.user_home,
            preimages=Preimages(undo, run_id=run_id, home=services.user_home, ours=services.home),
            listener=self._listeners.get(run_id),
        )
        await hands.recover(kept.outcomes, kept.intents)
        around = Surroundings(order, workspace, services.user_home, attended=services.person is not None)
        minds = await self._minds(left, book, hands, around)
        budget = order.request.budget
        run = EngineRun(
            post=Outbox(run_id=run_id, bus=services.bus, clock=services.clock, kept=book, pauses=pauses),
            perceiver=minds.perceiver,
            planner=minds.planner,
            executor=minds.executor,
            hands=hands,
            confirming=approvals,
            judge=self._judge(order, book, workspace, mounts, minds=minds, hands=hands),
            models=minds.models,
            agreeing=minds.agreeing,
            reality=around,
            last_words=minds.last_words,
            tuning=services.tuning,
            constants=replace(services.constants, time_budget_ms=budget.time_ms, max_replans=order.replans),
            limits=services.limits,
        )
        return run, workspace

    def _approvals(self, order: Order, book: RunBook, kept: RunRemains) -> Approvals:
        services = self._services
        return Approvals(
            book=book,
            clock=services.clock,
            beforehand=order.grants.approved,
            person=services.person,
            kept=kept.outcomes,
        )

    def _judge(
        self,
        order: Order,
        book: RunBook,
        workspace: Workspace,
        mounts: tuple[Mount, ...],
        *,
        minds: Minds,
        hands: JournaledHands,
    ) -> WorkspaceJudge:
        services = self._services
        return WorkspaceJudge(
            book=book,
            verifier=services.verifier.equipped(order.equipment),
            workspace=workspace,
            base_folder=order.folder,
            inputs=mounts,
            bases=edit_bases(order.edits, workspace),
            mind=minds.judge,
            look=hands.look,
            outside=Outside(home=services.user_home, hidden=(services.home,)) if services.user_home else None,
        )

    async def _minds(self, left: Unfinished, book: RunBook, hands: JournaledHands, around: Surroundings) -> Minds:
        services, order = self._services, left.order
        if isinstance(order, PlaybookOrder):
            return playbook_minds(order.playbook, hands)
        executor = None
        if order.program is not None:
            executor = order.program.executor(order.request.budget, network=order.grants.network)
            if order.spec is not None:
                return program_minds(order.spec, executor, order.program)
        from earnest.runtime.minds_of_models import model_minds, offers_of, within_reach  # noqa: PLC0415 - no playbook needs them
        from earnest.runtime.model_calls import JournaledModels, Purse, charged_in  # noqa: PLC0415

        listener = self._listeners.get(book.run_id)
        models = JournaledModels(
            book=book,
            models=await services.models(),
            purse=Purse(order.request.budget, charged_in(left.kept.outcomes)),
            clock=services.clock,
            log=TaskLog(self._folder(book.run_id), services.redaction, services.clock),
            ear=listener.said if listener else None,
        )
        clarifier, attended = Clarifications(book, services.clarifier), services.person is not None
        tools = within_reach(services.toolbox.tools.values(), order.grants, attended=attended)
        return model_minds(
            models,
            agreeing=Agreements(book, services.promisee),
            standing=never_criteria(order.never),
            offers=offers_of(tools, order.grants, attended=attended),
            today=rfc3339(left.started_ms)[:10],
            calls_max=services.limits.calls_per_execution,
            clarifier=clarifier if clarifier.has_answers else None,
            check_faults=lambda check: services.verifier.check_faults(check, order.folder),
            persona=services.recall.persona(),
            look=around.look,
            executor=executor,
        )

    def _folder(self, run_id: str) -> Path:
        return self._services.home / RUNS_FOLDER / run_id

    async def _record(self, run_id: str, kind: str, body: JsonObject) -> None:
        fact = Fact(kind=kind, subject=run_id, at_ms=self._services.clock.now_ms(), body=body)
        await self._services.database.write(lambda transaction: transaction.record(fact))


def _make_files(marker: Path, log: TaskLog) -> None:
    log.begin()
    with suppress(OSError):  # whoever needs it tries again
        marker.touch()
