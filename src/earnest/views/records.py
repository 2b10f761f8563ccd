"""Track records: which promises agents kept and which they broke, and what that came to. Anybody may know them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.ledger.transfer import clearing
from earnest.market.claims.claim import TERMINAL, Claim
from earnest.market.reviews.reputation import WINDOW_S, Reputation
from earnest.market.reviews.signal import SignalKind
from earnest.market.reviews.standing import standing
from earnest.market.rows import CLAIMS, SIGNALS
from earnest.verification.verdict import Answer

BROKEN: Final = (SignalKind.REFUNDED, SignalKind.MISSED_DEADLINE)
"""The ends of a claim that break its promise: the work was rejected, or nothing was handed in."""
COSTS_READ_MAX: Final = 500
"""Of one agent, the newest broken promises whose cost is summed."""
_KINDS: Final = ", ".join(f"'{kind}'" for kind in BROKEN)
_COSTS: Final = f"""
SELECT claims.currency, sum(claims.amount_micro - claims.fee_micro), coalesce(sum(transfers.amount_micro), 0)
FROM (SELECT claim_id FROM signals WHERE account_id = ? AND at_ms > ? AND weight > 0
  AND kind IN ({_KINDS}) ORDER BY at_ms DESC LIMIT {COSTS_READ_MAX}) AS broken
JOIN claims ON claims.id = broken.claim_id LEFT JOIN transfers ON transfers.id = broken.claim_id || '/fine'
GROUP BY claims.currency ORDER BY claims.currency
"""  # noqa: S608 - words of ours
_PAID: Final = "SELECT currency, credits_posted FROM ledger_accounts WHERE id >= ? AND id < ? ORDER BY currency"
_PAID_TO_ALL: Final = (
    "SELECT currency, sum(credits_posted) FROM ledger_accounts WHERE id >= 'act_' AND id < 'act`' "
    "AND replace(id, ':clearing:', '') <> id GROUP BY currency ORDER BY currency"
)
_WEIGHED: Final = (
    "SELECT account_id, sum(CASE WHEN kind = 'released' THEN 2 WHEN kind = 'split' THEN 1 ELSE 0 END), count(*) "
    "FROM signals WHERE at_ms > ? AND weight > 0 GROUP BY account_id"
)
_KNOWN: Final = (
    "SELECT account_id FROM agreements LIMIT ?",
    "SELECT account_id FROM presences ORDER BY seen_at_ms DESC LIMIT ?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What broken promises cost whoever broke them: fines, and pay that they did not get."""

    currency: str
    fined_micro: int
    forgone_micro: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """An agent's promises of the last year. `paid_micro`: by currency, for work, ever."""

    account_id: str
    reputation: Reputation
    paid_micro: Mapping[str, int]
    costs: tuple[Cost, ...]

    @property
    def kept(self) -> int:
        """Claims whose work was paid in full."""
        return self.reputation.counts.get(SignalKind.RELEASED, 0)

    @property
    def broken(self) -> int:
        """Claims whose work was rejected, or never handed in."""
        return sum(self.reputation.counts.get(kind, 0) for kind in BROKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedWork:
    """Work that was handed in as done, and was not; `times`: so often. What it cost whoever said so."""

    claim: Claim
    times: int
    cost: Cost


def track_record(reader: BooksReader, account_id: str, now_ms: int) -> TrackRecord:
    """What became of the promises of one agent."""
    since_ms = now_ms - WINDOW_S * 1_000
    costs = reader.execute(_COSTS, (account_id, since_ms)).fetchall()
    return TrackRecord(
        account_id=account_id,
        reputation=standing(reader, account_id, now_ms),
        paid_micro=dict(reader.execute(_PAID, (clearing(account_id, ""), clearing(account_id, "~"))).fetchall()),
        costs=tuple(Cost(currency=one, fined_micro=int(fined), forgone_micro=int(net)) for one, net, fined in costs),
    )


def paid_to_agents(reader: BooksReader) -> dict[str, int]:
    """What all agents were paid for work, ever, by currency."""
    return {currency: int(paid) for currency, paid in reader.execute(_PAID_TO_ALL).fetchall()}


def leaderboard(reader: BooksReader, now_ms: int, limit: int) -> list[TrackRecord]:
    """Those whose promises have ended, by reputation, the greatest first; the others follow, the last seen first."""
    rows = reader.execute(_WEIGHED, (now_ms - WINDOW_S * 1_000,)).fetchall()
    likely = sorted(rows, key=lambda row: (-_about(int(row[1]) / 2, int(row[2])), row[0]))[: 2 * limit]
    records = [track_record(reader, str(account_id), now_ms) for account_id, _, _ in likely]
    records.sort(key=lambda one: (-one.reputation.lower_bound_ppm, one.account_id))
    ranked = {one.account_id for one in records}
    seen = [str(row[0]) for source in _KNOWN for row in reader.execute(source, (limit,)).fetchall()]
    fresh = [one for one in dict.fromkeys(seen) if one not in ranked][: max(0, limit - len(records))]
    return [*records[:limit], *(track_record(reader, one, now_ms) for one in fresh)]


def rejected_work(reader: BooksReader, limit: int) -> list[RejectedWork]:
    """Work that was said to be done and was rejected, the newest first; what does not count is left out."""
    where = "state = 'refunded' AND verdict = ? AND submitted_at_ms > 0 ORDER BY submitted_at_ms DESC LIMIT ?"
    found = [claim for answer in ("", *Answer) for claim in CLAIMS.where(reader, where, (str(answer), limit))]
    found = [claim for claim in found if _counts(reader, claim)]
    found.sort(key=lambda claim: (claim.ended_at_ms or 0, claim.id), reverse=True)
    return [
        RejectedWork(claim=claim, times=_times(reader, claim), cost=cost_of(reader, claim)) for claim in found[:limit]
    ]


def cost_of(reader: BooksReader, claim: Claim) -> Cost:
    """What one broken promise cost."""
    fine = reader.execute("SELECT amount_micro FROM transfers WHERE id = ?", (f"{claim.id}/fine",)).fetchone()
    return Cost(
        currency=claim.currency,
        fined_micro=int(fine[0]) if fine else 0,
        forgone_micro=claim.amount_micro - claim.fee_micro,
    )


def is_public(reader: BooksReader, claim: Claim) -> bool:
    """True for a claim whose end stands in its seller's public record."""
    if claim.state not in TERMINAL:
        return False
    return next(SIGNALS.where(reader, "id > ? AND id < ? LIMIT 1", (f"{claim.id}/", f"{claim.id}0")), None) is not None


def _counts(reader: BooksReader, claim: Claim) -> bool:
    signal = SIGNALS.get(reader, f"{claim.id}/{SignalKind.REFUNDED}")
    return signal is not None and signal.weight > 0


def _times(reader: BooksReader, claim: Claim) -> int:
    (count,) = reader.execute("SELECT count(*) FROM submissions WHERE claim_id = ?", (claim.id,)).fetchone()
    return int(count)


def _about(good: float, ends: int) -> float:
    """Nearly the lower bound that reputation is (the normal curve for Beta): it says whom to look at closely."""
    a, b = 1 + good, 1 + max(0.0, ends - good)
    return (a - 1.645 * math.sqrt(a * b / (a + b + 1))) / (a + b)
