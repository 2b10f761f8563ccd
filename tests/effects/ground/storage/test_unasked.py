"""Whoever writes alone asks a server for nothing that it knows; whatever others did meanwhile, it does no wrong."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import generators
from psycopg.pq import TransactionStatus

import postgresql
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage import known_rows
from earnest.effects.ground.storage.database import Database, GroupWriter
from earnest.effects.ground.storage.place import ServerBooks
from earnest.effects.ground.storage.postgresql import ALONE_MIN, PostgresqlWriting
from earnest.effects.ground.storage.postgresql_session import TURN, PostgresqlSession
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.facts import Fact
from earnest.journal.verify import verify_journal
from earnest.ledger.rows import LEDGER_ACCOUNTS
from earnest.ledger.rules import LedgerAccount
from earnest.ledger.service import balance, post, sought
from earnest.ledger.transfer import Chain, available, escrow, external, moved

from .test_engines import vote

ANN, BOB = available("act_ann", "USD"), available("act_bob", "USD")
CUT_OFF = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%EXECUTE plan%' AND pid <> pg_backend_pid()
"""
_NUMBERS = count()


@pytest.fixture
def homes(postgresql_address: str, tmp_path: Path) -> Iterator[list[Database]]:
    """Two that share one server, of which the first has been alone for a while and knows the sums of ann and bob."""
    with ExitStack() as stack:
        databases = [
            stack.enter_context(closing(Database.open(ServerBooks(postgresql_address, tmp_path / name), SystemClock())))
            for name in ("one", "other")
        ]
        asyncio.run(_alone(databases[0]))
        yield databases


async def _alone(database: Database, turns: int = ALONE_MIN + 1) -> None:
    await booked(database, transfer(external("USD"), ANN, 100))
    for _ in range(turns):
        await booked(database, transfer(ANN, BOB, 1))


def transfer(debit: str, credit: str, amount: int, name: str = "") -> Chain:
    return moved(f"{name or f'dep_{next(_NUMBERS)}'}/in", debit, credit, amount, reason="deposit", at_ms=0)


async def booked(database: Database, chain: Chain, then: Callable[[Transaction], Any] = lambda _: None) -> Any:
    def book(transaction: Transaction) -> Any:
        post(transaction, chain)
        return then(transaction)

    return await database.write(book, ahead=sought(chain))


def sums(database: Database) -> list[int]:
    return database.read_sync(lambda reader: [balance(reader, name).balance_micro for name in (ANN, BOB)])


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    sent = list[bytes]()

    def heard(query: bytes) -> None:
        if not query.startswith((b"PREPARE", b"SELECT")):
            sent.append(query)

    postgresql.tell(monkeypatch, heard)
    return sent


@pytest.mark.slow
async def test_a_group_of_known_rows_is_one_message(homes: list[Database], messages: list[bytes]) -> None:
    before = sums(homes[0])
    messages.clear()
    await asyncio.gather(*(booked(homes[0], transfer(BOB, ANN, 1)) for _ in range(4)))
    assert len(messages) == 1
    assert sums(homes[0]) == [before[0] + 4, before[1] - 4]


@pytest.mark.slow
@pytest.mark.parametrize("asks", [False, True])
async def test_what_others_wrote_meanwhile_counts(homes: list[Database], asks: bool) -> None:
    one, other = homes
    ann, bob = sums(one)
    await booked(other, transfer(ANN, BOB, ann - 1))

    def ask(transaction: Transaction) -> Any:
        return transaction.execute("SELECT count(*) FROM facts").fetchone() if asks else None

    with pytest.raises(Refused, match="the account has less"):
        await booked(one, transfer(ANN, BOB, 2), ask)
    assert sums(one) == [1, bob + ann - 1]
    await _alone(one)
    ann, bob = sums(one)
    await booked(other, transfer(external("USD"), ANN, 50))
    found = await asyncio.gather(
        *(booked(one, transfer(ANN, BOB, ann + 49), ask) for _ in range(2)), return_exceptions=True
    )
    assert sum(isinstance(one, Refused) for one in found) == 1
    assert sums(one) == [1, bob + ann + 49]


