"""Old artifacts that nothing uses any more: they end in the books, and the platform collects their contents."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.market.claims.artifact import Artifact
from earnest.market.service import ARTIFACTS

AT_ONCE: Final = 100
"""So many end in one transaction, so that others come between."""
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_USES: Final = """
SELECT s.manifest FROM submissions s JOIN claims c ON c.id = s.claim_id
WHERE c.ended_at_ms IS NULL OR c.ended_at_ms > :since
UNION ALL SELECT s.manifest FROM submissions s JOIN disputes d ON d.claim_id = s.claim_id
WHERE d.closed_at_ms IS NULL OR d.closed_at_ms > :since
UNION ALL SELECT s.evidence FROM statements s JOIN disputes d ON d.id = s.dispute_id
WHERE d.closed_at_ms IS NULL OR d.closed_at_ms > :since
UNION ALL SELECT files FROM jobs WHERE ended_at_ms IS NULL OR ended_at_ms > :since
UNION ALL SELECT j.files FROM jobs j JOIN claims c ON c.job_id = j.id
WHERE c.ended_at_ms IS NULL OR c.ended_at_ms > :since
UNION ALL SELECT j.files FROM jobs j JOIN claims c ON c.job_id = j.id JOIN disputes d ON d.claim_id = c.id
WHERE d.closed_at_ms IS NULL OR d.closed_at_ms > :since
UNION ALL SELECT artifacts FROM heartbeats WHERE judged_at_ms IS NULL OR waiting > 0 OR judged_at_ms > :since
"""
"""Texts with the digests of what goes on, or ended since: so long receipts are judged again and rulings appealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedArtifacts:
    """What nothing used when the newest fact was `seq`."""

    artifacts: tuple[Artifact, ...]
    seq: int


def unused_artifacts(reader: BooksReader, since_ms: int) -> UnusedArtifacts:
    """Artifacts that were brought before `since_ms`, and used by nothing that goes on or has ended since."""
    old = list(ARTIFACTS.where(reader, "kept_at_ms <= ? ORDER BY id", (since_ms,)))
    texts = reader.execute(_USES, {"since": since_ms}) if old else ()
    used = {digest for (text,) in texts for digest in _DIGEST.findall(text)}
    newest = next(reader.facts(newest_first=True, limit=1), None)
    return UnusedArtifacts(
        artifacts=tuple(one for one in old if one.sha256 not in used), seq=newest.seq if newest else 0
    )


def end_artifacts(transaction: Transaction, artifacts: Sequence[Artifact], seq: int, at_ms: int) -> list[Artifact]:
    """End those of `artifacts` that no fact after `seq` names, and that are there still; which these are."""
    named = {digest for fact in transaction.facts(after_seq=seq) for digest in _DIGEST.findall(fact.body_json.decode())}
    ended = []
    for one in artifacts:
        if one.sha256 not in named and ARTIFACTS.get(transaction, one.id) == one:
            ARTIFACTS.remove(transaction, at_ms, one, touching=(one.account_id,))
            ended.append(one)
    return ended
