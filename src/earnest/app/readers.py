"""What surfaces may ask without taking the data directory: books, memory and verification, beside any writer."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from earnest.app import places
from earnest.app.judges import judges_for, reviews_beside
from earnest.app.sandboxes import open_for
from earnest.app.settings import Settings
from earnest.effects.clock import SystemChance, SystemClock
from earnest.effects.probes.measuring import OperatorProbes
from earnest.effects.sandbox.api import MIB
from earnest.effects.storage.reader import ReadPool
from earnest.effects.tools.toolbox import Toolbox
from earnest.foundation.errors import Refused
from earnest.memory.service import MemoryReader, open_memory_reader
from earnest.runtime.judging import Judged, Keeping, Replayed, judged, linted, replayed
from earnest.runtime.order import Grants, Order, read_order
from earnest.runtime.submission import Submission, read_spec, read_submission
from earnest.runtime.verdict_book import VerdictBook
from earnest.verification.lint import Complaint
from earnest.verification.plugin import Judges
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier


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


def order_of(playbook: Path, grants: Grants) -> Order:
    """The order that a playbook makes; nothing is opened for it. Raises `Faulty`."""
    return read_order(playbook, Toolbox(SystemClock()), _reading_verifier(), grants)


def submission_of(spec: Path, work: Path) -> Submission:
    """What is to be judged; nothing is opened for it. Raises `Faulty`."""
    return read_submission(spec, work, _reading_verifier())


async def verdict_on(submission: Submission, settings: Settings, *, keep: bool = True) -> Judged:
    """Judge it, in a sandbox of its own, and keep the verdict for a replay."""
    clock = SystemClock()
    book = _verdict_book(settings)
    keeping = Keeping(book=book, clock=clock) if keep else None
    async with _verifying(settings, clock, book) as verifier:
        return await judged(verifier, submission.spec, submission.base_folder, submission.work, keep_in=keeping)


async def replay_of(name: str, settings: Settings) -> Replayed:
    """Judge a kept verdict again. Raises `Refused("verdict_unknown")` and `Refused("evidence_gone")`."""
    clock = SystemClock()
    book = _verdict_book(settings)
    async with _verifying(settings, clock, book) as verifier:
        return await replayed(verifier, Registry(), book, name)


async def lint_of(spec_path: Path, settings: Settings) -> list[Complaint]:
    """Try a specification on worthless work. Raises `Faulty` for a faulty one."""
    spec = read_spec(spec_path, _reading_verifier())
    async with _verifying(settings, SystemClock(), None) as verifier:
        return await linted(verifier, Registry(), spec, spec_path)


@contextlib.asynccontextmanager
async def _verifying(settings: Settings, clock: SystemClock, book: VerdictBook | None) -> AsyncIterator[Verifier]:
    """A verifier with a sandbox of its own. Without a book nobody is distrusted and no person asked."""
    judges = Judges()
    if book is not None:
        reviews = reviews_beside(places.books(settings.home), clock)
        judges = judges_for(settings.judge, clock, SystemChance(), reviews)
    sandbox = await open_for(settings, clock)
    try:
        yield Verifier(
            registry=Registry(),
            sandbox=sandbox,
            clock=clock,
            judges=judges,
            probes=OperatorProbes(settings.probes, clock),
            distrusted=book.distrusted() if book else (),
        )
    finally:
        await sandbox.close()


def _verdict_book(settings: Settings) -> VerdictBook:
    return VerdictBook(places.verdicts(settings.home), settings.verdicts_mb * MIB)


def _reading_verifier() -> Verifier:
    """One that knows the kinds of checks and runs none."""
    return Verifier(registry=Registry(), sandbox=None, clock=SystemClock())
