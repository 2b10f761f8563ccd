"""Judging again what a receipt of a claim says was judged, from what the market kept."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused
from earnest.market.service import CLAIMS, SUBMISSIONS
from earnest.runtime.market.judging import Judged
from earnest.runtime.market.market import Market
from earnest.runtime.market.replaying import judged_again
from earnest.verification.replay import Comparison


async def replayed_claim(market: Market, predicate: JsonObject) -> tuple[Comparison, ...]:
    """Each criterion that a machine judged: the answer in the receipt beside the one reached now.

    The ids are those of submission and criterion. Nothing is recorded. Raises `Refused`: `not_replayable` for a receipt
    of something else, `evidence_gone`; `Broken` where the books hold another verdict than the receipt.
    """
    match predicate:
        case {"kind": "claim", "verdicts": [*told]}:
            pass
        case _:
            raise Refused("not_replayable", "only a claim's receipt is judged again; a kept verdict by its own id")
    found: list[Comparison] = []
    for one in told:
        if isinstance(one, Mapping) and one.get("verdict"):
            found += await _replayed(market, one)
    return tuple(found)


async def _replayed(market: Market, told: Mapping[str, Any]) -> list[Comparison]:
    judged = market.desk.database.read_sync(lambda reader: _kept(reader, told))
    _, rows = await judged_again(market, judged)
    return [replace(row, id=f"{judged.submission.id}/{row.id}") for row in rows]


def _kept(reader: BooksReader, told: Mapping[str, Any]) -> Judged:
    submission = SUBMISSIONS.get(reader, str(told.get("evidence_id")))
    if submission is None or submission.root != told.get("evidence_root") or not submission.verdict:
        raise Refused("evidence_gone", f"the market does not hold {str(told.get('evidence_id'))[:80]!r} any more")
    judged = Judged.read(reader, CLAIMS.find(reader, submission.claim_id), submission)
    if _answers(judged.verdict) != _answers(told["verdict"]):
        raise Broken(f"the books hold another verdict on {submission.id} than the receipt says")
    return judged


def _answers(verdict: Mapping[str, Any]) -> list[Any]:
    """What was judged and decided; a receipt for anybody leaves some of the reasons out."""
    return [verdict["snapshot"], verdict["verdict"], [(one["id"], one["verdict"]) for one in verdict["criteria"]]]
