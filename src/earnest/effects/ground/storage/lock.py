"""Who uses a data directory: any number of processes together, or one alone."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from earnest.effects.ground.locks import FileLock
from earnest.foundation.errors import Refused

WAIT_MS: Final = 1_000
"""For who has a directory alone, which as a rule is a look of milliseconds."""


class HomeLock:
    """Shared by who writes the books; alone who migrates them, makes memory anew, or reads a log as bytes."""

    def __init__(self, books: Path) -> None:
        self._folder = books.parent
        self._lock = FileLock(books.with_name(f"{books.name}.lock"))
        self._alone = False
        self.close: Final = self._lock.close

    def take(self, *, alone: bool = False) -> None:
        """Raises `Refused("data_directory_in_use")`, naming who has it."""
        if not self._lock.take(WAIT_MS, shared=not alone):
            purpose = "this needs it alone" if alone else "that needs it alone"
            raise Refused("data_directory_in_use", f"{self._folder} is in use by {self._lock.holder}; {purpose}")
        self._alone = alone

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Alone for a block, then as before. Raises as `take`."""
        before = self._alone
        self.take(alone=True)
        yield
        self.take(alone=before)


def writer_lock(path: Path, said: str = "") -> FileLock:
    """An exclusive lock for one process, whose pid stands in the file, taken at once.

    Raises `Refused("data_directory_in_use")`: what is `said`, and who has it.
    """
    lock = FileLock(path)
    if not lock.try_take():
        holder = lock.holder
        lock.close()
        raise Refused("data_directory_in_use", f"{said or f'{path.parent} is in use by'} {holder}")
    path.write_bytes(b"%d\n" % os.getpid())
    return lock
