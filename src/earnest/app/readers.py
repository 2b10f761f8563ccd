"""What surfaces may ask without taking the data directory: books, memory and verification, beside any writer."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from earnest.app import places
from earnest.app.judges import reviews_beside
from earnest.app.sandboxes import open_for
from earnest.app.settings import Settings, read_settings
from earnest.app.toolboxes import toolbox_for
from earnest.app.verifiers import bare_verifier, verdict_book, verifier_for
from earnest.contracts.spec import VerificationSpec
from earnest.effects.clock import Clock, SystemChance, SystemClock
from earnest.effects.sandbox.api import Sandbox
from earnest.effects.storage.reader import ReadPool
from earnest.foundation.errors import Refused
from earnest.memory.service import MemoryReader, open_memory_reader
from earnest.runtime.judging import Judged, Keeping, Replayed, judged, linted, replayed
from earnest.runtime.order import Grants, Order, read_order
from earnest.runtime.submission import Submission, read_spec, read_submission
from earnest.runtime.task_log_reading import Exchange, read_task_log
from earnest.verification.lint import Complaint
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

if TYPE_CHECKING:
    from earnest.runtime.edits.change import RunChange


@contextlib.contextmanager
def reading_books(settings: Settings) -> Iterator[ReadPool]:
    """The books, read-only. Raises `Refused("no_database")` before the first run."""
    books = ReadPool.open_reader(places.books(settings.home))
    try:
        yield books
    finally:
        books.close()


@contextlib.contextmanager
def reading_memory(settings: Settings) -> Iterator[MemoryReader]:
    """The memory, read-only. Raises `Refused("memory_missing")` before the first run."""
    memory = open_memory_reader(places.memory(settings.home))
    try:
        yield memory
    finally:
        memory.close()


def audit_log(settings: Settings) -> Path:
    """Where the auditor's log is. Raises `Refused("audit_log_missing")` before the first run."""
    path = places.audit_log(settings.home)
    if not path.is_file():
        raise Refused("audit_log_missing", f"there is no audit log at {path} yet")
    return path


def task_log(settings: Settings, run_id: str) -> Iterator[Exchange | None]:
    """What the models of a run were told and answered, in order; None for what cannot be read. Raises `OSError`."""
    from earnest.runtime.task_run import RUNS_FOLDER  # noqa: PLC0415 - loads all that runs need

    return read_task_log(settings.home / RUNS_FOLDER / run_id)


def order_of(playbook: Path, grants: Grants, settings: Settings | None = None) -> Order:
    """The order that a playbook makes, by default under the settings in force; nothing is opened. Raises `Faulty`."""
    clock = SystemClock()
    return read_order(playbook, toolbox_for(settings or read_settings(), clock), bare_verifier(clock), grants)


def change_of(settings: Settings, run: str | None) -> "RunChange":
    """What a run changed in the user's files; by default the newest run. Raises as `read_change`."""
    from earnest.runtime.edits.change import read_change  # noqa: PLC0415 - loads all that runs need
    from earnest.runtime.task_run import RUNS_FOLDER  # noqa: PLC0415
    from earnest.views.runs import find_run, newest_run  # noqa: PLC0415

    with reading_books(settings) as books:
        run_id = books.read_sync(lambda reader: find_run(reader, run) if run else newest_run(reader))
        return books.read_sync(lambda reader: read_change(reader, run_id, settings.home / RUNS_FOLDER))


def submission_of(spec: Path, work: Path) -> Submission:
    """What is to be judged; nothing is opened for it. Raises `Faulty`."""
    return read_submission(spec, work, bare_verifier(SystemClock()))


def spec_of(spec: Path) -> tuple[VerificationSpec, Path]:
    """A specification, and the folder that the files lie in which its checks name. Raises `Faulty`."""
    return read_spec(spec, bare_verifier(SystemClock())), spec.absolute().parent


async def verdict_on(submission: Submission, settings: Settings, *, keep: bool | None = None) -> Judged:
    """Judge it, in a sandbox of its own. The verdict is kept for a replay, by default if there is a data directory."""
    clock = SystemClock()
    if keep is None:
        keep = settings.home.is_dir()
    if keep:
        with contextlib.suppress(OSError):  # told when the verdict cannot be kept
            settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    keeping = Keeping(book=verdict_book(settings), clock=clock) if keep else None
    async with _verifying(settings, clock) as verifier:
        return await judged(verifier, submission.spec, submission.base_folder, submission.work, keep_in=keeping)


async def replay_of(name: str, settings: Settings) -> Replayed:
    """Judge a kept verdict again. Raises `Refused("verdict_unknown")` and `Refused("evidence_gone")`."""
    async with _verifying(settings, SystemClock()) as verifier:
        return await replayed(verifier, Registry(), verdict_book(settings), name)


async def lint_of(spec_path: Path, settings: Settings) -> list[Complaint]:
    """Try a specification on worthless work. Raises `Faulty` for a faulty one."""
    clock = SystemClock()
    spec = read_spec(spec_path, bare_verifier(clock))
    path = spec_path.absolute()  # noqa: ASYNC240 - nothing is looked up
    async with _sandbox(settings, clock) as sandbox:
        return await linted(bare_verifier(clock, sandbox), Registry(), spec, path)


@contextlib.asynccontextmanager
async def _verifying(settings: Settings, clock: Clock) -> AsyncIterator[Verifier]:
    """A verifier with a sandbox of its own, which asks people in the books of whoever writes them."""
    async with _sandbox(settings, clock) as sandbox:
        reviews = reviews_beside(places.books(settings.home), clock)
        yield verifier_for(settings, sandbox, clock=clock, chance=SystemChance(), reviews=reviews)


@contextlib.asynccontextmanager
async def _sandbox(settings: Settings, clock: Clock) -> AsyncIterator[Sandbox]:
    sandbox = await open_for(settings, clock)
    try:
        yield sandbox
    finally:
        await sandbox.close()
