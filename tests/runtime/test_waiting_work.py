"""Waiting work by lease: each piece by one process, and none that is left behind by a holder that dies."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field

import pytest

from earnest.effects.ground.clock import SystemChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.leases import FREE, LEASE_MS, leave_leases, renew_leases, take_leases
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.foundation.facts import Fact
from earnest.runtime.desk import Act, Desk, StoryContext
from earnest.runtime.waiting_work import LOOK_AGAIN_MS, WORKERS, WaitingWork

from .processes import eventually

WAIT_S = 30.0
LAY = "INSERT INTO votes (id, message_id, operator_id, account_id, up, at_ms) VALUES (?, ?, ?, ?, ?, ?)"
PIECES = f"SELECT id FROM votes WHERE up = 0 AND {FREE} ORDER BY id LIMIT ?"


class Pieces(WaitingWork):
    """Marks rows as done, each as soon as it is let."""

    def __init__(self, desk: Desk, holder: str = "") -> None:
        super().__init__(desk, "piece.laid", holder=holder)
        self.begun: list[str] = []
        self.may_end = asyncio.Event()

    def _waiting(self, reader: BooksReader, now_ms: int, limit: int) -> list[str]:
        return [key for (key,) in reader.execute(PIECES, (now_ms, limit))]

    async def _do(self, key: str) -> tuple[Act, Ahead]:
        self.begun.append(key)
        await self.may_end.wait()

        def done(entry: "object") -> dict[str, object]:
            transaction: Transaction = entry.transaction  # type: ignore[attr-defined]
            if transaction.execute("UPDATE votes SET up = 1 WHERE id = ? AND up = 0", (key,)).rowcount:
                transaction.record(Fact(kind="piece.done", subject=key, at_ms=1, body={}))
            return {}

        return done, ()


@dataclass
class Place:
    """Books, and processes that use them."""

    database: Database
    clock: VirtualClock
    desks: list[Desk] = field(default_factory=list)

    def process(self, holder: str = "") -> Pieces:
        self.desks.append(Desk(self.database, self.clock, SystemChance()))
        return Pieces(self.desks[-1], holder)

    async def lay(self, *names: str) -> None:
        def write(transaction: Transaction) -> None:
            for name in names:
                transaction.execute(LAY, (name, "m", "o", "a", 0, 1))
                transaction.record(Fact(kind="piece.laid", subject=name, at_ms=1, body={}))

        await self.database.write(write)

    def done(self) -> list[str]:
        return self.database.read_sync(lambda reader: [one.subject for one in reader.facts(kind="piece.done")])

    def until_ms(self, name: str) -> int:
        sql = "SELECT until_ms FROM leases WHERE id = ?"
        ((until_ms,),) = self.database.read_sync(lambda reader: [*reader.execute(sql, (name,))])
        return int(until_ms)

    def leased(self) -> list[str]:
        sql = "SELECT id FROM leases ORDER BY id"
        return self.database.read_sync(lambda reader: [name for (name,) in reader.execute(sql)])


@pytest.fixture
def place(books: Books) -> Iterator[Place]:
    clock = VirtualClock()
    with closing(Database.open(books, clock)) as database:
        yield Place(database, clock)


@asynccontextmanager
async def running(*works: Pieces) -> AsyncIterator[list["asyncio.Task[None]"]]:
    tasks = [asyncio.create_task(work.run()) for work in works]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def until(holds: Callable[[], bool]) -> None:
    assert await asyncio.to_thread(eventually, holds)


@pytest.mark.slow
async def test_two_processes_share_what_waits_and_do_each_piece_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("earnest.runtime.waiting_work.LOOK_AGAIN_MS", 50)
    names = [f"p{number:02}" for number in range(20)]
    await place.lay(*names)
    works = [place.process(), place.process()]
    async with running(*works):
        await until(lambda: all(work.under_way == WORKERS for work in works))
        assert not set(works[0].begun) & set(works[1].begun)
        for work in works:
            work.may_end.set()
        await until(lambda: len(place.done()) == len(names))
    assert sorted(place.done()) == names
    assert sorted(works[0].begun + works[1].begun) == names
    assert place.leased() == []


async def test_a_fact_wakes_who_waits_for_work(place: Place) -> None:
    work = place.process()
    work.may_end.set()
    async with running(work):
        await until(lambda: bool(place.database.news.ears))
        await place.lay("late")
        start_s = asyncio.get_running_loop().time()
        await until(lambda: place.done() == ["late"])
        assert asyncio.get_running_loop().time() - start_s < LOOK_AGAIN_MS / 2_000


async def test_what_a_dead_holder_was_at_is_begun_anew_once_its_lease_has_run_out(place: Place) -> None:
    await place.lay("left")
    dead, other = place.process(), place.process()
    assert await dead._take() == 1
    assert await other._take() == 0, "it is somebody's"
    place.clock.jump_ms(LEASE_MS)
    assert await other._take() == 1
    other.may_end.set()
    await until(lambda: place.done() == ["left"])
    dead.may_end.set()  # it was only stopped, and wakes
    await until(lambda: dead.under_way == 0)
    assert place.done() == ["left"], "the second word about it changes nothing"
    assert place.leased() == []


async def test_who_begins_again_under_its_own_name_takes_up_at_once_what_it_was_at(place: Place) -> None:
    await place.lay("left")
    before, again = place.process("the server"), place.process("the server")
    assert await before._take() == 1
    again.may_end.set()
    async with running(again):
        await until(lambda: place.done() == ["left"])
    before.may_end.set()
    await until(lambda: before.under_way == 0)
    assert place.done() == ["left"]


async def test_a_lease_that_ran_out_is_not_renewed_and_one_that_holds_is(place: Place) -> None:
    write, now_ms = place.database.write, 1_000_000
    assert await write(lambda t: take_leases(t, "one", ["a", "b"], now_ms)) == ["a", "b"]
    assert await write(lambda t: take_leases(t, "two", ["a", "c"], now_ms)) == ["c"]
    later_ms = now_ms + LEASE_MS - 1
    assert await write(lambda t: renew_leases(t, "one", ["a", "b"], later_ms)) == 2
    assert await write(lambda t: take_leases(t, "two", ["a"], now_ms + LEASE_MS)) == []
    assert await write(lambda t: renew_leases(t, "one", ["a", "b"], later_ms + LEASE_MS)) == 0
    assert await write(lambda t: take_leases(t, "two", ["a"], later_ms + LEASE_MS)) == ["a"]


async def test_leases_that_ran_out_are_told_and_those_given_back_are_not(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("earnest.runtime.waiting_work.RENEW_MS", 1)
    work, names = place.process("one"), [f"p{number:02}" for number in range(60)]
    work.may_end.set()
    async with running(work):
        await place.lay(*names)
        await until(lambda: len(place.done()) == len(names))
        assert caplog.messages == []
        work.may_end.clear()
        await place.lay("last")
        await until(lambda: work.under_way == 1)
        await place.database.write(lambda transaction: leave_leases(transaction, "one", 0))
        await until(lambda: "leases have run out: others begin the same work anew" in caplog.messages)


async def test_a_lease_of_a_clock_that_is_far_ahead_keeps_nobody_from_the_work(place: Place) -> None:
    write, now_ms = place.database.write, 1_000_000
    assert await write(lambda t: take_leases(t, "a little ahead", ["a"], now_ms + LEASE_MS // 2)) == ["a"]
    assert await write(lambda t: take_leases(t, "far ahead", ["b"], now_ms + 3_600_000)) == ["b"]
    assert await write(lambda t: take_leases(t, "right", ["a", "b"], now_ms)) == ["b"]
    assert await write(lambda t: renew_leases(t, "far ahead", ["b"], now_ms)) == 0


async def test_who_is_stopped_gives_back_what_it_is_at(place: Place) -> None:
    await place.lay("a", "b")
    first, second = place.process(), place.process()
    async with running(first):
        await until(lambda: first.under_way == 2)
        assert place.leased() == ["a", "b"]
    assert place.leased() == []
    assert await second._take() == 2


async def test_who_leaves_ends_what_it_is_at_and_begins_nothing_more(place: Place) -> None:
    await place.lay("a")
    work = place.process()
    async with running(work) as (task,):
        await until(lambda: work.under_way == 1)
        work.leave()
        await place.lay("b")
        work.may_end.set()
        await asyncio.wait_for(task, WAIT_S)
    assert (place.done(), work.begun) == (["a"], ["a"])


@pytest.mark.slow
async def test_who_leaves_while_it_looks_for_more_takes_nothing_that_came_after(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.lay("a")
    work, ask = place.process(), place.database.ask

    async def asked_and_left(free: Callable[[BooksReader], list[str]]) -> list[str]:
        found = await ask(free)
        work.leave()
        await place.lay("b")
        return found

    monkeypatch.setattr(place.database, "ask", asked_and_left)
    assert await work._take() == 0
    assert (work.begun, place.leased()) == ([], [])


async def test_leases_need_no_fact_and_nothing_else_is_changed_so(place: Place) -> None:
    before = place.database.last_seq
    await place.database.write(lambda t: take_leases(t, "one", ["a"], 1))
    assert place.database.last_seq == before
    with pytest.raises(Broken, match="changed by facts"):
        await place.database.write(lambda t: t.aside("DELETE FROM votes WHERE id = ?", ("a",)))

    def both(transaction: Transaction) -> None:
        take_leases(transaction, "two", ["b"], 1)
        transaction.execute("DELETE FROM leases WHERE id = 'a'")

    with pytest.raises(Refused, match="without recording a fact"):
        await place.database.write(both)
    assert place.leased() == ["a"], "what was taken aside goes with the rest"


def laying(*names: str, says: bool = True) -> Act:
    """A story that leaves work; one that does not say so is refused at its end."""

    def story(entry: StoryContext) -> dict[str, object]:
        for name in names:
            entry.transaction.execute(LAY, (name, "m", "o", "a", 0, 1))
            if says:
                entry.transaction.record(Fact(kind="piece.laid", subject=name, at_ms=1, body={}))
            entry.leave("piece.laid", name)
        return {}

    return story


async def test_what_is_left_is_taken_in_the_same_commit_as_far_as_there_is_room(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"p{number}" for number in range(WORKERS + 1)]
    looked_for: list[str] = []

    def looked(turn: Transaction, holder: str, wanted: Sequence[str], now_ms: int) -> list[str]:
        looked_for.extend(wanted)
        return take_leases(turn, holder, wanted, now_ms)

    monkeypatch.setattr("earnest.runtime.waiting_work.take_leases", looked)
    work = place.process()
    async with running(work):
        await until(lambda: work in place.desks[0].takers.values())
        with pytest.raises(Refused, match="without recording a fact"):
            await place.desks[0].tick(laying("unsaid", says=False))
        await place.desks[0].tick(laying(*names))
        await until(lambda: work.begun == names[:WORKERS])
        assert place.leased() == names[:WORKERS]
        work.may_end.set()
        await until(lambda: len(place.done()) == len(names))
    assert looked_for == names[WORKERS:]
    assert place.leased() == []
    assert place.desks[0].takers == {}


async def test_what_is_only_to_be_written_keeps_no_room_from_other_work(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"p{number}" for number in range(2 * WORKERS)]
    await place.lay(*names[:WORKERS])
    work, may_write = place.process(), asyncio.Event()
    tick = place.desks[0].tick

    async def ticked(act: Act, ahead: Ahead) -> object:
        await may_write.wait()
        return await tick(act, ahead)

    monkeypatch.setattr(place.desks[0], "tick", ticked)
    work.may_end.set()
    async with running(work):
        await until(lambda: work.begun == names[:WORKERS])
        await place.lay(*names[WORKERS:])
        await until(lambda: work.begun == names)
        assert not place.done()
        may_write.set()
        await until(lambda: sorted(place.done()) == names)
        await until(lambda: work.under_way == 0)
    assert place.leased() == []


async def test_work_whose_commit_was_not_answered_is_begun_once_its_lease_has_run_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("earnest.runtime.waiting_work.RENEW_MS", 1)
    monkeypatch.setattr("earnest.runtime.waiting_work.LOOK_AGAIN_MS", 50)
    work, write = place.process(), place.database.write

    async def unanswered(fn: Callable[[Transaction], object], **told: Ahead) -> None:
        await write(fn, **told)
        raise Unavailable("whether it was written is not known")

    async with running(work):
        await until(lambda: work in place.desks[0].takers.values())
        await place.lay("other")
        await until(lambda: work.begun == ["other"])
        with monkeypatch.context() as patch:
            patch.setattr(place.database, "write", unanswered)
            with pytest.raises(Unavailable, match="is not known"):
                await place.desks[0].tick(laying("lost"))
        assert place.leased() == ["lost", "other"]
        place.clock.jump_ms(LEASE_MS // 2)
        await until(lambda: place.until_ms("other") > place.until_ms("lost"))
        place.clock.jump_ms(LEASE_MS // 2)
        await until(lambda: work.begun == ["other", "lost"])
