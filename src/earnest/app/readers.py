"""What surfaces may ask without taking the data directory: books, memory and verification, beside any writer."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from earnest.app import places
from earnest.app.sandboxes import open_for
from earnest.app.settings import Settings
from earnest.effects.clock import SystemClock
from earnest.effects.storage.reader import ReadPool
from earnest.effects.tools.toolbox import Toolbox
from earnest.foundation.errors import Refused
from earnest.memory.service import MemoryReader, open_memory_reader
from earnest.runtime.order import Grants, Order, read_order
from earnest.runtime.submission import Submission, read_submission
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Verdict


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


def submission_of(spec: Path, folder: Path) -> Submission:
    """What is to be judged; nothing is opened for it. Raises `Faulty`."""
    return read_submission(spec, folder, _reading_verifier())


async def verdict_on(submission: Submission, settings: Settings) -> Verdict:
    """Judge it, in a sandbox of its own."""
    clock = SystemClock()
    sandbox = await open_for(settings, clock)
    try:
        verifier = Verifier(registry=Registry(), sandbox=sandbox, clock=clock)
        criteria = submission.spec.criteria
        return await verifier.verify(criteria, submission.folder, base_folder=submission.base_folder)
    finally:
        await sandbox.close()


def _reading_verifier() -> Verifier:
    """One that knows the kinds of checks and runs none."""
    return Verifier(registry=Registry(), sandbox=None, clock=SystemClock())
