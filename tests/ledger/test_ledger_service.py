"""The ledger beside a model of its own: a dictionary of balances and one of reservations."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Broken, EarnestError, Refused
from earnest.foundation.facts import Fact
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.ledger.service import LEDGER_POSTED, PROJECTIONS, balance, is_posted, post
from earnest.ledger.transfer import Chain, available, ended, external, fees, moved, reserved

OUTSIDE = external("USD")
ACCOUNTS = (OUTSIDE, *(available(f"act_{letter}", "USD") for letter in "abc"), fees("USD"))
A, B = ACCOUNTS[1:3]


def book(database: Database, chain: Chain) -> EarnestError | None:
    """Post; what was raised."""
    try:
        database.write_sync(lambda transaction: post(transaction, chain))
    except (Refused, Broken) as error:
        return error
    return None


def dump(database: Database) -> list[list[tuple[object, ...]]]:
    return database.read_sync(
        lambda reader: [
            reader.execute("SELECT * FROM ledger_accounts ORDER BY id").fetchall(),
            reader.execute("SELECT * FROM transfers ORDER BY rowid").fetchall(),
        ]
    )


def _newest(reader: BooksReader) -> list[tuple[str, int]]:
    return reader.execute("SELECT id, last FROM ledger_accounts").fetchall()


def _transfers(reader: BooksReader) -> list[dict[str, Any]]:
    names = ("number", "debit", "credit", "debit_before", "credit_before")
    return [dict(zip(names, row, strict=True)) for row in reader.execute(f"SELECT {', '.join(names)} FROM transfers")]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with contextlib.closing(Database.open(tmp_path / "books.sqlite", VirtualClock())) as database:
        yield database


def test_a_chain_is_one_fact_and_repeating_it_is_none(database: Database) -> None:
    chain = (*moved("d", OUTSIDE, A, 9, reason="in", at_ms=1_000), *moved("e", A, B, 4, reason="on", at_ms=1_000))
    assert book(database, chain) is None
    seq, before = database.last_seq, dump(database)
    assert book(database, tuple(replace(transfer, at_ms=5_000) for transfer in chain)) is None
    assert (database.last_seq, dump(database)) == (seq, before)


def test_of_a_chain_with_one_wrong_transfer_nothing_is_booked(database: Database) -> None:
    chain = (*moved("d", OUTSIDE, A, 9, reason="in", at_ms=0), *moved("e", A, B, 10, reason="on", at_ms=0))
    with pytest.raises(Refused, match="has less"):
        raise book(database, chain) or AssertionError
    assert dump(database) == [[], []]
    assert not database.read_sync(lambda reader: is_posted(reader, "d"))


def test_the_same_id_with_other_content_is_refused(database: Database) -> None:
    book(database, moved("d", OUTSIDE, A, 9, reason="in", at_ms=0))
    error = book(database, moved("d", OUTSIDE, A, 8, reason="in", at_ms=0))
    assert isinstance(error, Refused)
    assert error.code == "transfer_exists"
    error = book(database, moved("d", OUTSIDE, A, 9, reason="in", at_ms=0) + moved("e", A, B, 1, reason="", at_ms=0))
    assert isinstance(error, Refused)


def test_a_part_moves_and_the_rest_is_free_again(database: Database) -> None:
    held = reserved("h", A, B, 7, reason="hold", at_ms=0)
    book(database, moved("d", OUTSIDE, A, 9, reason="in", at_ms=0))
    book(database, held)
    assert database.read_sync(lambda reader: balance(reader, A).free_micro) == 2
    book(database, ended(held, 3, reason="end", at_ms=0))
    assert database.read_sync(lambda reader: balance(reader, A).free_micro) == 6
    assert database.read_sync(lambda reader: balance(reader, B).free_micro) == 3


def test_an_empty_chain_does_nothing(database: Database) -> None:
    assert book(database, ()) is None
    assert book(database, ended(reserved("h", A, B, 0, reason="", at_ms=0), 0, reason="", at_ms=0)) is None
    assert database.last_seq == 0


AMOUNTS = st.one_of(st.integers(1, 50), st.integers(0, 1), st.integers(AMOUNT_MICRO_MAX - 1, AMOUNT_MICRO_MAX + 1))
NAMES = st.sampled_from(ACCOUNTS)


class LedgerBesideModel(RuleBasedStateMachine):
    """Whatever is asked, the ledger and the model agree on what is booked and on every balance."""

    holds = Bundle("holds")
    chains = Bundle("chains")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.database = Database.open(Path(self.folder.name) / "books.sqlite", VirtualClock())
        self.have: dict[str, int] = dict.fromkeys(ACCOUNTS, 0)
        self.kept: dict[str, int] = dict.fromkeys(ACCOUNTS, 0)
        self.open: set[str] = set()
        self.number = 0

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    def _id(self) -> str:
        self.number += 1
        return f"t{self.number}"

    def _can(self, account: str, amount: int) -> bool:
        floor = -AMOUNT_MICRO_MAX if account == OUTSIDE else 0
        return 0 < amount <= AMOUNT_MICRO_MAX and self.have[account] - self.kept[account] - amount >= floor

    @rule(target=chains, debit=NAMES, credit=NAMES, amount=AMOUNTS)
    def move(self, debit: str, credit: str, amount: int) -> object:
        chain = moved(self._id(), debit, credit, amount, reason="move", at_ms=0)
        allowed = debit != credit and self._can(debit, amount)
        assert (book(self.database, chain) is None) == (allowed or not chain)
        if not allowed:
            return multiple()
        self.have[debit] -= amount
        self.have[credit] += amount
        return chain

    @rule(names=st.lists(NAMES, min_size=3, max_size=3, unique=True), amount=AMOUNTS, other=AMOUNTS)
    def move_on(self, names: list[str], amount: int, other: int) -> None:
        """A chain of two: all or nothing."""
        first, second, third = names
        chain = (
            *moved(self._id(), first, second, amount, reason="first", at_ms=0),
            *moved(self._id(), second, third, other, reason="second", at_ms=0),
        )
        have = dict(self.have)
        allowed = True
        for debit, credit, micro in ((first, second, amount), (second, third, other)):
            allowed = allowed and (micro == 0 or self._can(debit, micro))
            if allowed:
                self.have[debit] -= micro
                self.have[credit] += micro
        if not allowed:
            self.have = have
        assert (book(self.database, chain) is None) == allowed

    @rule(target=holds, debit=NAMES, credit=NAMES, amount=AMOUNTS)
    def hold(self, debit: str, credit: str, amount: int) -> object:
        chain = reserved(self._id(), debit, credit, amount, reason="hold", at_ms=0)
        allowed = debit != credit and self._can(debit, amount)
        assert (book(self.database, chain) is None) == (allowed or not chain)
        if not allowed:
            return multiple()
        self.kept[debit] += amount
        self.open.add(chain[0].id)
        return chain

    @rule(target=chains, held=holds, share=st.integers(0, 5))
    def end(self, held: Chain, share: int) -> object:
        """Part of a reservation moves; a second end is refused unless it is the same."""
        (hold,) = held
        part = hold.amount_micro * share // 5
        chain = ended(held, part, reason="end", at_ms=0)
        if hold.id not in self.open:
            before = dump(self.database)
            book(self.database, chain)
            assert dump(self.database) == before
            assert isinstance(book(self.database, (replace(chain[0], id=self._id()),)), Broken)
            return multiple()
        assert book(self.database, chain) is None
        self.open.remove(hold.id)
        self.kept[hold.debit] -= hold.amount_micro
        self.have[hold.debit] -= part
        self.have[hold.credit] += part
        return chain

    @rule(held=holds)
    def end_more_than_was_reserved(self, held: Chain) -> None:
        more = replace(ended(held, held[0].amount_micro, reason="end", at_ms=0)[0], amount_micro=AMOUNT_MICRO_MAX)
        if held[0].amount_micro < AMOUNT_MICRO_MAX:
            assert book(self.database, (more,)) is not None

    @rule(chain=consumes(chains), at_ms=st.integers(0, 10))
    def repeat(self, chain: Chain, at_ms: int) -> None:
        seq = self.database.last_seq
        assert book(self.database, tuple(replace(transfer, at_ms=at_ms) for transfer in chain)) is None
        assert self.database.last_seq == seq

    @invariant()
    def balances_agree_and_sum_to_nothing(self) -> None:
        found = self.database.read_sync(lambda reader: [balance(reader, name) for name in ACCOUNTS])
        for sums in found:
            assert (sums.balance_micro, sums.debits_pending) == (self.have[sums.id], self.kept[sums.id])
            assert sums.free_micro >= 0 or sums.id == OUTSIDE
        assert sum(self.have.values()) == 0
        for held, reserved_for in self.database.read_sync(
            lambda reader: reader.execute("SELECT debits_pending, credits_pending FROM ledger_accounts").fetchall()
        ):
            assert min(held, reserved_for) >= 0

    @invariant()
    def the_list_of_each_account_leads_to_all_that_touched_it(self) -> None:
        rows = {row["number"]: row for row in self.database.read_sync(_transfers)}
        for name, last in self.database.read_sync(_newest):
            walked, number = [], last
            while number:
                walked.append(number)
                number = rows[number]["debit_before" if rows[number]["debit"] == name else "credit_before"]
            touching = [n for n, row in rows.items() if name in {row["debit"], row["credit"]}]
            assert walked == sorted(touching, reverse=True)

    @rule()
    def the_tables_are_made_again_from_the_facts(self) -> None:
        before = dump(self.database)

        def rebuild(transaction: Transaction) -> None:
            facts = list(transaction.facts(kind=LEDGER_POSTED))
            transaction.execute("DELETE FROM transfers")
            transaction.execute("DELETE FROM ledger_accounts")
            for stored in facts:
                fact = Fact(kind=stored.kind, subject=stored.subject, at_ms=stored.at_ms, body=stored.body)
                PROJECTIONS[stored.kind](transaction, fact)
            transaction.record(Fact(kind="ledger.rebuilt", subject="test", at_ms=0, body={}))

        self.database.write_sync(rebuild)
        assert dump(self.database) == before


LedgerBesideModel.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestLedgerBesideModel = LedgerBesideModel.TestCase
