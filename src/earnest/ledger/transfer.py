"""What moves between two accounts?"""

from dataclasses import dataclass
from enum import StrEnum


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", TransferKind(self.kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAccount:
    """Sums of one account in one currency. `guarded`: what it has given and reserved never exceeds what it got."""

    id: str
    currency: str
    guarded: bool
    debits_posted: int = 0
    credits_posted: int = 0
    debits_pending: int = 0
    credits_pending: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "guarded", bool(self.guarded))
