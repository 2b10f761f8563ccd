"""What a change writes, kept over a view until all of it is put into the store at once."""

import heapq
from collections.abc import Iterator
from operator import itemgetter

from earnest.effects.ground.kv.api import StoreView, checked


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
