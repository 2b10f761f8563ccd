"""Is every deadline kept, whatever becomes of another's?"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk, StoryContext
from earnest.runtime.timers import Timers

NAMES = ("first", "second", "third")


@pytest.fixture
def desk(books: Books) -> Iterator[Desk]:
    clock = VirtualClock()
    with closing(Database.open(books, clock)) as database:
        yield Desk(database, clock, SeededChance(1))


def due(transaction: Transaction) -> None:
    for number, name in enumerate(NAMES):
        numbers = {"declared_at_ms": 1, "revision": 1, "tries": 0, "removed": 0, "floor_micro": 0}
        texts = ("account_id", "category", "task_class", "state", "availability", "currency", "model_fingerprint")
        row: dict[str, str | int] = {"id": name, "wake_ms": 1 + number, **numbers, **dict.fromkeys(texts, "")}
        sql = f"INSERT INTO capabilities ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        transaction.execute(sql, tuple(row.values()))
        transaction.record(Fact(kind="test.declared", subject=name, at_ms=1, body={}))


@pytest.mark.parametrize(
    ("error", "told"),
    [(Refused("no", "not now"), "not now"), (ValueError("odd"), "ValueError('odd')"), (None, "nothing")],
)
async def test_a_row_that_fails_is_told_each_time_and_keeps_no_other_waiting(
    error: Exception | None, told: str, desk: Desk
) -> None:
    def story(entry: StoryContext, _terms: Terms, key: str) -> dict[str, object]:
        if key == "first" and error is not None:
            raise error
        if key != "first":
            entry.transaction.execute("UPDATE capabilities SET wake_ms = NULL WHERE id = ?", (key,))
            entry.transaction.record(Fact(kind="test.woken", subject=key, at_ms=1, body={}))
        return {}

    await desk.database.write(due)
    failures: list[str] = []
    timers = Timers(desk, Terms(), {"capabilities": ("id", story)}, failures.append)
    for looks in (1, 2):
        await timers.look()
        assert len(failures) == looks
        assert failures[-1].startswith("capabilities first: ")
        assert told in failures[-1]
    woken = desk.database.read_sync(lambda reader: {one.subject for one in reader.facts(kind="test.woken")})
    assert woken == {"second", "third"}
    assert await timers.next_ms() == 1
