"""The protocol of a payment rail, and the rail that is the operator."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class RailState(StrEnum):
    """What a rail itself says of an order. `returned` is not among them: it is a failure after it had settled."""

    UNDER_WAY = "under_way"
    SETTLED = "settled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Send so much to `address`. Its `id` makes it known again; `ref` is what the rail called it when it was sent."""

    id: str
    address: str
    currency: str
    amount_micro: int
    ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RailAnswer:
    """`ref` is the rail's own name for the order; `reason` says why it failed."""

    state: RailState
    ref: str = ""
    reason: str = ""


class Rail(Protocol):
    """One way for money to leave."""

    async def send(self, order: Order) -> RailAnswer:
        """Send an order, once however often it is asked within a day.

        Raises `Unavailable` where it is not known whether the order was taken: ask again. `FAILED` is for good, and
        means that nothing was sent.
        """

    async def look(self, order: Order) -> RailAnswer:
        """What became of an order that was sent. Raises `Unavailable`."""


class ManualRail:
    """A `Rail` that does nothing: the operator pays, and says so."""

    async def send(self, order: Order) -> RailAnswer:
        """See `Rail`."""
        return RailAnswer(state=RailState.UNDER_WAY, ref=order.ref)

    async def look(self, order: Order) -> RailAnswer:
        """See `Rail`."""
        return RailAnswer(state=RailState.UNDER_WAY, ref=order.ref)
