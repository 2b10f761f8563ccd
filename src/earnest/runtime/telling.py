"""Runs that wait for somebody: without an end, or with one of which nobody was told."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from earnest.effects.storage.facts import StoredFact
from earnest.effects.storage.reader import Reader
from earnest.engine.codec import decode
from earnest.engine.facts import FINISHED, STARTED, TOLD
from earnest.engine.messages import FinalResult
from earnest.foundation.canonical import JsonObject
from earnest.runtime.run_book import read_kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """How a run ended, and all that was said in it, in order."""

    result: FinalResult
    said: tuple[object, ...]


def waiting_run(reader: Reader, order_digest: str, working: Collection[str]) -> str | None:
    """The newest run of this order that has no end, or one of which nobody was told; but for those in work."""
    told = {fact.subject for fact in reader.facts(kind=TOLD)}
    over = {fact.subject for fact in reader.facts(kind=FINISHED) if not _is_untold(fact, told)}
    started = reader.facts(kind=STARTED, newest_first=True)
    ids = (fact.subject for fact in started if fact.body["digest"] == order_digest)
    return next((run_id for run_id in ids if run_id not in over and run_id not in working), None)


def untold(reader: Reader, run_id: str) -> Untold | None:
    """The end of a run of which nobody was told, if that is what there is."""
    told = {fact.subject for fact in reader.facts(kind=TOLD, subject=run_id)}
    for end in reader.facts(kind=FINISHED, subject=run_id):
        if _is_untold(end, told):
            said = tuple(envelope.payload for envelope in read_kept(reader, run_id).messages.values())
            result = decode(FinalResult.__name__, cast("JsonObject", end.body["result"]))
            return Untold(result=cast("FinalResult", result), said=said)
    return None


def _is_untold(end: StoredFact, told: Collection[str]) -> bool:
    """The ends of earlier versions do not say that somebody is to be told, and count as told."""
    return "untold" in end.body and end.subject not in told
