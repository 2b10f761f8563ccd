"""Runs that wait for somebody: without an end, or with one of which nobody was told."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from earnest.effects.storage.reader import Reader
from earnest.engine.codec import decode
from earnest.engine.facts import FINISHED, STARTED
from earnest.engine.messages import FinalResult
from earnest.foundation.canonical import JsonObject
from earnest.runtime.run_book import read_kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """How a run ended, and all that was said in it, in order."""

    result: FinalResult
    said: tuple[object, ...]


def marker_of(run_folder: Path) -> Path:
    """An empty file in the folder of a run: made before its end is, gone once somebody was told of it."""
    return run_folder / "untold"


def waiting_run(reader: Reader, order_digest: str, runs_folder: Path, working: Collection[str]) -> str | None:
    """The newest run of this order that has no end, or one of which nobody was told; but for those in work."""
    finished, digest = frozenset(reader.subjects(kind=FINISHED)), order_digest.encode()
    for fact in reader.facts(kind=STARTED, newest_first=True):
        run_id = fact.subject
        if digest not in fact.body_json or fact.body["digest"] != order_digest or run_id in working:
            continue
        if run_id not in finished or marker_of(runs_folder / run_id).exists():
            return run_id
    return None


def untold(reader: Reader, run_id: str, runs_folder: Path) -> Untold | None:
    """The end of a run of which nobody was told, if that is what there is."""
    for end in reader.facts(kind=FINISHED, subject=run_id):
        if marker_of(runs_folder / run_id).exists():
            said = tuple(envelope.payload for envelope in read_kept(reader, run_id).messages.values())
            result = decode(FinalResult.__name__, cast("JsonObject", end.body["result"]))
            return Untold(result=cast("FinalResult", result), said=said)
    return None


def note_told(run_folder: Path) -> None:
    """Somebody was told. If that cannot be noted, it is told once more."""
    with suppress(OSError):
        marker_of(run_folder).unlink(missing_ok=True)
