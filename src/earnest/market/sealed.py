"""What nobody may read yet: reviews before their publication, and the secrets of test jobs that run.

Beside the books, as answers kept for Idempotency-Keys are: no fact holds it before its time, so nothing that reads
facts (proofs, exports, auditors, journal commands) can leak it. The fact holds the commitment, so it can be neither
altered nor dropped unseen. `earnest recompute` leaves these tables as they are.
"""

import json
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Rows
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Broken
from earnest.market.capabilities.capability import Trial
from earnest.market.capabilities.trial import unsealed
from earnest.market.reviews.review import Opinion, ReviewRow, commitment_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedReview:
    """`id` is the review's, `content` its canonical form."""

    id: str
    content: str
    salt: str


_REVIEWS: Final = Rows(SealedReview, "sealed_reviews")


def seal_review(transaction: Transaction, review_id: str, review: JsonObject, salt: str) -> None:
    """Keep a review until it is published. The fact that says so is that of its commitment."""
    _REVIEWS.add(transaction, SealedReview(id=review_id, content=canonical_text(review), salt=salt))


def opened_review(reader: BooksReader, row: ReviewRow) -> tuple[Opinion, str]:
    """What a review says, and its salt; they stay here. Raises `Broken` if it is not what was committed to."""
    sealed = _REVIEWS.get(reader, row.id)
    try:
        review = json.loads(sealed.content if sealed else "")
    except ValueError:
        review = None
    if sealed is None or review is None or commitment_of(review, sealed.salt) != row.commitment:
        raise Broken(f"the sealed review {row.id} is gone, or is not the one that was committed to")
    return Opinion(rating=review["rating"], text=review["text"], parts=review["parts"]), sealed.salt


def unseal_review(transaction: Transaction, row: ReviewRow) -> tuple[Opinion, str]:
    """What a review says, and its salt; they lie here no longer. Raises as `opened_review` does."""
    found = opened_review(transaction, row)
    transaction.execute("DELETE FROM sealed_reviews WHERE id = ?", (row.id,))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedTrial:
    """`id` is the test job's. The key of its answer follows from `seed`."""

    id: str
    seed: str
    salt: str


_TRIALS: Final = Rows(SealedTrial, "sealed_trials")


def seal_trial(transaction: Transaction, sealed: SealedTrial) -> None:
    """Keep a secret until its test job ends. The fact that says so is that of its commitment."""
    _TRIALS.add(transaction, sealed)


def opened_trial(reader: BooksReader, trial: Trial) -> Trial:
    """The test job with its secret, which stays here. Raises `Broken` if that is not what was committed to."""
    sealed = _TRIALS.get(reader, trial.id)
    if sealed is None:
        raise Broken(f"what {trial.id} had committed to is gone")
    return unsealed(trial, sealed.seed, sealed.salt)


def unseal_trial(transaction: Transaction, trial: Trial) -> Trial:
    """The test job with its secret, which lies here no longer. Raises as `opened_trial` does."""
    found = opened_trial(transaction, trial)
    transaction.execute("DELETE FROM sealed_trials WHERE id = ?", (trial.id,))
    return found
