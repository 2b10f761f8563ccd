"""A test job's secret while it runs.

Beside the books, as hidden reviews do: no fact holds it before the end, so nothing that reads facts can leak it. The
fact holds the commitment. `earnest recompute` leaves this table as it is.
"""

from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Rows
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Broken
from earnest.market.capabilities.capability import Trial
from earnest.market.capabilities.trial import unsealed


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedTrial:
    """`id` is the test job's. The key of its answer follows from `seed`."""

    id: str
    seed: str
    salt: str


_ROWS: Final = Rows(SealedTrial, "sealed_trials")


def seal_trial(transaction: Transaction, sealed: SealedTrial) -> None:
    """Keep a secret until its test job ends. The fact that says so is that of its commitment."""
    _ROWS.add(transaction, sealed)


def opened_trial(reader: BooksReader, trial: Trial) -> Trial:
    """The test job with its secret, which stays here. Raises `Broken` if that is not what was committed to."""
    sealed = _ROWS.get(reader, trial.id)
    if sealed is None:
        raise Broken(f"what {trial.id} had committed to is gone")
    return unsealed(trial, sealed.seed, sealed.salt)


def unseal_trial(transaction: Transaction, trial: Trial) -> Trial:
    """The test job with its secret, which lies here no longer. Raises as `opened_trial` does."""
    found = opened_trial(transaction, trial)
    transaction.execute("DELETE FROM sealed_trials WHERE id = ?", (trial.id,))
    return found
