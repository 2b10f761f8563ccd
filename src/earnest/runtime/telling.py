"""Runs that wait for somebody: without an end, or with one of which nobody was told."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from earnest.effects.ground.storage.reader import Reader
from earnest.engine.codec import decode
from earnest.engine.facts import FINISHED, STARTED
from earnest.engine.messages import FinalResult
from earnest.foundation.canonical import JsonObject
from earnest.runtime.run_book import read_kept
from earnest.runtime.run_lock import let_run_go


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """How a run ended, and all that was said in it, in order."""

    result: FinalResult
    said: tuple[object, ...]


def marker_of(run_folder: Path) -> Path:
    """An empty file in the folder of a run: made before its end is, gone once somebody was told of it."""
    return run_folder / "untold"


def waiting_runs(reader: Reader, order_digest: str, runs_folder: Path) -> Iterator[str]:
    """The runs of this order that have no end, or one of which nobody was told; the newest first."""
    finished, digest = frozenset(reader.subjects(kind=FINISHED)), order_digest.encode()
    for fact in reader.facts(kind=STARTED, newest_first=True):
        run_id = fact.subject
        is_ours = digest in fact.body_json and fact.body["digest"] == order_digest
        if is_ours and (run_id not in finished or marker_of(runs_folder / run_id).exists()):
            yield run_id


def waits(reader: Reader, run_id: str, runs_folder: Path) -> bool:
    """True for a run without an end, or with one of which nobody was told."""
    has_ended = any(reader.facts(kind=FINISHED, subject=run_id, limit=1))
    return not has_ended or marker_of(runs_folder / run_id).exists()


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
    let_run_go(run_folder)
