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
from earnest.runtime.submission import read_spec
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


async def verdict_on(spec_path: Path, submission: Path, settings: Settings) -> Verdict:
    """Judge a folder by a specification, in a sandbox of its own. Raises `Faulty` for a faulty specification."""
    clock = SystemClock()
    checking = Verifier(registry=Registry(), sandbox=None, clock=clock)
    spec = read_spec(spec_path, checking)
    sandbox = await open_for(settings, clock)
    try:
        verifier = Verifier(registry=Registry(), sandbox=sandbox, clock=clock)
        return await verifier.verify(spec.criteria, submission, base_folder=spec_path.parent)
    finally:
        await sandbox.close()
