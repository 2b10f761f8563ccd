"""Does each part of a group see what is, and keep or lose its own alone? Asked of both engines."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.known_rows import Sought
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.rows import Rows
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused, Unavailable
from earnest.ledger.rules import LedgerAccount

from .test_engines import LINK, fact, record, subjects, vote


@pytest.fixture
def database(books: Books) -> Iterator[Database]:
    with closing(Database.open(books, SystemClock())) as opened:
        yield opened


@pytest.mark.slow
async def test_a_part_sees_what_those_before_it_in_its_group_have_done(database: Database) -> None:
    def look(transaction: Transaction) -> tuple[int, int, int]:
        (count,) = transaction.execute("SELECT count(*) FROM votes").fetchone()
        return len(list(transaction.leaves())), len(list(transaction.facts(limit=10))), count

    def refused(transaction: Transaction) -> None:
        transaction.record(fact("refused"))
        transaction.execute(LINK, ("b", True))
        raise Refused("not_now", "after all")

    outcomes = await asyncio.gather(
        *(database.write(part) for part in (record("one"), vote("a"), look, refused, look, vote("a"), look)),
        return_exceptions=True,
    )
    seen = outcomes[2], outcomes[4], outcomes[6]
    assert seen == ((2, 2, 1), (2, 2, 1), (2, 2, 1))
    assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, False, False, True, False, True, False]
    assert isinstance(outcomes[5], sqlite3.IntegrityError) or "duplicate" in str(outcomes[5])


async def test_what_a_part_changes_after_it_has_asked_is_its_own(database: Database) -> None:
    def asked(sql: str, *, aside: bool = False) -> Callable[[Transaction], object]:
        def part(transaction: Transaction) -> object:
            transaction.execute("SELECT count(*) FROM votes").fetchone()
            return transaction.aside(sql, ()).rowcount if aside else transaction.execute(sql)

        return part

    leased = "INSERT INTO leases (id, holder, until_ms) VALUES ('one', 'h', 1)"
    outcomes = await asyncio.gather(
        *(database.write(part) for part in (vote("a"), asked("UPDATE votes SET up = 7"), asked(leased, aside=True))),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].code == "silent_write"
    assert outcomes[2] == 1
    rows = database.read_sync(lambda reader: reader.execute("SELECT count(*) FROM votes WHERE up = 7").fetchone())
    assert rows == (0,)


ACCOUNTS = Rows(LedgerAccount, "ledger_accounts")


async def test_a_row_that_was_looked_up_is_known_as_it_is_now(database: Database) -> None:
    def account(name: str, **sums: int) -> LedgerAccount:
        return LedgerAccount(id=name, currency="USD", guarded=True, **sums)

    def change(act: Callable[[Transaction], object]) -> Callable[[Transaction], LedgerAccount | None]:
        def part(transaction: Transaction) -> LedgerAccount | None:
            transaction.record(fact())
            before = ACCOUNTS.get(transaction, "a")
            act(transaction)
            assert ACCOUNTS.get(transaction, "none") is None
            return before

        return part

    def undone(transaction: Transaction) -> None:
        ACCOUNTS.update(transaction, "a", {"last": 99})
        raise Refused("not_now", "after all")

    outcomes = await asyncio.gather(
        *(
            database.write(change(act), ahead=(Sought(lookup=ACCOUNTS.lookup, keys=("a", "none"), greatest="last"),))
            for act in (
                lambda t: ACCOUNTS.add(t, account("a", last=1)),
                lambda t: ACCOUNTS.update(t, "a", {"last": 2}),
                undone,
                lambda t: t.execute("UPDATE ledger_accounts SET last = last + 1"),
                lambda t: ACCOUNTS.put_rows(t, [("a", "USD", 1, 0, 0, 0, 0, 4), ("b", "USD", 1, 0, 0, 0, 0, 7)]),
                lambda t: ACCOUNTS.delete(t, "a"),
                lambda t: ACCOUNTS.add(t, account("a", last=ACCOUNTS.numbers(t, "last", 1))),
                lambda _: None,
            )
        ),
        return_exceptions=True,
    )
    lasts = [one.last if isinstance(one, LedgerAccount) else type(one).__name__ for one in outcomes]
    assert lasts == ["NoneType", 1, "Refused", 2, 3, 4, "NoneType", 8]
    assert database.read_sync(lambda reader: sorted((one.id, one.last) for one in ACCOUNTS.where(reader, "1 = 1"))) == [
        ("a", 8),
        ("b", 7),
    ]


async def test_rows_that_meet_conditions_are_known_as_they_are_now(database: Database) -> None:
    low = Sought(ACCOUNTS.lookup, conditions="last < ? ORDER BY id", parameters=(9,))

    def change(act: Callable[[Transaction], object]) -> Callable[[Transaction], list[str]]:
        def part(transaction: Transaction) -> list[str]:
            transaction.record(fact())
            act(transaction)
            return [one.id for one in ACCOUNTS.where(transaction, low.conditions, low.parameters)]

        return part

    def added(name: str, last: int) -> Callable[[Transaction], None]:
        account = LedgerAccount(id=name, currency="USD", guarded=True, last=last)
        return lambda transaction: ACCOUNTS.add(transaction, account)

    def undone(transaction: Transaction) -> None:
        ACCOUNTS.update(transaction, "a", {"last": 99})
        assert not list(ACCOUNTS.where(transaction, low.conditions, low.parameters))
        raise Refused("not_now", "after all")

    outcomes = await asyncio.gather(
        *(
            database.write(change(act), ahead=(low,))
            for act in (
                added("a", 1),
                added("b", 9),
                undone,
                lambda _: None,
                lambda t: t.execute("UPDATE ledger_accounts SET last = last - 1"),
                lambda t: ACCOUNTS.delete(t, "a"),
            )
        ),
        return_exceptions=True,
    )
    assert isinstance(outcomes.pop(2), Refused)
    assert outcomes == [["a"], ["a"], ["a"], ["a", "b"], ["b"]]


ODD_TEXTS = (
    "it's",
    "a\\b",
    'say "true"',
    "false",
    "{a,b}",
    "$1; --",
    "\t\n\x01\x7f",
    "\\u0000",
    "\\\\",
    "%s ?",
    "é\u2028😀",
    "NULL",
)


async def test_a_text_of_any_letters_is_kept_and_found(database: Database) -> None:
    def part(transaction: Transaction) -> dict[str, LedgerAccount]:
        before = ACCOUNTS.all(transaction, (*ODD_TEXTS, "\0"))
        for place, text in enumerate(ODD_TEXTS):
            transaction.record(fact(text))
            ACCOUNTS.add(transaction, LedgerAccount(id=text, currency=text, guarded=True, last=place - 5))
        return before

    sought = Sought(lookup=ACCOUNTS.lookup, keys=(*ODD_TEXTS, "\0"))
    assert await database.write(part, ahead=(sought,)) == {}
    found = await database.write(lambda transaction: ACCOUNTS.all(transaction, ODD_TEXTS), ahead=(sought,))
    assert {text: (one.currency, one.last) for text, one in found.items()} == {
        text: (text, place - 5) for place, text in enumerate(ODD_TEXTS)
    }
    assert tuple(subjects(database)) == ODD_TEXTS


async def test_a_commit_whose_answer_is_lost_is_not_done_again(
    database: Database, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(books, Path):
        pytest.skip("a file answers")
    await database.write(record("before"))
    real = psycopg.Connection.execute

    def execute(self: Any, query: bytes, *given: Any, **more: Any) -> Any:
        done = real(self, query, *given, **more)
        if query.endswith(b"COMMIT"):
            self.close()
            raise psycopg.OperationalError("the answer did not come")
        return done

    with monkeypatch.context() as cut:
        cut.setattr(psycopg.Connection, "execute", execute)
        outcomes = await asyncio.gather(database.write(vote("a")), database.write(vote("b")), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable, Unavailable]
    assert await database.write(record("after")) == 4
    assert subjects(database) == ["before", "a", "b", "after"]
