"""Transfers between accounts, and the names of these.

Per party `available`, `clearing`, `pending_out`; per job `escrow`; per dispute `stake`; of the platform `fees`,
`external` (what is outside: its debit is what came in) and `treasury` (what of ai$ has not been given out). Market
ruling a.9.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

PLATFORM: Final = "platform"


def available(account_id: str, currency: str) -> str:
    """What a party may spend."""
    return f"{account_id}:available:{currency}"


def clearing(account_id: str, currency: str) -> str:
    """What a party has earned and may not spend yet."""
    return f"{account_id}:clearing:{currency}"


def pending_out(account_id: str, currency: str) -> str:
    """What is on its way out."""
    return f"{account_id}:pending_out:{currency}"


def escrow(job_id: str, currency: str) -> str:
    """What lies ready for a job; 0 once the job is closed."""
    return f"{job_id}:escrow:{currency}"


def stake(dispute_id: str, currency: str) -> str:
    """What the parties of a dispute have staked."""
    return f"{dispute_id}:stake:{currency}"


def fees(currency: str) -> str:
    """What the platform has earned."""
    return f"{PLATFORM}:fees:{currency}"


def external(currency: str) -> str:
    """The world outside."""
    return f"{PLATFORM}:external:{currency}"


def treasury(currency: str) -> str:
    """What the platform may still give out: a fixed amount at the start, bounded below by 0."""
    return f"{PLATFORM}:treasury:{currency}"


def is_guarded(account: str) -> bool:
    """True for every account but the world outside: it never gives more than it got."""
    return not account.startswith(f"{PLATFORM}:external:")


def owner_of(account: str) -> str:
    """Whose account it is: a party's, a job's, a dispute's, the platform's."""
    return account.partition(":")[0]


def currency_of(account: str) -> str:
    """The last part of every account's name."""
    return account.rpartition(":")[2]


class TransferKind(StrEnum):
    """`pending` reserves; `post` and `void` resolve a pending transfer, once; `posted` moves at once."""

    POSTED = "posted"
    PENDING = "pending"
    POST = "post"
    VOID = "void"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One entry. Its `id` is its maker's: the same id with the same content is the same transfer.

    A `post` or `void` names `pending_id` and has its accounts; `amount_micro` of a `post` may be less than was
    reserved: the rest returns. `reason` is a word for statements: `funded`, `released`, `fee`, `stake`, `payout`, …
    """

    id: str
    kind: TransferKind
    debit: str
    credit: str
    currency: str
    amount_micro: int
    reason: str
    at_ms: int
    pending_id: str | None = None
    resolved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookedTransfer(Transfer):
    """A transfer as it stands in the books: the `number`-th, from 1. Each account's transfers are a list, linked from
    its newest back: the one before it on either side, 0 before the first.
    """

    number: int
    debit_before: int
    credit_before: int


Chain: TypeAlias = tuple[Transfer, ...]
"""Transfers that are booked together or not at all. Empty where nothing is owed."""


def moved(transfer_id: str, debit: str, credit: str, amount_micro: int, *, reason: str, at_ms: int) -> Chain:
    """Move at once; nothing where the amount is 0."""
    return _one(transfer_id, debit, credit, amount_micro, kind=TransferKind.POSTED, reason=reason, at_ms=at_ms)


def reserved(transfer_id: str, debit: str, credit: str, amount_micro: int, *, reason: str, at_ms: int) -> Chain:
    """Reserve what `ended` will move or return; nothing where the amount is 0."""
    return _one(transfer_id, debit, credit, amount_micro, kind=TransferKind.PENDING, reason=reason, at_ms=at_ms)


def ended(held: Chain, moved_micro: int, *, reason: str, at_ms: int) -> Chain:
    """End each reservation: `moved_micro` of it moves, the rest returns. The same id whatever the end: there is one."""
    return tuple(
        Transfer(
            id=f"{hold.id}/end",
            kind=TransferKind.POST if moved_micro else TransferKind.VOID,
            debit=hold.debit,
            credit=hold.credit,
            currency=hold.currency,
            amount_micro=moved_micro or hold.amount_micro,
            reason=reason,
            at_ms=at_ms,
            pending_id=hold.id,
        )
        for hold in held
    )


def _one(
    transfer_id: str, debit: str, credit: str, amount_micro: int, *, kind: TransferKind, reason: str, at_ms: int
) -> Chain:
    if amount_micro == 0:
        return ()
    return (
        Transfer(
            id=transfer_id,
            kind=kind,
            debit=debit,
            credit=credit,
            currency=currency_of(debit),
            amount_micro=amount_micro,
            reason=reason,
            at_ms=at_ms,
        ),
    )
