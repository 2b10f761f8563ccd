"""A transfer between two accounts."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from earnest.ledger.accounts import currency_of


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAccount:
    """Sums of one account in one currency. `guarded`: what it has given and reserved never exceeds what it got.

    `last` is the number of the newest transfer that touched it, 0 before the first.
    """

    id: str
    currency: str
    guarded: bool
    debits_posted: int = 0
    credits_posted: int = 0
    debits_pending: int = 0
    credits_pending: int = 0
    last: int = 0

    @property
    def balance_micro(self) -> int:
        """What it got less what it gave. Below 0 only where it is not guarded."""
        return self.credits_posted - self.debits_posted

    @property
    def free_micro(self) -> int:
        """Its balance less what is reserved: what it may give."""
        return self.credits_posted - self.debits_posted - self.debits_pending


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
