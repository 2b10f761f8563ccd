"""What was a request answered with, so that asking again has the same answer and no second effect?

Kept in the transaction of the effect (draft-ietf-httpapi-idempotency-key-header).
"""

from dataclasses import dataclass
from typing import Final

from earnest.effects.storage.reader import Reader
from earnest.effects.storage.rows import Rows
from earnest.effects.storage.transaction import Transaction

KEPT_MS: Final = 7 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`id` names actor, route and key; `fingerprint` is the digest of method, path and body; `body` is JSON text."""

    id: str
    fingerprint: str
    status: int
    body: str
    at_ms: int


_ROWS: Final = Rows(Reply, "replies")


def kept_reply(reader: Reader, reply_id: str) -> Reply | None:
    """The answer to an earlier request with the same key."""
    return _ROWS.get(reader, reply_id)


def keep_reply(transaction: Transaction, reply: Reply) -> None:
    """Keep an answer. The fact that says so is that of the effect."""
    _ROWS.add(transaction, reply)


def drop_replies(transaction: Transaction, before_ms: int, limit: int = 1_000) -> int:
    """Forget answers that nobody may ask for any more; how many."""
    sql = "DELETE FROM replies WHERE id IN (SELECT id FROM replies WHERE at_ms < ? LIMIT ?)"
    return transaction.execute(sql, (before_ms, limit)).rowcount
