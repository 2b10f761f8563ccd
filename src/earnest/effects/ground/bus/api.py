"""What a bus carries and what it promises."""

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from typing import Protocol


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

    @property
    def kind(self) -> str:
        """The name of the payload's class."""
        return type(self.payload).__name__


class Subscription(Protocol):
    """A queue of one subscriber: iterate over it; the iteration ends after `close` when it is drained."""

    @property
    def dropped(self) -> int:
        """How many messages this observer lost because its queue was full."""
        ...

    def __aiter__(self) -> AsyncIterator[Envelope]:
        """In order of publication."""
        ...

    def close(self) -> None:
        """Take no more."""
        ...


class Bus(Protocol):
    """Publishing never blocks. Taps see a message first, then subscribers, in order of subscription."""

    def publish(self, envelope: Envelope) -> None:
        """Serve taps, then queues. Raises `Refused("bus_overflow")`, before anybody saw it, if an inbox is full."""
        ...

    def tap(self, name: str, see: Callable[[Envelope], None]) -> Callable[[], None]:
        """Call `see` with every message, at once; returns what ends it. A tap that raises is removed and logged."""
        ...

    def subscribe(
        self, name: str, payload_types: Collection[type] | None, *, capacity: int, inbox: bool = False
    ) -> Subscription:
        """A queue of messages of exactly these payload types (None: all).

        An observer (`inbox=False`) whose queue is full loses the newest message, which is counted and logged.
        An inbox loses nothing: the message is refused to its publisher instead.
        """
        ...

    @property
    def dropped(self) -> int:
        """How many messages all observers lost."""
        ...