@pytest.mark.slow
async def test_nobody_asks_for_what_begins_with_an_id_that_was_drawn(
    homes: list[Database], messages: list[bytes]
) -> None:
    one, _ = homes
    ann, bob = sums(one)
    held = escrow("job_new", "USD")

    async def moves(amount: int, name: str, to: str = held, *, draws: bool = False, fails: bool = False) -> None:
        def book(transaction: Transaction) -> None:
            if draws and (known := transaction.link.known) is not None:
                known.draw("job_new")
            post(transaction, transfer(ANN, to, amount, name))
            if fails:
                raise Refused("not_found", "after all")

        await one.write(book)

    undone = moves(1, "job_new/undone", fails=True)  # with it go the rows that are known, those of the first too
    found = await asyncio.gather(
        moves(5, "job_new/1", draws=True), undone, moves(2, "job_new/2"), return_exceptions=True
    )
    assert [isinstance(one, Exception) for one in found] == [False, True, False]
    assert sums(one) == [ann - 7, bob]
    assert one.read_sync(lambda reader: balance(reader, held).balance_micro) == 7
    messages.clear()
    await moves(1, "job_new/3", escrow("job_new_too", "USD"), draws=True)
    assert len(messages) == 2  # no such id was drawn
    messages.clear()
    await one.write(lambda transaction: post(transaction, transfer(ANN, held, 1, "job_new/4")))
    assert len(messages) == 2  # it was, for another transaction


