"""Rules of booking: whether a chain may be booked, and what each transfer does to the sums.

As in TigerBeetle: a pending transfer fixes both accounts and reserves, so that its end can never break a limit; it ends
once, moved in whole or in part or not at all. Faults have an order of precedence; only the first is told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from earnest.foundation.errors import Broken, Refused
from earnest.ledger.transfer import PLATFORM, Transfer, TransferKind, currency_of, is_guarded, owner_of

AMOUNT_MICRO_MAX: Final = 9 * 10**15
"""Of one transfer, and of all that the books hold of one currency. JSON numbers are exact up to 2^53 - 1."""

CHAIN_TRANSFERS_MAX: Final = 64
SUM_MICRO_MAX: Final = 2**63 - 1 - CHAIN_TRANSFERS_MAX * AMOUNT_MICRO_MAX
"""Of all that an account ever gave, or got, before a chain: SQLite's integers hold what the chain adds."""

ID_CHARACTERS_MAX: Final = 256


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


class TransferFault(StrEnum):
    """What is wrong with a transfer, in order of precedence."""

    ID = "its id is missing or too long"
    EXISTS = "another transfer has its id"
    AMOUNT = "its amount is out of range"
    ACCOUNTS = "its accounts are the same"
    CURRENCY = "an account is of another currency"
    PENDING_ID = "it names a reservation and must not, or names none and must"
    PENDING_MISSING = "there is no such reservation"
    PENDING_DIFFERS = "the reservation is between other accounts"
    PENDING_AMOUNT = "it is not the amount, or exceeds the amount, that was reserved"
    RESOLVED = "the reservation has ended"
    FUNDS = "the account has less"
    FULL = "the books cannot hold more"


_ENDS: Final = (TransferKind.POST, TransferKind.VOID)


def effect(kind: TransferKind, amount_micro: int, held_micro: int) -> tuple[int, int]:
    """What a transfer adds to what both its accounts have posted, and to what they have pending.

    `held_micro` is what the reservation that it ends had reserved.
    """
    match kind:
        case TransferKind.POSTED:
            return amount_micro, 0
        case TransferKind.PENDING:
            return 0, amount_micro
        case TransferKind.POST:
            return amount_micro, -held_micro
        case TransferKind.VOID:
            return 0, -held_micro


def is_repeated(chain: Sequence[Transfer], known: Mapping[str, Transfer]) -> bool:
    """True where every transfer of the chain has been booked before, with the same content."""
    return all(transfer.id in known and _is_same(transfer, known[transfer.id]) for transfer in chain)


def check(chain: Sequence[Transfer], known: Mapping[str, Transfer], accounts: Mapping[str, LedgerAccount]) -> None:
    """Refuse a chain of which one transfer, after those before it, may not be booked.

    `known`: the transfers that the chain names and that are booked already; `accounts`: those it names that exist.
    Raises `Refused`: `transfer_exists`, `insufficient_funds`, `limit_reached` (with the currency); else `Broken`.
    """
    if len(chain) > CHAIN_TRANSFERS_MAX or any(transfer.at_ms != chain[0].at_ms for transfer in chain):
        raise Broken("a chain has too many transfers, or several instants")
    booked, freed = dict(known), dict[str, int]()
    for transfer in chain:
        fault, free_micro = _own_fault(transfer, booked), 0
        if fault is None and transfer.pending_id is not None:
            fault = _end_fault(transfer, booked.get(transfer.pending_id))
        elif fault is None:  # what ends a reservation was borne when it was reserved
            debit = accounts.get(transfer.debit) or account_named(transfer.debit)
            free_micro = debit.free_micro + freed.get(transfer.debit, 0)
            fault = _sums_fault(transfer, debit, accounts.get(transfer.credit), free_micro)
        if fault is not None:
            raise _failure(fault, transfer, free_micro)
        _book(transfer, booked, freed)


def account_named(name: str) -> LedgerAccount:
    """The account before anything was booked on it."""
    return LedgerAccount(id=name, currency=currency_of(name), guarded=is_guarded(name))


