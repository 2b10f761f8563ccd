"""Runs that wait for somebody: without an end, or with one of which nobody was told; and which process has one.

One process works a run at a time, and has it until its end was told; the kernel gives it back for a killed one. The
locks are the process's, not a platform's: a result is told when the platform is closed already.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.effects.ground.durable import put_file
from earnest.effects.ground.locks import FileLock, folder_lock
from earnest.effects.ground.storage.reader import BooksReader
from earnest.engine.facts import FINISHED, RESUMED, STARTED
from earnest.engine.messages import FinalResult
from earnest.engine.post import Pause
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.shapes import from_json
from earnest.runtime.order import Order, order_from_json
from earnest.runtime.run_book import RunRemains, read_kept

OPEN_RUNS: Final = "open.json"
KEPT_AFTER: Final = 1_000
"""So many facts are read again rather than noted."""

_HELD: Final[dict[Path, FileLock]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """How a run ended, and all that was said in it, in order."""

    result: FinalResult
    said: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A run without an end: what to do, since when, what is known of it, when it last did something and rested."""

    order: Order
    started_ms: int
    kept: RunRemains
    last_ms: int
    pauses: tuple[Pause, ...]


def marker_of(run_folder: Path) -> Path:
    """An empty file in the folder of a run: made before its end is, gone once somebody was told of it."""
    return run_folder / "untold"


def waiting_runs(reader: BooksReader, order_digest: str, runs_folder: Path) -> Iterator[str]:
    """The runs of this order that have no end, or one of which nobody was told; the newest first."""
    for run_id in reversed(_open_runs(reader, runs_folder)):
        started = next(reader.facts(kind=STARTED, subject=run_id, limit=1))
        if started.body["digest"] == order_digest:
            yield run_id


def needed_runs(reader: BooksReader, runs_folder: Path) -> frozenset[str]:
    """The runs from whose files a run without an end begins."""
    waiting = [run_id for run_id in _open_runs(reader, runs_folder) if not _has_ended(reader, run_id)]
    started = (next(reader.facts(kind=STARTED, subject=run_id, limit=1)) for run_id in waiting)
    return frozenset(str(fact.body["after"]) for fact in started if fact.body.get("after"))


def _open_runs(reader: BooksReader, runs_folder: Path) -> list[str]:
    """All runs that wait, in the order of their start.

    What was found before is kept beside the runs, up to a fact: only what came after it is read.
    """
    known, after_seq = _kept_open(reader, runs_folder / OPEN_RUNS)
    begun = dict.fromkeys((*known, *reader.subjects(kind=STARTED, after_seq=after_seq)))
    ended = {*reader.subjects(kind=FINISHED, after_seq=after_seq), *(one for one in known if _has_ended(reader, one))}
    found = [run_id for run_id in begun if run_id not in ended or marker_of(runs_folder / run_id).exists()]
    newest = next(reader.facts(newest_first=True, limit=1), None)
    if newest is not None and newest.seq - after_seq >= KEPT_AFTER:
        kept = canonical_bytes({"seq": newest.seq, "leaf": newest.leaf.hex(), "open": [*found]})
        with suppress(OSError):  # else the next one reads more
            put_file(runs_folder / OPEN_RUNS, kept)
    return found


def _has_ended(reader: BooksReader, run_id: str) -> bool:
    return any(reader.facts(kind=FINISHED, subject=run_id, limit=1))


def _kept_open(reader: BooksReader, place: Path) -> tuple[list[str], int]:
    """The runs that waited, and the fact up to which that was so; nothing where other facts stand there now."""
    try:
        kept = json.loads(place.read_bytes())
        found, seq, leaf = [*map(str, kept["open"])], int(kept["seq"]), str(kept["leaf"])
    except (OSError, ValueError, TypeError, KeyError):
        return [], 0
    is_same = any(fact.leaf.hex() == leaf for fact in reader.facts(after_seq=seq - 1, limit=1) if fact.seq == seq)
    return (found, seq) if is_same else ([], 0)


def waits(reader: BooksReader, run_id: str, runs_folder: Path) -> bool:
    """True for a run without an end, or with one of which nobody was told."""
    return not _has_ended(reader, run_id) or marker_of(runs_folder / run_id).exists()


def untold(reader: BooksReader, run_id: str, runs_folder: Path) -> Untold | None:
    """The end of a run of which nobody was told, if that is what there is."""
    for end in reader.facts(kind=FINISHED, subject=run_id):
        if marker_of(runs_folder / run_id).exists():
            said = tuple(envelope.payload for envelope in read_kept(reader, run_id).messages.values())
            return Untold(result=from_json(FinalResult, end.body["result"], f"the end of {run_id}"), said=said)
    return None


def note_told(run_folder: Path) -> None:
    """Somebody was told. If that cannot be noted, it is told once more."""
    with suppress(OSError):
        marker_of(run_folder).unlink(missing_ok=True)
    let_run_go(run_folder)


def check_known(reader: BooksReader, run_id: str) -> None:
    """Raises `Refused("run_unknown")`."""
    if not any(reader.facts(subject=run_id, kind=STARTED, limit=1)):
        raise Refused("run_unknown", f"there is no run {run_id}")


def unfinished(reader: BooksReader, run_id: str) -> Unfinished:
    """Where the run stands. Raises `Refused("run_finished")`, and `Broken` for what no version of ours wrote."""
    order: Order | None = None
    started_ms = 0
    pauses: list[Pause] = []
    last_ms = 0
    for fact in reader.facts(subject=run_id):
        last_ms = max(last_ms, fact.at_ms)
        match fact.kind:
            case kind if kind == STARTED:
                order, started_ms = order_from_json(fact.body), fact.at_ms
            case kind if kind == RESUMED:
                pauses.append(from_json(Pause, fact.body, "a run's resumption"))
            case kind if kind == FINISHED:
                raise Refused("run_finished", f"{run_id} has ended; see `earnest show {run_id}`")
    assert order is not None
    kept = read_kept(reader, run_id)
    return Unfinished(order=order, started_ms=started_ms, kept=kept, last_ms=last_ms, pauses=tuple(pauses))


def hold_run(run_folder: Path) -> None:
    """Have a run, in a folder that is made if need be. Raises `Refused("run_in_work")`, naming who has it.

    Does nothing where we have it.
    """
    if run_folder in _HELD:
        return
    run_folder.mkdir(parents=True, exist_ok=True)
    lock = folder_lock(run_folder)
    if not lock.try_take():
        holder = lock.holder
        lock.close()
        raise Refused("run_in_work", f"{run_folder.name} is being worked already by {holder}")
    _HELD[run_folder] = lock


def let_run_go(run_folder: Path) -> None:
    """Let others have it. Does nothing where we do not."""
    lock = _HELD.pop(run_folder, None)
    if lock is not None:
        lock.close()