@pytest.mark.slow
async def test_a_transfer_that_is_no_longer_known_is_booked_once(
    homes: list[Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = homes
    await booked(one, transfer(ANN, BOB, 1, "dep_again"))
    before, newest = sums(one), one.last_seq
    await booked(one, transfer(ANN, BOB, 1))
    with monkeypatch.context() as less:
        less.setattr(known_rows, "ROWS_KEPT_MAX", 2)
        await booked(one, transfer(BOB, ANN, 1))
    await booked(one, transfer(ANN, BOB, 1, "dep_again"))
    assert (sums(one), one.last_seq) == (before, newest + 2)


@pytest.mark.slow
async def test_a_part_that_is_refused_leaves_the_others_alone(homes: list[Database]) -> None:
    one, _ = homes
    ann, bob = sums(one)
    chains = transfer(ANN, BOB, 1), transfer(ANN, BOB, 10**6), transfer(ANN, BOB, 2)
    parts = [booked(one, chain) for chain in chains]
    found = await asyncio.gather(*parts, one.write(vote("a")), one.write(vote("a")), return_exceptions=True)
    assert [isinstance(one, Exception) for one in found] == [False, True, False, False, True]
    assert sums(one) == [ann - 3, bob + 3]


@pytest.mark.slow
async def test_a_part_whose_text_no_server_takes_leaves_the_others_alone(homes: list[Database]) -> None:
    one, _ = homes
    ann, bob = sums(one)

    def odd(transaction: Transaction) -> None:
        transaction.record(Fact(kind="test", subject="s", at_ms=0, body={}))
        LEDGER_ACCOUNTS.add(transaction, LedgerAccount(id="act_odd", currency="U\0D", guarded=True))

    parts = [booked(one, transfer(ANN, BOB, 1)) for _ in range(3)]
    *found, refused = await asyncio.gather(*parts, one.write(odd), return_exceptions=True)
    assert found == [None] * 3
    assert isinstance(refused, Refused)
    assert sums(one) == [ann - 3, bob + 3]


@pytest.mark.slow
async def test_whoever_has_the_turn_is_named(
    postgresql_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("earnest.effects.ground.storage.postgresql_session.TURN_WAIT_MS", 300)
    with (
        closing(Database.open(ServerBooks(postgresql_address, tmp_path), SystemClock())) as database,
        psycopg.connect(postgresql_address, application_name="a stranger") as holder,
    ):
        await _alone(database)
        holder.execute(f"SELECT pg_advisory_xact_lock({TURN})".encode())
        with pytest.raises(Unavailable, match=r"held by a stranger \(backend \d+\)"):
            await booked(database, transfer(ANN, BOB, 1))
        holder.rollback()
        before = sums(database)
        await booked(database, transfer(ANN, BOB, 1))
        assert sums(database) == [before[0] - 1, before[1] + 1]


@pytest.mark.slow
async def test_a_connection_that_was_cut_is_made_anew_and_nothing_is_taken_for_known(
    homes: list[Database], postgresql_address: str
) -> None:
    one, other = homes
    with psycopg.connect(postgresql_address) as beside:
        beside.execute(CUT_OFF)
    await booked(other, transfer(ANN, BOB, 1))
    before = sums(one)
    with pytest.raises(Unavailable):
        await booked(one, transfer(ANN, BOB, 1))
    assert sums(one) == before
    await booked(one, transfer(ANN, BOB, before[0]))
    assert sums(one) == [0, before[1] + before[0]]


@pytest.mark.slow
async def test_a_connection_that_was_cut_before_the_first_unasked_group_is_made_anew(
    postgresql_address: str, tmp_path: Path
) -> None:
    with closing(Database.open(ServerBooks(postgresql_address, tmp_path), SystemClock())) as database:
        await _alone(database, ALONE_MIN)
        with psycopg.connect(postgresql_address) as beside:
            beside.execute(CUT_OFF)
        before = sums(database)
        with pytest.raises(Unavailable):
            await booked(database, transfer(ANN, BOB, 1))
        await booked(database, transfer(ANN, BOB, 1))
        assert sums(database) == [before[0] - 1, before[1] + 1]


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """How many parts each group has, and whether the commit before it is under way while it is made."""
    found, commit = list[tuple[int, bool]](), GroupWriter._commit

    def seen(writer: GroupWriter, parts: list[Any]) -> Any:
        found.append((len(parts), writer._under_way is not None))
        return commit(writer, parts)

    monkeypatch.setattr(GroupWriter, "_commit", seen)
    return found


async def _many(database: Database, by: int = 16, each: int = 20, other: Database | None = None) -> None:
    """So many transfers of one from ann to bob, by as many who wait; the other one brings ann one before each tenth."""

    async def work(is_first: bool) -> None:
        for number in range(each):
            if is_first and other and number % 10 == 0:
                await booked(other, transfer(external("USD"), ANN, 1))
            await booked(database, transfer(ANN, BOB, 1))

    await booked(database, transfer(external("USD"), ANN, each * by))
    await asyncio.gather(*(work(at == 0) for at in range(by)))


@pytest.mark.slow
async def test_a_group_is_made_while_the_one_before_is_committed(
    homes: list[Database], groups: list[tuple[int, bool]]
) -> None:
    ann, bob = sums(homes[0])
    await _many(homes[0])
    assert sums(homes[0]) == [ann, bob + 320]
    assert sum(parts for parts, is_made_meanwhile in groups if is_made_meanwhile) > 160, "most of them are"
    facts = homes[0].read_sync(lambda reader: [fact.seq for fact in reader.facts()])
    assert facts == [*range(1, len(facts) + 1)]


@pytest.mark.slow
async def test_what_was_made_on_a_commit_that_did_not_hold_is_made_anew(
    homes: list[Database], groups: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed, end = list[Exception](), PostgresqlWriting.end

    def ended(writing: PostgresqlWriting) -> None:
        try:
            end(writing)
        except Exception as error:
            failed.append(error)
            raise

    monkeypatch.setattr(PostgresqlWriting, "end", ended)
    one, other = homes
    ann, bob = sums(one)
    await _many(one, each=60, other=other)
    assert sums(one) == [ann + 6, bob + 960]
    assert failed
    assert any(is_made_meanwhile for parts, is_made_meanwhile in groups if parts)
    facts = other.read_sync(lambda reader: [fact.seq for fact in reader.facts()])
    assert facts == [*range(1, len(facts) + 1)]
    assert other.read_sync(lambda reader: verify_journal(reader, [])).intact


@pytest.mark.slow
async def test_an_answer_that_is_lost_while_the_next_group_is_made(
    homes: list[Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those whose commit it was are told so, and it is not done again; the others are committed on what holds."""
    one, _ = homes
    ann, bob = sums(one)
    answered, lost = PostgresqlSession.answered, list[str]()

    def cut(session: PostgresqlSession) -> None:
        if session._is_posted and not lost:
            while session.connection.info.transaction_status == TransactionStatus.ACTIVE:
                session.connection.wait(generators.fetch_many(session.connection.pgconn))
            session.connection.close()
            lost.append("once")
        answered(session)

    monkeypatch.setattr(PostgresqlSession, "answered", cut)
    found = await asyncio.gather(*(booked(one, transfer(ANN, BOB, 1)) for _ in range(16)), return_exceptions=True)
    failed = [outcome for outcome in found if outcome is not None]
    assert {type(outcome) for outcome in failed} == {Unavailable}
    assert 0 < len(failed) < 16, "the other half waited"
    assert sums(one) == [ann - 16, bob + 16]
