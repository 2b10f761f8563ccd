"""Which runs wait is found from what was noted, and from the facts since; never from a note about other facts."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.engine.facts import FINISHED, STARTED
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.runtime import telling
from earnest.runtime.telling import OPEN_RUNS, marker_of, waiting_runs


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(telling, "KEPT_AFTER", 4)
    (tmp_path / "runs").mkdir()
    with closing(Database.open(tmp_path / "books.sqlite3", VirtualClock())) as database:
        yield database


def record(books: Database, kind: str, *runs: str) -> None:
    for run in runs:
        body: JsonObject = {"digest": "ours"} if kind == STARTED else {}
        fact = Fact(kind=kind, subject=run, at_ms=0, body=body)
        books.write_sync(lambda transaction, fact=fact: transaction.record(fact))  # type: ignore[misc]


def waiting(books: Database, runs: Path, order: str = "ours") -> list[str]:
    return books.read_sync(lambda reader: list(waiting_runs(reader, order, runs)))


def test_runs_wait_until_they_have_an_end_of_which_somebody_was_told(books: Database, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    record(books, STARTED, "a", "b", "c", "d")
    record(books, FINISHED, "a", "c")
    for run in "abcd":
        (runs / run).mkdir()
    marker_of(runs / "c").touch()
    assert waiting(books, runs) == ["d", "c", "b"]
    assert json.loads((runs / OPEN_RUNS).read_bytes())["open"] == ["b", "c", "d"]
    assert waiting(books, runs) == ["d", "c", "b"], "from what was noted"
    assert waiting(books, runs, "another order") == []
    marker_of(runs / "c").unlink()
    record(books, FINISHED, "b")
    record(books, STARTED, "e")
    assert waiting(books, runs) == ["e", "d"]
    assert json.loads((runs / OPEN_RUNS).read_bytes())["seq"] == 6, "so few facts are read again"


@pytest.mark.parametrize(
    "noted", [b"no json", b'{"seq":6,"leaf":"00","open":[]}', b'{"seq":99,"leaf":"","open":["x"]}']
)
def test_what_was_noted_of_other_facts_is_not_believed(books: Database, tmp_path: Path, noted: bytes) -> None:
    record(books, STARTED, "a", "b", "c", "d", "e", "f")
    (tmp_path / "runs" / OPEN_RUNS).write_bytes(noted)
    assert waiting(books, tmp_path / "runs") == ["f", "e", "d", "c", "b", "a"]
