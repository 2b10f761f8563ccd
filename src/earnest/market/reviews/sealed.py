"""Reviews while nobody may read them.

Beside the books, as answers kept for Idempotency-Keys do: no fact holds its content before publication, so nothing that
reads facts (proofs, exports, auditors, journal commands) can leak it. The fact holds the commitment, so it can be
neither altered nor dropped unseen. `earnest recompute` leaves this table as it is.
"""

import json
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Rows
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Broken
from earnest.market.reviews.review import Opinion, ReviewRow, commitment_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedReview:
    """`id` is the review's, `content` its canonical form."""

    id: str
    content: str
    salt: str


_ROWS: Final = Rows(SealedReview, "sealed_reviews")


def seal(transaction: Transaction, review_id: str, review: JsonObject, salt: str) -> None:
    """Keep a review until it is published. The fact that says so is that of its commitment."""
    _ROWS.add(transaction, SealedReview(id=review_id, content=canonical_text(review), salt=salt))


def opened(reader: BooksReader, row: ReviewRow) -> tuple[Opinion, str]:
    """What a review says, and its salt; they stay here. Raises `Broken` if it is not what was committed to."""
    sealed = _ROWS.get(reader, row.id)
    try:
        review = json.loads(sealed.content if sealed else "")
    except ValueError:
        review = None
    if sealed is None or review is None or commitment_of(review, sealed.salt) != row.commitment:
        raise Broken(f"the sealed review {row.id} is gone, or is not the one that was committed to")
    return Opinion(rating=review["rating"], text=review["text"], parts=review["parts"]), sealed.salt


def unseal(transaction: Transaction, row: ReviewRow) -> tuple[Opinion, str]:
    """What a review says, and its salt; they lie here no longer. Raises as `opened` does."""
    found = opened(transaction, row)
    transaction.execute("DELETE FROM sealed_reviews WHERE id = ?", (row.id,))
    return found
