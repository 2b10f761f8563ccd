"""What an ordered key-value store promises, and what a change writes over a view until all of it is kept."""

import heapq
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Final, Protocol, TypeVar

from earnest.foundation.errors import Broken

KEY_BYTES_MAX: Final = 511
"""Keys have 1 to 511 bytes; a longer or an empty one raises `Broken`, for we build our keys ourselves."""

REMEDY: Final = "`earnest memory rebuild` makes it anew from the facts"
"""What is said of a store that is damaged."""

_Result = TypeVar("_Result")


def checked(key: bytes) -> bytes:
    """The key. Raises `Broken` for one of another length."""
    if not 1 <= len(key) <= KEY_BYTES_MAX:
        raise Broken(f"a key has 1 to {KEY_BYTES_MAX} bytes, this one {len(key)}")
    return key


def after_prefix(prefix: bytes) -> bytes | None:
    """The first key after all that begin with `prefix`; None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


class StoreView(Protocol):
    """One consistent view of the store. It ends with the function that it was handed to."""

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`."""

    def scan(self, prefix: bytes, *, start: bytes = b"", reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values, in byte order of keys, that begin with `prefix` and are not below `start`.

        `reverse` gives the same rows from the last to the first. Finish a scan before writing.
        """


class StoreChange(StoreView, Protocol):
    """A view that sees its own writes, which are kept together or not at all."""

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value under `key`, whether or not there was one."""

    def delete(self, key: bytes) -> None:
        """Remove `key`, whether or not it is there."""


class Overlay:
    """A `StoreChange` over a view that does not change. `written` is what is to be put, by key; None: to be deleted."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self.written: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """See `StoreView`."""
        return self.written[key] if key in self.written else self._view.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        """See `StoreChange`."""
        self.written[checked(key)] = value

    def delete(self, key: bytes) -> None:
        """See `StoreChange`."""
        self.written[checked(key)] = None

    def scan(self, prefix: bytes, *, start: bytes = b"", reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """See `StoreView`."""
        first = max(prefix, start)
        ours = [row for row in self.written.items() if row[0] >= first and row[0].startswith(prefix)]
        ours.sort(key=itemgetter(0), reverse=reverse)
        kept = self._view.scan(prefix, start=start, reverse=reverse)
        theirs = (row for row in kept if row[0] not in self.written)
        for key, value in heapq.merge(ours, theirs, key=itemgetter(0), reverse=reverse):
            if value is not None:
                yield key, value


class KeyValue(Protocol):
    """Bytes under bytes. Any thread may call; one write runs at a time, and reads go on beside it.

    After `close`, both `read` and `write` raise `Unavailable`; so does a store whose disk is full.
    """

    def read(self, look: Callable[[StoreView], _Result]) -> _Result:
        """What `look` answers about the last state that was kept."""

    def write(self, change: Callable[[StoreChange], _Result]) -> _Result:
        """Keep all of what `change` writes, or nothing if it raises.

        `change` may run again from the start, so it has no other effects.
        """

    def close(self) -> None:
        """Free the store, once what is being read and written has ended. Closing twice is harmless."""
