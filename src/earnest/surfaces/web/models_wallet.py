"""What may be sent about money, and what is answered? Money is in micro-units: 1,000,000 are one dollar or one ai$."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from earnest.ledger.payout import PayoutState
from earnest.ledger.rules import AMOUNT_MICRO_MAX

Amount = Annotated[int, Field(ge=1, le=AMOUNT_MICRO_MAX)]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Line = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
State = Literal["requested", "approved", "sent", "settled", "failed", "returned"]


class Strict(BaseModel):
    """Unknown members are refused; nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AskDeposit(Strict):
    """Money that was sent to the platform; `reference` is what its operator will find it by."""

    currency: Currency
    amount_micro: Amount
    reference: Annotated[Line, StringConstraints(min_length=1)]


class DecideDeposit(Strict):
    """What the operator has seen."""

    confirmed: bool
    reason: Line = ""


class AskPayout(Strict):
    """How much is to leave. Where it goes is set by the owner."""

    currency: Currency
    amount_micro: Amount


class DecidePayout(Strict):
    """`approved` or `failed` at first; later, where no rail can say it, what came of it."""

    state: Annotated[PayoutState, Field(strict=False)]
    reference: Line = ""
    reason: Line = ""


class SetDestination(Strict):
    """Where an account's money goes: for `manual` a line that the operator understands, for `stripe` `acct_…`."""

    rail: Literal["manual", "stripe"]
    address: Annotated[Line, StringConstraints(min_length=1)]


class DepositState(BaseModel):
    """A deposit."""

    deposit_id: str
    state: Literal["asked", "confirmed", "refused"]


class PayoutMoved(BaseModel):
    """A payout."""

    payout_id: str
    state: State


class DestinationSet(BaseModel):
    """Whose money goes by which rail. The address is not shown."""

    account_id: str
    rail: str


class Balance(BaseModel):
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


class PayoutShown(BaseModel):
    """A payout. `reason` says why it failed, or what keeps it."""

    payout_id: str
    state: State
    currency: str
    amount_micro: int
    rail: str
    reason: str
    requested_at: str
    changed_at: str | None


class Wallet(BaseModel):
    """The money of an account."""

    account_id: str
    balances: list[Balance]
    payouts_under_way: list[PayoutShown]


class Entry(BaseModel):
    """One side of a transfer. `posted` and `post` move; `pending` lays aside what `post` takes or `void` returns."""

    entry_id: str
    at: str
    kind: Literal["posted", "pending", "post", "void"]
    reason: str
    account: Literal["available", "clearing", "pending_out"]
    direction: Literal["in", "out"]
    currency: str
    amount_micro: int
    subject_id: str


class Entries(BaseModel):
    """Entries, the newest first."""

    data: list[Entry]
    next_cursor: str | None


class DepositShown(DepositState):
    """A deposit that waits."""

    account_id: str
    currency: str
    amount_micro: int
    reference: str
    asked_at: str


class PayoutWaiting(PayoutShown):
    """A payout that waits for the operator."""

    account_id: str
    destination: str
    rail_ref: str


class Queue(BaseModel):
    """What waits for the operator, the oldest first."""

    deposits: list[DepositShown]
    payouts: list[PayoutWaiting]


class FeeTerms(BaseModel):
    """Of one currency. Fees and stakes in hundredths of a per cent of the amount, rounded down."""

    fee_bps: int
    dispute_floor_micro: int
    stake_bps: int
    stake_min_micro: int
    stake_max_micro: int
    clearing_s: int
    payout_min_micro: int
    can_pay_out: bool


class Fees(BaseModel):
    """What is charged and held back."""

    currencies: dict[str, FeeTerms]


class Cover(BaseModel):
    """`sum_micro` of all accounts is 0; `user_balances_micro` is at most what came in and has not left."""

    currency: str
    sum_micro: int
    user_balances_micro: int
    external_funds_micro: int


class Solvency(BaseModel):
    """Do the books cover what users have? Measured at most once a minute."""

    checked_at: str
    solvent: bool
    currencies: list[Cover]
