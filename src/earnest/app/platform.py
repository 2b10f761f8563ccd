"""The composition root: opens what a process needs, in order, and closes it in the reverse order."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from earnest.app import places
from earnest.app.between import relay_in
from earnest.app.models import ModelPool, distiller_for
from earnest.app.own_runs import edits_in
from earnest.app.reviews import reviews_in
from earnest.app.sandboxes import open_for
from earnest.app.settings import Settings
from earnest.app.toolboxes import toolbox_for
from earnest.app.verifiers import verifier_for
from earnest.audit.files import give_name
from earnest.audit.log import AuditLog
from earnest.audit.report import AuditReport, AuditSettings
from earnest.audit.snapshot import keep_report
from earnest.audit.tap import Auditor
from earnest.effects.ground.bus.api import Bus
from earnest.effects.ground.clock import Clock, SystemChance, SystemClock
from earnest.effects.ground.locks import alone
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.api import SELF_TEST_VALID_MS, Sandbox
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.outside.artifacts.store import MEBIBYTE
from earnest.engine.codec import SENDERS
from earnest.engine.engine import Engine
from earnest.engine.ports import Clarifier
from earnest.engine.run import RunLimits
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.journal.heads import Witness
from earnest.journal.service import Sealer
from earnest.memory.dreamer import Dreamer
from earnest.memory.service import Memory, open_memory
from earnest.runtime.approvals import Person, Promisee
from earnest.runtime.dreaming import Dreaming
from earnest.runtime.edits.applying import Edits
from earnest.runtime.recall import MemoryRecall, catching_up, changes_in
from earnest.runtime.redaction import Redaction, secrets_in
from earnest.runtime.remembering import Remembering
from earnest.runtime.review_book import ReviewBook
from earnest.runtime.task_run import TaskRuns, TaskServices
from earnest.runtime.tracing import open_tracing
from earnest.runtime.tree_heads import TREE_HEAD_SENDERS, announcing, encode_said
from earnest.verification.service import Verifier

STEPS_AT_START: Final = 4
"""Of memory's catching up, before anything else is done."""
PAUSE_MS: Final = 50
"""Between two further steps, so that who works has most of the machine."""
DREAMER_WAIT_MS: Final = 60_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A running platform: what surfaces may use."""

    clock: Clock
    bus: Bus
    runs: TaskRuns
    edits: Edits
    engine: Engine
    memory: Memory
    dreaming: Dreaming
    remembering: Remembering
    verifier: Verifier
    reviews: ReviewBook
    sandbox: Sandbox
    toolbox: Toolbox

    async def after_run(self) -> None:
        """What a run taught is kept, and what is out of date forgotten: when its end has been told."""
        await self.memory.flush()
        await self.dreaming.expire()


@contextlib.asynccontextmanager
async def open_platform(
    settings: Settings,
    *,
    person: Person | None = None,
    clarifier: Clarifier | None = None,
    promisee: Promisee | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Platform]:
    """Join those who use the data directory and start everything. Raises `Refused("data_directory_in_use")`.

    `person` is asked for leave, `clarifier` about requests, `promisee` is shown promises; None: nobody is there.
    `clock`: None is the machine's.
    """
    clock, chance = clock or SystemClock(), SystemChance()
    places.make(settings.home)
    async with contextlib.AsyncExitStack() as stack:
        database = stack.enter_context(contextlib.closing(Database.open(settings.books, clock)))
        bus = Bus()
        auditor = stack.enter_context(contextlib.closing(open_auditor(settings, bus, clock, lambda _: None)))
        _trace(stack, bus)
        await relay_in(stack, settings, database, bus, clock)
        sandbox = await open_sandbox_in(stack, settings, clock)
        memory = await open_memory_in(stack, settings, database, clock)
        keep_sealing(stack, settings, database, bus, clock, auditor=auditor)
        edits = await edits_in(settings, database, clock)
        recall, toolbox = MemoryRecall(memory, clock), toolbox_for(settings, clock)
        stack.push_async_callback(toolbox.close)
        engine = await stack.enter_async_context(Engine(bus=bus, clock=clock, recall=recall))
        reviews = reviews_in(database, clock)
        verifier = verifier_for(settings, sandbox, clock=clock, chance=chance, reviews=reviews)
        models = await stack.enter_async_context(ModelPool(settings.models, clock=clock, chance=chance))
        dreamer = Dreamer(memory, clock, distiller_for(models, clock, chance))
        dreaming = Dreaming(
            memory=memory,
            dreamer=dreamer,
            database=database,
            bus=bus,
            clock=clock,
            alone=lambda: alone(places.lock(settings.home, "dreamer"), clock, DREAMER_WAIT_MS),
        )
        remembering = Remembering(
            memory=memory, recall=recall, dreaming=dreaming, database=database, bus=bus, clock=clock, chance=chance
        )
        keep_running(stack, auditor.watch(), dreaming.watch())
        services = TaskServices(
            home=settings.home,
            database=database,
            bus=bus,
            engine=engine,
            recall=recall,
            verifier=verifier,
            sandbox=sandbox,
            toolbox=toolbox,
            constants=settings.solver,
            tuning=settings.tuning,
            limits=RunLimits(
                parallel_subtasks=settings.parallel_subtasks,
                calls_per_execution=settings.calls_per_execution,
                silence_ms=settings.silence_s * 1000,
            ),
            clock=clock,
            chance=chance,
            models=models.of_roles,
            redaction=_redaction(settings),
            user_home=Path.home(),
            person=person,
            clarifier=clarifier,
            promisee=promisee,
        )
        yield Platform(
            clock=clock,
            bus=bus,
            runs=TaskRuns(services),
            edits=edits,
            engine=engine,
            memory=memory,
            dreaming=dreaming,
            remembering=remembering,
            verifier=verifier,
            reviews=reviews,
            sandbox=sandbox,
            toolbox=toolbox,
        )


@contextlib.asynccontextmanager
async def open_remembering(settings: Settings) -> AsyncIterator[Remembering]:
    """Memory, and what hands a word to it, without the rest of the platform."""
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        database = stack.enter_context(contextlib.closing(Database.open(settings.books, clock)))
        bus = Bus()
        stack.enter_context(contextlib.closing(open_auditor(settings, bus, clock, lambda _: None)))
        await relay_in(stack, settings, database, bus, clock)
        memory = await open_memory_in(stack, settings, database, clock)
        dreamer = Dreamer(memory, clock, None)
        yield Remembering(
            memory=memory,
            recall=MemoryRecall(memory, clock),
            dreaming=Dreaming(memory=memory, dreamer=dreamer, database=database, bus=bus, clock=clock),
            database=database,
            bus=bus,
            clock=clock,
            chance=SystemChance(),
        )


async def open_memory_in(
    stack: contextlib.AsyncExitStack, settings: Settings, database: Database, clock: Clock
) -> Memory:
    """Memory, caught up; where it is far behind, that goes on beside what follows."""
    memory = open_memory(settings.memory, changes_in(database))
    stack.push_async_callback(memory.close)
    steps = _catching_up(memory)
    for _ in range(STEPS_AT_START):
        if not await anext(steps, 0):
            return memory
    keep_running(stack, _in_steps(steps, clock))
    return memory


async def _catching_up(memory: Memory) -> AsyncIterator[int]:
    """Memory stops nobody: what the disk does not take now is applied at the next start."""
    try:
        async for step in catching_up(memory):
            yield step
    except Unavailable as error:
        _log.warning("memory stays behind until the next start: %s", error)


async def _in_steps(steps: AsyncIterator[int], clock: Clock) -> None:
    async for _ in steps:
        await clock.sleep_ms(PAUSE_MS)


async def open_sandbox_in(stack: contextlib.AsyncExitStack, settings: Settings, clock: Clock) -> Sandbox:
    """A sandbox that is tested at the start and every few minutes."""
    sandbox = await open_for(settings, clock)
    stack.push_async_callback(sandbox.close)
    keep_running(stack, _keep_testing(sandbox, clock))
    await asyncio.sleep(0)  # the self-test begins now, beside all that follows
    return sandbox


def _redaction(settings: Settings) -> Redaction:
    keys = (settings.models.api_key, settings.judge.api_key, settings.web.api_key)
    servers = (given for server in settings.mcp_servers for given in (server.env, server.headers))
    return Redaction((*keys, *(secret for given in (os.environ, *servers) for secret in secrets_in(given))))


def _trace(stack: contextlib.AsyncExitStack, bus: Bus) -> None:
    """Send traces to the collector that the environment names, if it names one."""
    tracing = open_tracing(os.environ)
    if tracing is not None:
        stack.push_async_callback(tracing.close)
        bus.tap("tracing", tracing.see)


def keep_sealing(
    stack: contextlib.AsyncExitStack,
    settings: Settings,
    database: Database,
    bus: Bus,
    clock: Clock,
    *,
    auditor: Auditor,
) -> None:
    """Seal facts as they come, tell the auditor of each head, and hold in each where its log ended.

    One process does, over all; when it ends, another one goes on.
    """

    named = "" if isinstance(settings.books, Path) else give_name(places.audit_log(settings.home), SystemChance())

    def witness() -> Witness | None:
        end = auditor.durable()
        return Witness(lines=end.lines, head=end.head, log=named) if end else None

    sealer = Sealer(database, clock, announcing(bus, clock), witness, partial(database.leads, "sealer"))
    sealer.start()
    stack.push_async_callback(sealer.close)


def keep_running(stack: contextlib.AsyncExitStack, *work: Coroutine[None, None, None]) -> None:
    """Run beside everything until the stack unwinds."""
    for one in work:
        task = asyncio.get_running_loop().create_task(one)
        stack.callback(task.cancel)


async def _keep_testing(sandbox: Sandbox, clock: Clock) -> None:
    """Attack the sandbox every few minutes, and at the start if no kept result counts; executions wait for that."""
    while True:
        await sandbox.self_test(SELF_TEST_VALID_MS)
        await clock.sleep_ms(SELF_TEST_VALID_MS)


def open_auditor(
    settings: Settings,
    bus: Bus,
    clock: Clock,
    on_report: Callable[[AuditReport], None],
    encode: Callable[[object], JsonObject] = encode_said,
) -> Auditor:
    """The auditor of this process, with its own log, beside which each periodic report is kept before it is told."""
    log_path = places.audit_log(settings.home)
    log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    senders = {**SENDERS, **TREE_HEAD_SENDERS}

    def take(report: AuditReport) -> None:
        keep_report(log_path, report)
        on_report(report)

    return Auditor(
        bus=bus,
        log=AuditLog.open(log_path, clock.now_ms(), settings.audit_file_mb * MEBIBYTE),
        clock=clock,
        encode=encode,
        senders={kind.__name__: frozenset(map(str, roles)) for kind, roles in senders.items()},
        on_report=take,
        settings=audit_settings(settings),
    )


def audit_settings(settings: Settings) -> AuditSettings:
    """The auditor's settings; its ε is the solver's."""
    return AuditSettings(report_period_ms=settings.audit_report_s * 1000, epsilon=settings.solver.epsilon)
