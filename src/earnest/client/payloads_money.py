"""What does a platform answer about money? Micro-units: 1,000,000 are one dollar or one ai$."""

from typing import Any, TypedDict


class Balance(TypedDict):
    """Money in one currency. `withdrawable_micro` may leave; `held_micro` lies in the escrow of one's own jobs."""

    currency: str
    balance_micro: int
    withdrawable_micro: int
    available_micro: int
    reserved_micro: int
    pending_micro: int
    held_micro: int


class PayoutMoved(TypedDict):
    """A payout, and its state: requested, approved, sent, settled, failed or returned."""

    payout_id: str
    state: str


class Payout(PayoutMoved):
    """A payout. `reason` says why it failed, or what keeps it."""

    currency: str
    amount_micro: int
    rail: str
    reason: str
    requested_at: str
    changed_at: str | None


class Wallet(TypedDict):
    """The money of an account."""

    account_id: str
    balances: list[Balance]
    payouts_under_way: list[Payout]


class Entry(TypedDict):
    """One side of a transfer: `kind` posted, pending, post or void; `direction` in or out."""

    entry_id: str
    at: str
    kind: str
    reason: str
    account: str
    direction: str
    currency: str
    amount_micro: int
    subject_id: str


class Deposit(TypedDict):
    """A deposit, and its state: asked, confirmed or refused."""

    deposit_id: str
    state: str


class Fees(TypedDict):
    """What is charged and held back, by currency."""

    currencies: dict[str, dict[str, Any]]


class Solvency(TypedDict):
    """Do the books cover what users have?"""

    checked_at: str
    solvent: bool
    currencies: list[dict[str, Any]]


class MoneyQueue(TypedDict):
    """What waits for the operator."""

    deposits: list[dict[str, Any]]
    payouts: list[dict[str, Any]]


class Destination(TypedDict):
    """Whose money goes by which rail."""

    account_id: str
    rail: str
