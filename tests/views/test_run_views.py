"""What do the facts of runs say, also of those that never ended?"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.engine.facts import INTENT, OUTCOME, RESUMED, STARTED
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.views.runs import list_runs, newest_run, show_run

START: JsonObject = {"playbook": {"intent": "Do it"}, "source": "a.yaml"}


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Database]:
    database = Database.open(tmp_path / "books.sqlite3", SystemClock())
    yield database
    database.close()


def _record(books: Database, *facts: tuple[str, str, JsonObject]) -> None:
    rows = [Fact(kind=kind, subject=subject, at_ms=at, body=body) for at, (kind, subject, body) in enumerate(facts)]
    books.write_sync(lambda transaction: [transaction.record(fact) for fact in rows])


def test_the_newest_run_comes_first_and_no_more_are_listed_than_wanted(books: Database) -> None:
    _record(books, *((STARTED, f"run_{number}", START) for number in range(3)))
    lines = books.read_sync(lambda reader: list_runs(reader, 2))
    assert [line.run_id for line in lines] == ["run_2", "run_1"]
    assert books.read_sync(newest_run) == "run_2"


def test_a_run_without_an_end_is_shown_with_what_is_not_known_of_it(books: Database) -> None:
    _record(
        books,
        (STARTED, "run_1", START),
        (INTENT, "run_1", {"key": "r1/a/a1/c1"}),
        (OUTCOME, "run_1", {"key": "r1/a/a1/c1"}),
        (INTENT, "run_1", {"key": "r1/a/a1/c2"}),
        (RESUMED, "run_1", {"from_ms": 1, "to_ms": 2}),
    )
    view = books.read_sync(lambda reader: show_run(reader, "1"))
    assert view.line.result is None
    assert view.unknown_effects == ["r1/a/a1/c2"]
    assert (view.resumed, view.facts, view.rounds) == (1, 5, [])


def test_an_id_is_told_from_the_beginning_of_another(books: Database) -> None:
    _record(books, *((STARTED, run_id, START) for run_id in ("run_1", "run_12")))
    assert books.read_sync(lambda reader: show_run(reader, "run_1")).line.run_id == "run_1"


@pytest.mark.parametrize(
    ("given", "message"), [("run_", "2 runs begin"), ("", "there is no run"), ("3", "there is no run")]
)
def test_what_names_no_single_run_is_refused(given: str, message: str, books: Database) -> None:
    _record(books, *((STARTED, run_id, START) for run_id in ("run_1", "run_12")))
    with pytest.raises(Refused, match=message):
        books.read_sync(lambda reader: show_run(reader, given))


def test_there_is_no_newest_of_no_runs(books: Database) -> None:
    with pytest.raises(Refused, match="there is no run yet"):
        books.read_sync(newest_run)
