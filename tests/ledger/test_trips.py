"""How often does a write go to a server and back? Each trip holds up everybody who waits for the turn."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import postgresql
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.ledger.service import balance, post, sought
from earnest.ledger.transfer import available, external, moved

ALICE, BOB = (available(f"act_{number:026d}", "USD") for number in range(2))


@pytest.fixture
def books(postgresql_address: str, tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(ServerBooks(postgresql_address, tmp_path), SystemClock())) as database:
        yield database


def booking(name: str, amount_micro: int = 1) -> Callable[[Transaction], None]:
    return lambda transaction: post(
        transaction, moved(name, ALICE, BOB, amount_micro, reason="cleared", at_ms=0) if amount_micro else ()
    )


async def test_trips_to_the_server_are_few_and_a_refused_part_leaves_the_others_alone(
    books: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await books.write(lambda tx: post(tx, moved("dep/in", external("USD"), ALICE, 1_000, reason="deposit", at_ms=0)))
    trips: list[str] = []
    postgresql.tell(monkeypatch, lambda query: trips.append(query.decode()[:60]))

    async def counted(*writes: Callable[[Transaction], object]) -> int:
        trips.clear()
        await asyncio.gather(*(books.write(write) for write in writes), return_exceptions=True)
        return len(trips)

    async def told_ahead(*names: str) -> int:
        trips.clear()
        ahead = {name: sought(moved(name, ALICE, BOB, 1, reason="cleared", at_ms=0)) for name in names}
        await asyncio.gather(*(books.write(booking(name), ahead=ahead[name]) for name in names))
        return len(trips)

    def fact(tx: Transaction) -> int:
        return tx.record(Fact(kind="test", subject="s", at_ms=0, body={}))

    stories = {
        "a fact": (await counted(fact), 3),
        "ten facts of ten callers": (await counted(*[fact] * 10), 3),
        "a transfer": (await counted(booking("t/1")), 4),
        "eight transfers of eight callers": (await counted(*(booking(f"t/{at}") for at in range(2, 10))), 11),
        "eight that were told ahead": (await told_ahead(*(f"t/{at}" for at in range(20, 28))), 3),
    }
    with capsys.disabled():
        print(*(f"\n{story}: {found} trips" for story, (found, _) in stories.items()), end=" ")
    assert {story: found for story, (found, most) in stories.items() if found > most} == {}

    told = await asyncio.gather(
        *(books.write(write) for write in (fact, booking("t/10", 5_000), booking("t/11"), fact)), return_exceptions=True
    )
    assert isinstance(told[1], Refused)
    assert [isinstance(one, BaseException) for one in told] == [False, True, False, False]
    assert books.read_sync(lambda reader: balance(reader, BOB)).credits_posted == 18
