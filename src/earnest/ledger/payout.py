"""Deposits and payouts: how money enters and leaves the platform.

A payout is reserved when it is asked for, and leaves the books only when the rail itself confirms it (market ruling
a.9). `MOVES` is the whole of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from earnest.foundation.errors import Refused
from earnest.ledger.transfer import Chain, available, ended, external, moved, pending_out, reserved


class PayoutState(StrEnum):
    """The states of market ruling a.9. `settled` only on the rail's own confirmation."""

    REQUESTED = "requested"
    APPROVED = "approved"
    SENT = "sent"
    SETTLED = "settled"
    FAILED = "failed"
    RETURNED = "returned"


MOVES: Final[Mapping[PayoutState, frozenset[PayoutState]]] = {
    PayoutState.REQUESTED: frozenset({PayoutState.APPROVED, PayoutState.FAILED}),
    PayoutState.APPROVED: frozenset({PayoutState.SENT, PayoutState.FAILED}),
    PayoutState.SENT: frozenset({PayoutState.SETTLED, PayoutState.FAILED}),
    PayoutState.SETTLED: frozenset({PayoutState.RETURNED}),
    PayoutState.FAILED: frozenset(),
    PayoutState.RETURNED: frozenset(),
}
UNDER_WAY: Final = frozenset({PayoutState.REQUESTED, PayoutState.APPROVED, PayoutState.SENT})

MANUAL: Final = "manual"
"""The rail that is the operator, who pays by hand and says what came of it."""
STRIPE: Final = "stripe"
RAILS: Final = (MANUAL, STRIPE)
_ADDRESSES: Final = {MANUAL: re.compile(r"[^\x00-\x1f\x7f]{1,200}"), STRIPE: re.compile(r"acct_[A-Za-z0-9]{1,64}")}
UNIT_MICRO: Final = 10_000
"""Rails pay whole cents."""

TRY_AGAIN_MS: Final = 60_000
TRY_AGAIN_MS_MAX: Final = 6 * 3_600_000
SEND_WITHIN_MS: Final = 20 * 3_600_000
"""Rails know a request again for a day; later, a further try could pay twice."""
RETURNS_MS: Final = 14 * 86_400_000
"""How long a rail is still asked after it has settled: banks return what they could not place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payout:
    """Money on its way out, to `destination` on `rail`. `rail_ref` is the rail's own name for it.

    `tries` counts the questions to the rail that led nowhere. `wake_ms`: when it is asked next; None where a person
    decides.
    """

    id: str
    account_id: str
    currency: str
    amount_micro: int
    state: PayoutState
    rail: str
    destination: str
    requested_at_ms: int
    rail_ref: str = ""
    reason: str = ""
    changed_at_ms: int | None = None
    tries: int = 0
    wake_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where the money of an account goes: `address` on `rail`, set by its owner. A bank reference, a Stripe account."""

    account_id: str
    rail: str
    address: str
    set_at_ms: int
    set_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deposit:
    """Money that somebody says has come in. `state` is `asked`, `confirmed` or `refused`, by the operator."""

    id: str
    account_id: str
    currency: str
    amount_micro: int
    state: Literal["asked", "confirmed", "refused"]
    reference: str
    asked_at_ms: int
    decided_at_ms: int | None = None
    decided_by: str | None = None


def check_address(rail: str, address: str) -> None:
    """Raises `Refused("validation")` for a rail that nobody knows, or an address that it cannot have."""
    if rail not in RAILS:
        raise Refused("validation", f"rail is one of {', '.join(RAILS)}")
    if not _ADDRESSES[rail].fullmatch(address):
        raise Refused("validation", f"this is no address on the rail {rail}")


