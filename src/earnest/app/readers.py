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
from earnest.runtime.submission import read_spec
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
    """The memory, read-only. Raises `Refused("no_memory")` before the first run."""
    path = places.memory(settings.home)
    if not path.exists():
        raise Refused("no_memory", "nothing is remembered yet")
    memory = open_memory_reader(path)
    try:
        yield memory
    finally:
        memory.close()


def order_of(playbook: Path, grants: Grants) -> Order:
    """The order that a playbook makes; nothing is opened for it. Raises `Faulty`."""
    clock = SystemClock()
    return read_order(playbook, Toolbox(clock), Verifier(registry=Registry(), sandbox=None, clock=clock), grants)


async def judged_by(spec_path: Path, submission: Path, settings: Settings, *, keep: bool = True) -> Judged:
    """Judge a folder or an archive by a specification, in a sandbox of its own. Raises `Faulty` for a faulty spec."""
    clock = SystemClock()
    spec = read_spec(spec_path, Verifier(registry=Registry(), sandbox=None, clock=clock))
    book = _verdict_book(settings)
    keeping = Keeping(book=book, clock=clock) if keep else None
    async with _verifying(settings, clock, book) as verifier:
        return await judged(verifier, spec, spec_path.parent, submission, keep_in=keeping)


async def replay_of(name: str, settings: Settings) -> Replayed:
    """Judge a kept verdict again. Raises `Refused("verdict_unknown")` and `Refused("evidence_gone")`."""
    clock = SystemClock()
    book = _verdict_book(settings)
    async with _verifying(settings, clock, book) as verifier:
        return await replayed(verifier, Registry(), book, name)


async def lint_of(spec_path: Path, settings: Settings) -> list[Complaint]:
    """Try a specification on worthless work. Raises `Faulty` for a faulty one."""
    clock = SystemClock()
    spec = read_spec(spec_path, Verifier(registry=Registry(), sandbox=None, clock=clock))
    async with _verifying(settings, clock, None) as verifier:
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