def _own_fault(transfer: Transfer, booked: Mapping[str, Transfer]) -> TransferFault | None:
    amount, currency = transfer.amount_micro, f":{transfer.currency}"
    tests = (
        (TransferFault.ID, not 0 < len(transfer.id) <= ID_CHARACTERS_MAX),
        (TransferFault.EXISTS, transfer.id in booked),
        (TransferFault.AMOUNT, type(amount) is not int or not 0 < amount <= AMOUNT_MICRO_MAX),
        (TransferFault.ACCOUNTS, transfer.debit == transfer.credit),
        (TransferFault.CURRENCY, not (transfer.debit.endswith(currency) and transfer.credit.endswith(currency))),
        (TransferFault.PENDING_ID, (transfer.pending_id is not None) != (transfer.kind in _ENDS)),
    )
    return next((fault for fault, holds in tests if holds), None)


def _end_fault(transfer: Transfer, held: Transfer | None) -> TransferFault | None:
    """What is wrong with it as the end of a reservation."""
    if held is None or held.kind is not TransferKind.PENDING:
        return TransferFault.PENDING_MISSING
    is_part = transfer.kind is TransferKind.POST and transfer.amount_micro < held.amount_micro
    tests = (
        (TransferFault.PENDING_DIFFERS, (transfer.debit, transfer.credit) != (held.debit, held.credit)),
        (TransferFault.PENDING_AMOUNT, not is_part and transfer.amount_micro != held.amount_micro),
        (TransferFault.RESOLVED, held.resolved != ""),
    )
    return next((fault for fault, holds in tests if holds), None)


def _sums_fault(
    transfer: Transfer, debit: LedgerAccount, credit: LedgerAccount | None, free_micro: int
) -> TransferFault | None:
    """What the accounts cannot bear. `free_micro`: what the debited one may still give."""
    left_micro = free_micro - transfer.amount_micro
    largest = max(
        debit.debits_posted + debit.debits_pending,
        credit.credits_posted + credit.credits_pending if credit is not None else 0,
    )
    tests = (
        (TransferFault.FUNDS, left_micro < 0 and debit.guarded),
        (TransferFault.FULL, left_micro < -AMOUNT_MICRO_MAX or largest > SUM_MICRO_MAX),
    )
    return next((fault for fault, holds in tests if holds), None)


def _book(transfer: Transfer, booked: dict[str, Transfer], freed: dict[str, int]) -> None:
    held_micro = 0
    if transfer.pending_id is not None:
        held = booked[transfer.pending_id]
        booked[held.id] = replace(held, resolved=transfer.kind.value)
        held_micro = held.amount_micro
    booked[transfer.id] = transfer
    posted, pending = effect(transfer.kind, transfer.amount_micro, held_micro)
    freed[transfer.debit] = freed.get(transfer.debit, 0) - posted - pending
    freed[transfer.credit] = freed.get(transfer.credit, 0) + posted


def _failure(fault: TransferFault, transfer: Transfer, free_micro: int) -> Refused | Broken:
    """Three faults can come of a request; all others are mistakes of our own."""
    message, currency = f"{transfer.reason}: {fault} ({transfer.currency})", transfer.currency
    match fault:
        case TransferFault.EXISTS:
            return Refused("transfer_exists", message, currency=currency)
        case TransferFault.FUNDS:
            if owner_of(transfer.debit) == PLATFORM:  # how much of that is left is nobody's business
                return Refused("insufficient_funds", message, currency=currency)
            need_micro = transfer.amount_micro
            told = f"{message}: it has {_units(free_micro)}, and {_units(need_micro)} are needed"
            return Refused("insufficient_funds", told, currency=currency, have_micro=free_micro, need_micro=need_micro)
        case TransferFault.FULL:
            return Refused("limit_reached", message, currency=currency)
        case _:
            return Broken(f"transfer {transfer.id[:80]!r}: {fault}")


def _units(micro: int) -> str:
    return f"{micro // 10**6}.{micro % 10**6:06d}".rstrip("0").rstrip(".")


def _is_same(transfer: Transfer, known: Transfer) -> bool:
    """`at_ms` may differ: a step that is repeated later is the same step."""
    return replace(transfer, at_ms=0, resolved="") == replace(known, at_ms=0, resolved="")
