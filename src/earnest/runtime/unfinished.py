"""What an earlier process left of a run: its order, what was kept of it, when it rested."""

from dataclasses import dataclass

from earnest.effects.ground.storage.reader import BooksReader
from earnest.engine.facts import FINISHED, RESUMED, STARTED
from earnest.engine.post import Pause
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused
from earnest.runtime.order import Order, order_from_json
from earnest.runtime.run_book import RunRemains, read_kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A run without an end: what to do, since when, what is known of it, when it last did something and rested."""

    order: Order
    started_ms: int
    kept: RunRemains
    last_ms: int
    pauses: tuple[Pause, ...]


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
                pauses.append(_pause(fact.body))
            case kind if kind == FINISHED:
                raise Refused("run_finished", f"{run_id} has ended; see `earnest show {run_id}`")
    assert order is not None
    kept = read_kept(reader, run_id)
    return Unfinished(order=order, started_ms=started_ms, kept=kept, last_ms=last_ms, pauses=tuple(pauses))


def _pause(body: JsonObject) -> Pause:
    match body:
        case {"from_ms": int(from_ms), "to_ms": int(to_ms)}:
            return Pause(from_ms=from_ms, to_ms=to_ms)
    raise Broken("a run's resumption cannot be read")
