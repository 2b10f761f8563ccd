"""The composition root: opens what a process needs, in order, and closes it in the reverse order."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass

from earnest.app import places
from earnest.app.judges import reviews_in
from earnest.app.sandboxes import open_for
from earnest.app.settings import Settings
from earnest.app.verifiers import verifier_for
from earnest.audit.log import AuditLog
from earnest.audit.report import AuditReport, AuditSettings
from earnest.audit.tap import Auditor
from earnest.effects.bus.api import Bus
from earnest.effects.bus.local import LocalBus
from earnest.effects.clock import Clock, SystemChance, SystemClock
from earnest.effects.sandbox.api import SELF_TEST_VALID_MS, Sandbox
from earnest.effects.storage.database import Database
from earnest.effects.tools.toolbox import Toolbox
from earnest.engine.codec import encode
from earnest.engine.engine import Engine
from earnest.engine.messages import SENDERS
from earnest.engine.run import RunLimits
from earnest.foundation.canonical import JsonObject
from earnest.journal.service import Sealer
from earnest.memory.dreamer import Dreamer
from earnest.memory.service import Memory, open_memory
from earnest.runtime.forgetting import Forgetting
from earnest.runtime.recall import MemoryRecall, catch_up
from earnest.runtime.review_book import ReviewBook
from earnest.runtime.task_run import TaskRuns, TaskServices
from earnest.runtime.tree_heads import TREE_HEAD_SENDERS, TreeHead, announcing
from earnest.verification.service import Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A running platform: what surfaces may use."""

    settings: Settings
    clock: Clock
    bus: Bus
    runs: TaskRuns
    engine: Engine
    auditor: Auditor
    memory: Memory
    forgetting: Forgetting
    verifier: Verifier
    reviews: ReviewBook
    sandbox: Sandbox
    toolbox: Toolbox


@contextlib.asynccontextmanager
async def open_platform(
    settings: Settings, *, on_report: Callable[[AuditReport], None] = lambda _: None
) -> AsyncIterator[Platform]:
    """Take the data directory and start everything. Raises `Refused("data_directory_in_use")` beside another writer."""
    clock, chance = SystemClock(), SystemChance()
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with contextlib.AsyncExitStack() as stack:
        database = Database.open(places.books(settings.home), clock)
        stack.callback(database.close)
        bus = LocalBus()
        auditor = _open_auditor(settings, bus, clock, on_report)
        stack.callback(auditor.close)
        sandbox = await open_for(settings, clock)
        stack.push_async_callback(sandbox.close)
        _keep_running(stack, _keep_testing(sandbox, clock))
        await asyncio.sleep(0)  # the self-test begins now, beside all that follows
        memory = open_memory(places.memory(settings.home))
        stack.push_async_callback(memory.close)
        await catch_up(memory, database)
        sealer = Sealer(database, clock, announcing(bus, clock))
        sealer.start()
        stack.push_async_callback(sealer.close)
        recall = MemoryRecall(memory, clock)
        engine = await stack.enter_async_context(Engine(bus=bus, clock=clock, recall=recall))
        reviews = reviews_in(database, clock)
        verifier = verifier_for(settings, sandbox, clock=clock, chance=chance, reviews=reviews)
        toolbox = Toolbox(clock)
        forgetting = Forgetting(memory=memory, dreamer=Dreamer(memory, clock), database=database, clock=clock)
        _keep_running(stack, auditor.watch(), forgetting.watch())
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
            limits=RunLimits(parallel_subtasks=settings.parallel_subtasks, silence_ms=settings.silence_s * 1000),
            clock=clock,
            chance=chance,
        )
        yield Platform(
            settings=settings,
            clock=clock,
            bus=bus,
            runs=TaskRuns(services),
            engine=engine,
            auditor=auditor,
            memory=memory,
            forgetting=forgetting,
            verifier=verifier,
            reviews=reviews,
            sandbox=sandbox,
            toolbox=toolbox,
        )


def _keep_running(stack: contextlib.AsyncExitStack, *work: Coroutine[None, None, None]) -> None:
    """Run beside everything until the stack unwinds."""
    for one in work:
        task = asyncio.get_running_loop().create_task(one)
        stack.callback(task.cancel)


async def _keep_testing(sandbox: Sandbox, clock: Clock) -> None:
    """Attack the sandbox at the start and every few minutes; executions wait for the first result."""
    while True:
        await sandbox.self_test()
        await clock.sleep_ms(SELF_TEST_VALID_MS)


def _open_auditor(settings: Settings, bus: Bus, clock: Clock, on_report: Callable[[AuditReport], None]) -> Auditor:
    log_path = places.audit_log(settings.home)
    log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    senders = {**SENDERS, **TREE_HEAD_SENDERS}
    return Auditor(
        bus=bus,
        log=AuditLog.open(log_path, clock.now_ms()),
        clock=clock,
        encode=_encode,
        senders={kind.__name__: frozenset(map(str, roles)) for kind, roles in senders.items()},
        on_report=on_report,
        settings=audit_settings(settings),
    )


def audit_settings(settings: Settings) -> AuditSettings:
    """The auditor's settings; its ε is the solver's."""
    return AuditSettings(report_period_ms=settings.audit_report_s * 1000, epsilon=settings.solver.epsilon)


def _encode(payload: object) -> JsonObject:
    if isinstance(payload, TreeHead):
        return {"size": payload.size, "root": payload.root}
    return encode(payload)
