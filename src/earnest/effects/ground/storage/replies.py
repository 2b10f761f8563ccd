"""Answers kept by request, so that asking again has the same answer and no second effect.

Kept in the transaction of the effect (draft-ietf-httpapi-idempotency-key-header).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from earnest.effects.ground.storage.known_rows import Ahead, Sought
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Rows
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import digest_of
from earnest.foundation.errors import Broken

KEPT_MS: Final = 7 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """`id` names actor, route and key; `fingerprint` is the digest of method, path and body; `body` is JSON text."""

    id: str
    fingerprint: str
    status: int
    body: str
    at_ms: int


_ROWS: Final = Rows(StoredReply, "replies")


def sought_reply(reply_id: str) -> Ahead:
    """What `kept_reply` will look for."""
    return (Sought(lookup=_ROWS.lookup, keys=(reply_id,)),)


def kept_reply(reader: BooksReader, reply_id: str) -> StoredReply | None:
    """The answer to an earlier request with the same key. Raises `Broken` if it is not the one that was given."""
    found = _ROWS.get(reader, reply_id)
    return None if found is None else _checked(found)


def keep_reply(transaction: Transaction, reply: StoredReply) -> None:
    """Keep an answer. The fact that says so is that of the effect; no fact holds the answer, so its digest is kept."""
    _ROWS.add(transaction, replace(reply, fingerprint=f"{reply.fingerprint} {_digest(reply)}"))


def altered_replies(reader: BooksReader) -> Iterator[str]:
    """The ids of kept answers that are not those that were given."""
    for reply in _ROWS.where(reader, "1 = 1"):
        try:
            _checked(reply)
        except Broken:
            yield reply.id


def _checked(kept: StoredReply) -> StoredReply:
    fingerprint, _, digest = kept.fingerprint.rpartition(" ")
    if not fingerprint:  # kept by a version that made no digest
        return kept
    reply = replace(kept, fingerprint=fingerprint)
    if digest != _digest(reply):
        raise Broken(f"the answer that was kept as {kept.id} is not the one that was given")
    return reply


def _digest(reply: StoredReply) -> str:
    return digest_of([reply.id, reply.fingerprint, reply.status, reply.body, reply.at_ms])


def drop_replies(transaction: Transaction, before_ms: int, limit: int = 1_000) -> int:
    """Forget answers that nobody may ask for any more; how many."""
    sql = "DELETE FROM replies WHERE id IN (SELECT id FROM replies WHERE at_ms < ? LIMIT ?)"
    return transaction.execute(sql, (before_ms, limit)).rowcount
