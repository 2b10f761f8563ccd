"""Typed messages, and the bus of one process that carries them: a bounded deque and a future for each subscriber."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One message. `payload` is a frozen value; its class is the message's type.

    `replayed` marks a message of a resumed run that had been sent before the run was interrupted.
    """

    id: str
    run_id: str
    sender: str
    causation_id: str | None
    at_ms: int
    payload: object
    replayed: bool = False
    encoded: JsonObject | None = field(default=None, compare=False, repr=False)
    """The payload as JSON, if its sender wrote it for all who need it."""

    @property
    def kind(self) -> str:
        """The name of the payload's class."""
        return type(self.payload).__name__

    def json(self, encode: Callable[[object], JsonObject]) -> JsonObject:
        """The payload as JSON, which nobody writes twice."""
        return encode(self.payload) if self.encoded is None else self.encoded


class Subscription:
    """One subscriber's queue, read by one task at a time; the iteration ends after `close` when it is drained."""

    __slots__ = ("_capacity", "_closed", "_leave", "_queue", "_reader", "dropped", "inbox", "name", "promised")

    def __init__(self, name: str, capacity: int, leave: Callable[["Subscription"], None], *, inbox: bool) -> None:
        self.name: Final = name
        self.inbox: Final = inbox
        self.promised = 0
        """Messages accepted by the bus and not yet delivered: they have their room already."""
        self._capacity = capacity
        self._leave = leave
        self._queue: deque[Envelope] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._closed = False
        self.dropped = 0
        """How many messages this observer lost because its queue was full."""

    @property
    def full(self) -> bool:
        """True if one more message has no room."""
        return len(self._queue) + self.promised >= self._capacity and not self._closed

    def put(self, envelope: Envelope) -> bool:
        """Queue a promised message and wake the reader. False if it was dropped."""
        self.promised -= 1
        if self._closed:
            return True
        if len(self._queue) >= self._capacity:
            self.dropped += 1
            return False
        self._queue.append(envelope)
        if self._reader is not None:
            self._wake()
        return True

    def close(self) -> None:
        """Take no more."""
        if not self._closed:
            self._closed = True
            self._leave(self)
            self._wake()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Envelope:
        # A message leaves the queue in the step that returns it, so a cancelled reader takes none with it.
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            if self._reader is not None:
                raise Broken(f"subscription {self.name!r} is read by two tasks at once")
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        return self._queue.popleft()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class Bus:
    """A bus for one thread: the one that made it. Publishing never blocks.

    Taps see a message first, then subscribers, in order of subscription. A message published while another is being
    delivered waits its turn: so everybody sees messages in one order, and a message that a tap publishes comes after
    the one that it saw.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._taps: tuple[tuple[str, Callable[[Envelope], None]], ...] = ()
        self._subscriptions: list[tuple[Subscription, frozenset[type] | None]] = []
        self._routes: dict[type, tuple[Subscription, ...]] = {}
        self._accepted: deque[tuple[Envelope, tuple[Subscription, ...]]] = deque()
        self._delivering = False
        self.dropped = 0
        """How many messages all observers lost."""

    def publish(self, envelope: Envelope) -> None:
        """Serve taps, then queues. Raises `Refused("bus_overflow")`, before anybody saw it, if an inbox is full.

        Raises `Broken` in any thread but the bus's own.
        """
        if threading.get_ident() != self._thread:
            raise Broken("a local bus belongs to the thread that made it; use loop.call_soon_threadsafe")
        payload_type = type(envelope.payload)
        route = self._routes.get(payload_type)
        if route is None:
            route = self._find_route(payload_type)
        for subscription in route:
            if subscription.inbox and subscription.full:
                raise Refused("bus_overflow", f"the inbox {subscription.name!r} is full: {envelope.kind} not sent")
        for subscription in route:
            subscription.promised += 1
        self._accepted.append((envelope, route))
        if not self._delivering:
            self._deliver_accepted()

    def tap(self, name: str, see: Callable[[Envelope], None]) -> Callable[[], None]:
        """Call `see` with every message, at once; returns what ends it. A tap that raises is removed and logged."""
        entry = (name, see)
        self._taps = (*self._taps, entry)

        def end() -> None:
            self._taps = tuple(other for other in self._taps if other is not entry)

        return end

    def subscribe(
        self, name: str, payload_types: Collection[type] | None, *, capacity: int, inbox: bool = False
    ) -> Subscription:
        """A queue of messages of exactly these payload types (None: all).

        An observer (`inbox=False`) whose queue is full loses the newest message, which is counted and logged.
        An inbox loses nothing: the message is refused to its publisher instead.
        Raises `ValueError` if `capacity` is below 1.
        """
        if capacity < 1:
            raise ValueError(f"capacity of {name!r} must be at least 1, not {capacity}")
        subscription = Subscription(name, capacity, self._forget, inbox=inbox)
        self._subscriptions.append((subscription, None if payload_types is None else frozenset(payload_types)))
        self._routes.clear()
        return subscription

    def _find_route(self, payload_type: type) -> tuple[Subscription, ...]:
        route = tuple(
            subscription
            for subscription, payload_types in self._subscriptions
            if payload_types is None or payload_type in payload_types
        )
        self._routes[payload_type] = route
        return route

    def _forget(self, subscription: Subscription) -> None:
        self._subscriptions = [entry for entry in self._subscriptions if entry[0] is not subscription]
        self._routes.clear()

    def _deliver_accepted(self) -> None:
        self._delivering = True
        try:
            while self._accepted:
                self._deliver(*self._accepted.popleft())
        finally:
            self._delivering = False

    def _deliver(self, envelope: Envelope, route: tuple[Subscription, ...]) -> None:
        try:
            for entry in self._taps:
                try:
                    entry[1](envelope)
                except Exception:
                    self._taps = tuple(other for other in self._taps if other is not entry)
                    _log.exception("tap %r raised at %s and was removed", entry[0], envelope.kind)
        finally:
            # Even if a tap was interrupted (Ctrl+C), what taps have seen is delivered.
            for subscription in route:
                if not subscription.put(envelope):
                    self._count_drop(subscription, envelope)

    def _count_drop(self, subscription: Subscription, envelope: Envelope) -> None:
        self.dropped += 1
        dropped = subscription.dropped
        if dropped & (dropped - 1) == 0:  # the 1st, 2nd, 4th, 8th …: a flood is logged a few times, not for ever
            _log.warning("subscriber %r is full: %s dropped, %d so far", subscription.name, envelope.kind, dropped)