def step(payout: Payout, state: PayoutState, now_ms: int, *, rail_ref: str = "", reason: str = "") -> Payout:
    """The payout in its next state. Raises `Refused("payout_state")` where `MOVES` has no such step."""
    if state not in MOVES[payout.state]:
        allowed = sorted(MOVES[payout.state])
        raise Refused("payout_state", f"a payout that is {payout.state} cannot become {state}", allowed_states=allowed)
    moved_on = replace(
        payout,
        state=state,
        rail_ref=rail_ref or payout.rail_ref,
        reason=reason,
        changed_at_ms=now_ms,
        tries=0,
    )
    return with_wake(moved_on, now_ms)


def again(payout: Payout, now_ms: int, reason: str = "") -> Payout:
    """The rail could not be reached, or has nothing new to say: the same question later, and later each time."""
    return with_wake(replace(payout, tries=payout.tries + 1, reason=reason), now_ms)


def with_wake(payout: Payout, now_ms: int) -> Payout:
    """When the rail is asked next: to send, then until it confirms, then whether that stays so."""
    asked_for_ms = {
        PayoutState.APPROVED: SEND_WITHIN_MS,
        PayoutState.SENT: 0 if payout.rail == MANUAL else RETURNS_MS,
        PayoutState.SETTLED: 0 if payout.rail == MANUAL else RETURNS_MS,
    }.get(payout.state, 0)
    first_ms = 0 if payout.state is PayoutState.APPROVED else TRY_AGAIN_MS
    delay_ms = min(TRY_AGAIN_MS << min(payout.tries, 10), TRY_AGAIN_MS_MAX) if payout.tries else first_ms
    in_time = now_ms + delay_ms < (payout.changed_at_ms or 0) + asked_for_ms
    return replace(payout, wake_ms=now_ms + delay_ms if in_time else None)


def is_too_late_to_send(payout: Payout, now_ms: int) -> bool:
    """True where the rail may have been told before, and may not know it any more: nobody was there to hear it."""
    return payout.state is PayoutState.APPROVED and now_ms >= (payout.changed_at_ms or 0) + SEND_WITHIN_MS


def is_for_a_person(payout: Payout) -> bool:
    """True where only the operator can say what came of it: paid by hand, or the rail was asked in vain."""
    return payout.rail == MANUAL or payout.wake_ms is None


def requested_chain(payout: Payout, at_ms: int) -> Chain:
    """The amount is reserved. `insufficient_funds` where the account has less to spend."""
    return _hold(payout, at_ms)


def settled_chain(payout: Payout, at_ms: int) -> Chain:
    """The rail has confirmed: what was reserved leaves the books."""
    outgoing, outside = pending_out(payout.account_id, payout.currency), external(payout.currency)
    return (
        *ended(_hold(payout, at_ms), payout.amount_micro, reason="payout", at_ms=at_ms),
        *moved(f"{payout.id}/out", outgoing, outside, payout.amount_micro, reason="paid_out", at_ms=at_ms),
    )


def failed_chain(payout: Payout, at_ms: int) -> Chain:
    """It did not go out: what was reserved is free again."""
    return ended(_hold(payout, at_ms), 0, reason="payout_failed", at_ms=at_ms)


def returned_chain(payout: Payout, at_ms: int) -> Chain:
    """It came back after it was settled: a new credit."""
    outside, home = external(payout.currency), available(payout.account_id, payout.currency)
    return moved(f"{payout.id}/returned", outside, home, payout.amount_micro, reason="payout_returned", at_ms=at_ms)


def deposited_chain(deposit: Deposit, at_ms: int) -> Chain:
    """The operator has seen the money: it is there to spend."""
    outside, home = external(deposit.currency), available(deposit.account_id, deposit.currency)
    return moved(f"{deposit.id}/in", outside, home, deposit.amount_micro, reason="deposit", at_ms=at_ms)


def _hold(payout: Payout, at_ms: int) -> Chain:
    source, outgoing = available(payout.account_id, payout.currency), pending_out(payout.account_id, payout.currency)
    return reserved(f"{payout.id}/hold", source, outgoing, payout.amount_micro, reason="payout_held", at_ms=at_ms)
