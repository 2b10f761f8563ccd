"""Answers about money, in micro-units: 1,000,000 are one dollar or one ai$."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

Place: TypeAlias = Literal["available", "clearing", "pending_out"]


class Balance(TypedDict):
    """`balance_micro` is `available_micro` and `pending_micro`, which is still clearing; `reserved_micro` of it is laid
    aside for stakes and payouts. `held_micro` lies in the escrow of one's own jobs.
    """

    currency: str
    balance_micro: int
    withdrawable_micro: int
    available_micro: int
    reserved_micro: int
    pending_micro: int
    held_micro: int


class PayoutMoved(TypedDict):
    """A payout, and its state."""

    payout_id: str
    state: Literal["requested", "approved", "sent", "settled", "failed", "returned"]


class Payout(PayoutMoved):
    """A payout. `reason` says why it failed, or what keeps it."""

    currency: str
    amount_micro: int
    rail: str
    reason: str
    requested_at: str
    changed_at: str | None


class PayoutWaiting(Payout):
    """A payout that waits for the operator."""

    account_id: str
    destination: str
    rail_ref: str


class Wallet(TypedDict):
    """The money of an account."""

    account_id: str
    balances: list[Balance]
    payouts_under_way: list[Payout]


class Entry(TypedDict):
    """One side of a transfer. `posted` and `post` move; `pending` lays aside what `post` takes or `void` returns."""

    entry_id: str
    at: str
    kind: Literal["posted", "pending", "post", "void"]
    reason: str
    account: Place
    direction: Literal["in", "out"]
    currency: str
    amount_micro: int
    subject_id: str


class Deposit(TypedDict):
    """A deposit, and its state."""

    deposit_id: str
    state: Literal["asked", "confirmed", "refused"]


class DepositWaiting(Deposit):
    """A deposit that waits for the operator."""

    account_id: str
    currency: str
    amount_micro: int
    reference: str
    asked_at: str


class FeeTerms(TypedDict):
    """Of one currency. Fees and stakes in hundredths of a per cent of the amount, rounded down."""

    fee_bps: int
    dispute_floor_micro: int
    stake_bps: int
    stake_min_micro: int
    stake_max_micro: int
    clearing_s: int
    payout_min_micro: int
    can_pay_out: bool


class Fees(TypedDict):
    """What is charged and held back, by currency."""

    currencies: dict[str, FeeTerms]


class Cover(TypedDict):
    """`sum_micro` of all accounts is 0; `user_balances_micro` is at most what came in and has not left."""

    currency: str
    sum_micro: int
    user_balances_micro: int
    external_funds_micro: int


class Solvency(TypedDict):
    """Whether the books cover what users have. Measured at most once a minute."""

    checked_at: str
    solvent: bool
    currencies: list[Cover]


class MoneyQueue(TypedDict):
    """What waits for the operator, the oldest first."""

    deposits: list[DepositWaiting]
    payouts: list[PayoutWaiting]


class Destination(TypedDict):
    """Whose money goes by which rail. The address is not shown."""

    account_id: str
    rail: str
