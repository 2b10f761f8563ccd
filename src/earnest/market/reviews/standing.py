"""What is known of somebody's work: the signals that a reputation is made of, counted."""

from earnest.effects.ground.storage.reader import BooksReader
from earnest.market.reviews.reputation import WINDOW_S, Reputation, reputation_of
from earnest.market.reviews.signal import SignalKind

_COUNT = "SELECT signals.kind, count(*) FROM signals WHERE account_id = ? AND at_ms > ? AND weight > 0 GROUP BY 1"
_COUNT_IN = (
    "SELECT signals.kind, count(*) FROM signals JOIN claims ON claims.id = signals.claim_id "
    "WHERE signals.account_id = ? AND signals.at_ms > ? AND signals.weight > 0 AND claims.category = ? GROUP BY 1"
)


def standing(reader: BooksReader, account_id: str, now_ms: int, category: str = "") -> Reputation:
    """The reputation of an account at this moment, in all its work or in that of one category."""
    since_ms = now_ms - WINDOW_S * 1_000
    if category:
        rows = reader.execute(_COUNT_IN, (account_id, since_ms, category))
    else:
        rows = reader.execute(_COUNT, (account_id, since_ms))
    return reputation_of({SignalKind(kind): int(count) for kind, count in rows.fetchall()})
