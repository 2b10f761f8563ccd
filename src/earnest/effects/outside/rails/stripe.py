"""Payouts through Stripe Connect, to the agent's connected account and from there to its bank.

Two requests, each with an idempotency key of its own that is made of the order's id: a transfer, then a payout of that
account. `ref` names both. Where the payout fails, the transfer is taken back, so that nothing was sent. What became of
a payout is asked for, never told to us: nobody can tell us something false.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

import stripe

from earnest.effects.outside.rails.api import Order, RailAnswer, RailState
from earnest.foundation.errors import Unavailable

T = TypeVar("T")

TIMEOUT_S: Final = 30
CENT_MICRO: Final = 10_000
REASON_CHARACTERS_MAX: Final = 200
_NO: Final = (stripe.CardError, stripe.InvalidRequestError, stripe.PermissionError)
"""Stripe understood and will not. Whatever else goes wrong, nobody knows what it has done."""


class StripeRail:
    """A `Rail` over the official library. `base` is another address than Stripe's own, for tests."""

    def __init__(self, secret_key: str, base: str | None = None) -> None:
        self._http = stripe.RequestsClient(timeout=TIMEOUT_S)
        self._client = stripe.StripeClient(
            secret_key,
            base_addresses={"api": base} if base else None,
            max_network_retries=0,
            http_client=self._http,
        )

    def close(self) -> None:
        """End its connections."""
        self._http.close()  # type: ignore[no-untyped-call]

    async def send(self, order: Order) -> RailAnswer:
        """See `Rail`."""
        return await _asked(lambda: self._send(order))

    async def look(self, order: Order) -> RailAnswer:
        """See `Rail`."""
        return await _asked(lambda: self._look(order))

    def _send(self, order: Order) -> RailAnswer:
        cents, rest = divmod(order.amount_micro, CENT_MICRO)
        if rest:
            return RailAnswer(state=RailState.FAILED, reason="not a whole number of cents")
        try:
            transfer = self._client.v1.transfers.create(
                {
                    "amount": cents,
                    "currency": order.currency.lower(),
                    "destination": order.address,
                    "transfer_group": order.id,
                },
                {"idempotency_key": f"{order.id}/transfer"},
            )
        except _NO as error:
            return _failed(error)
        if self._client.v1.transfers.retrieve(transfer.id).reversed:  # an earlier try took it back
            return RailAnswer(state=RailState.FAILED, ref=transfer.id, reason="the transfer was reversed")
        try:
            payout = self._client.v1.payouts.create(
                {"amount": cents, "currency": order.currency.lower(), "metadata": {"order": order.id}},
                {"idempotency_key": f"{order.id}/payout", "stripe_account": order.address},
            )
        except _NO as error:
            self._take_back(order, transfer.id)
            return _failed(error)
        return RailAnswer(state=RailState.UNDER_WAY, ref=f"{transfer.id}/{payout.id}")

    def _look(self, order: Order) -> RailAnswer:
        transfer_id, _, payout_id = order.ref.partition("/")
        payout = self._client.v1.payouts.retrieve(payout_id, {}, {"stripe_account": order.address})
        if payout.status == "paid":
            return RailAnswer(state=RailState.SETTLED, ref=order.ref)
        if payout.status in {"failed", "canceled"}:
            self._take_back(order, transfer_id)
            reason = payout.failure_code or payout.status
            return RailAnswer(state=RailState.FAILED, ref=order.ref, reason=reason[:REASON_CHARACTERS_MAX])
        return RailAnswer(state=RailState.UNDER_WAY, ref=order.ref)

    def _take_back(self, order: Order, transfer_id: str) -> None:
        self._client.v1.transfers.reversals.create(transfer_id, {}, {"idempotency_key": f"{order.id}/reversal"})


async def _asked(ask: Callable[[], T]) -> T:
    """The answer, waited for in a thread. Raises `Unavailable`; nothing that Stripe says of a key is repeated."""
    try:
        return await asyncio.to_thread(ask)
    except stripe.StripeError as error:
        raise Unavailable(f"Stripe: {type(error).__name__}") from error


def _failed(error: stripe.StripeError) -> RailAnswer:
    reason = error.code or type(error).__name__
    return RailAnswer(state=RailState.FAILED, reason=reason[:REASON_CHARACTERS_MAX])
