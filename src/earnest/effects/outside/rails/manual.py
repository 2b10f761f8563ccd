"""Payouts without a rail: the operator pays, and says so."""

from earnest.effects.outside.rails.api import Order, RailAnswer, RailState


class ManualRail:
    """A `Rail` that does nothing: each order waits for the operator's word."""

    async def send(self, order: Order) -> RailAnswer:
        """See `Rail`."""
        return RailAnswer(state=RailState.UNDER_WAY, ref=order.ref)

    async def look(self, order: Order) -> RailAnswer:
        """See `Rail`."""
        return RailAnswer(state=RailState.UNDER_WAY, ref=order.ref)
