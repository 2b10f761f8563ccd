"""How much the submission sent: whose fault it is if the tests pass a limit over it is judged by that. (Both ends.)

The tests' side writes it down as it comes, in a file that outlives it: what is killed counts nothing any more.
"""

import os
from typing import Final

LARGE_BYTES: Final = 1 << 12  # smaller answers are what tests ask for, however many
STEP_BYTES: Final = 1 << 16
STEP_ITEMS: Final = 1 << 10
BLAMED_BYTES: Final = 1 << 20
BLAMED_ITEMS: Final = 20_000


class Volume:
    """Of the test that runs now: bytes of large answers and of what was printed, items of one iterator in a row."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._bytes = self._items = self._written = 0
        self._iterator = -1

    def keep_in(self, path: str) -> None:
        """Where to write it down."""
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        self._write()

    def begin(self) -> None:
        """A test begins."""
        if self._bytes or self._items:
            self._bytes = self._items = 0
            self._write()

    def add(self, size: int) -> None:
        """So many bytes have come, and are about to be read or printed."""
        self._bytes += size
        if self._bytes - self._written >= STEP_BYTES:
            self._write()

    def item(self, iterator: int) -> None:
        """This iterator of the submission is asked for the next."""
        self._items = self._items + 1 if iterator == self._iterator else 1
        self._iterator = iterator
        if self._items % STEP_ITEMS == 0:
            self._write()

    def _write(self) -> None:
        self._written = self._bytes
        if self._descriptor >= 0:
            os.pwrite(self._descriptor, f"{self._bytes:20}{self._items:20}".encode(), 0)


VOLUME: Final = Volume()


def is_flood(data: bytes | None) -> bool:
    """True if so much came from the submission in one test that a limit broken meanwhile is its own doing."""
    sizes = (data or b"").split()
    return len(sizes) > 1 and (int(sizes[0]) >= BLAMED_BYTES or int(sizes[1]) >= BLAMED_ITEMS)
