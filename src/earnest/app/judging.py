"""What surfaces may ask of verification without taking the data directory. Loads what judging needs, no more."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from earnest.app import places
from earnest.app.judging_settings import JudgingSettings
from earnest.app.sandboxes import POOL, equipment_for, open_for
from earnest.app.verifiers import bare_verifier, verdict_book, verifier_for
from earnest.contracts.criterion import Criterion
from earnest.contracts.spec import VerificationSpec, spec_of_json
from earnest.effects.ground.clock import Clock, SystemChance, SystemClock
from earnest.effects.ground.storage.place import Books
from earnest.effects.hands.sandbox.api import Mount, Sandbox
from earnest.effects.hands.sandbox.equipped import Equipment
from earnest.effects.hands.scratch import scratch
from earnest.foundation.canonical import JsonObject
from earnest.runtime.judging import (
    Keeping,
    RecordedVerdict,
    Replayed,
    SubmittedWork,
    judged,
    linted,
    read_spec,
    replayed,
)
from earnest.verification.lint import Complaint
from earnest.verification.plugin import Reviews
from earnest.verification.registry import Registry
from earnest.verification.reviews.review import Decision
from earnest.verification.service import PARALLEL_CHECKS, Verifier
from earnest.verification.verdict import Answer, Verdict

if TYPE_CHECKING:
    from earnest.runtime.order import PlaybookOrder


class _Reviews:
    """See `Reviews`. What reads and writes books is loaded when somebody has to be asked."""

    def __init__(self, books: Books, clock: Clock) -> None:
        self._books = books
        self._clock = clock

    async def find(self, review_id: str, /) -> Decision | None:
        """See `Reviews`."""
        return await self._book().find(review_id)

    async def ask(self, verdict: Verdict, /) -> None:
        """See `Reviews`."""
        await self._book().ask(verdict)

    def _book(self) -> Reviews:
        from earnest.app.reviews import reviews_beside  # noqa: PLC0415

        return reviews_beside(self._books, self._clock)


def spec_of(spec: Path) -> tuple[VerificationSpec, Path]:
    """A specification, and the folder that the files lie in which its checks name. Raises `Faulty`."""
    return read_spec(spec, bare_verifier(SystemClock())), spec.absolute().parent


def equipment_beside(spec: VerificationSpec, folder: Path, settings: JudgingSettings) -> Equipment | None:
    """The environment that a specification of this folder asks for. Raises `Faulty` if it is not there."""
    return equipment_for(spec.environment, folder, settings)


def spec_of_document(document: JsonObject, folder: Path) -> VerificationSpec:
    """The specification that a document is, whose checks name files in `folder`. Raises `Faulty` with every fault."""
    verifier = bare_verifier(SystemClock())
    return spec_of_json(document, "contract", check_faults=lambda check: verifier.check_faults(check, folder))


async def verdicts_on(
    submissions: Sequence[SubmittedWork],
    settings: JudgingSettings,
    tell: Callable[[SubmittedWork, RecordedVerdict], None],
    *,
    keep: bool | None = None,
) -> list[RecordedVerdict]:
    """Judge them in one sandbox, as many at once as there are processors; `tell` is told of each in its turn.

    The verdicts are kept for a replay, by default if there is a data directory.
    """
    clock = SystemClock()
    specs = {id(one.spec): one for one in submissions}
    equipment = {key: equipment_beside(one.spec, one.base_folder, settings) for key, one in specs.items()}
    if keep is None:
        keep = settings.home.is_dir()
    if keep:
        with contextlib.suppress(OSError):  # told when the verdict cannot be kept
            places.make(settings.home)
    keeping = Keeping(book=verdict_book(settings), clock=clock) if keep else None
    parallel = min(PARALLEL_CHECKS, len(os.sched_getaffinity(0)))
    at_once = asyncio.Semaphore(parallel)

    async def judge(one: SubmittedWork) -> RecordedVerdict:
        async with at_once:
            found = equipment[id(one.spec)]
            return await judged(verifier, one.spec, one.base_folder, one.work, keep_in=keeping, equipment=found)

    async with verifying(settings, clock, pool=parallel if len(submissions) > 1 else 0) as verifier:
        tasks = [asyncio.ensure_future(judge(one)) for one in submissions]
        try:
            for one, task in zip(submissions, tasks, strict=True):
                tell(one, await task)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return [task.result() for task in tasks]


async def replay_of(name: str, settings: JudgingSettings) -> Replayed:
    """Judge a kept verdict again. Raises `Refused("verdict_unknown")` and `Refused("evidence_gone")`."""
    async with verifying(settings, SystemClock()) as verifier:
        return await replayed(verifier, Registry(), verdict_book(settings), name)


async def met_by_nothing(order: "PlaybookOrder", settings: JudgingSettings) -> list[Criterion]:
    """The criteria of a playbook that are verified where nothing was done, beside its inputs and what it edits."""
    from earnest.runtime.edits.taking import untouched  # noqa: PLC0415 - whoever judges one submission edits nothing

    mounts = tuple(Mount(source=path, target=name) for name, path in order.inputs.items())
    groups = [order.playbook.criteria, *(subtask.criteria for subtask in order.playbook.subtasks)]
    met: list[Criterion] = []
    with scratch("nothing") as folder, scratch("histories") as histories:
        bases, history = await asyncio.to_thread(untouched, order.edits, folder, histories)
        async with verifying(settings, SystemClock()) as bare:
            verifier = bare.equipped(order.equipment)
            for criteria in filter(None, groups):
                verdict = await verifier.verify(
                    criteria,
                    folder,
                    base_folder=order.folder,
                    mounts=(*mounts, *history),
                    bases=bases,
                    trusted_workspace=True,
                )
                answers = zip(criteria, verdict.criteria, strict=True)
                met += [criterion for criterion, line in answers if line.answer is Answer.VERIFIED]
    return met


async def lint_of(spec_path: Path, settings: JudgingSettings) -> list[Complaint]:
    """Try a specification on worthless work. Raises `Faulty` for a faulty one."""
    clock = SystemClock()
    spec = read_spec(spec_path, bare_verifier(clock))
    path = spec_path.absolute()  # noqa: ASYNC240 - nothing is looked up
    equipment = equipment_beside(spec, path.parent, settings)
    async with _sandbox(settings, clock) as sandbox:
        return await linted(bare_verifier(clock, sandbox).equipped(equipment), Registry(), spec, path)


@contextlib.asynccontextmanager
async def verifying(settings: JudgingSettings, clock: Clock, *, pool: int = POOL) -> AsyncIterator[Verifier]:
    """A verifier with a sandbox of its own, which asks people in the books of whoever writes them."""
    async with _sandbox(settings, clock, pool) as sandbox:
        reviews = _Reviews(settings.books, clock)
        yield verifier_for(settings, sandbox, clock=clock, chance=SystemChance(), reviews=reviews)


@contextlib.asynccontextmanager
async def _sandbox(settings: JudgingSettings, clock: Clock, pool: int = POOL) -> AsyncIterator[Sandbox]:
    sandbox = await open_for(settings, clock, pool=pool)
    try:
        yield sandbox
    finally:
        await sandbox.close()
