"""A market on a temporary database, whose clock and chance are the test's."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.web.fetching import Web
from earnest.foundation.canonical import Members
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.key import Caller, Scope
from earnest.identity.service import ACCOUNTS
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available, external, moved
from earnest.market.terms import MICRO, Terms
from earnest.runtime.desk import Act, Desk, StoryContext
from earnest.runtime.market.market import Market
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

START_MS = 1_780_000_000_000


@dataclass
class Town:
    """A market with people in it."""

    market: Market
    clock: VirtualClock
    callers: dict[str, Caller] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.market.desk.database

    def act(self, caller: Caller | None, act: Act) -> Members:
        """Do something in one transaction, now, in somebody's name."""

        def write(transaction: object) -> Members:
            entry = StoryContext(
                transaction=transaction,  # type: ignore[arg-type]
                now_ms=self.market.desk.now_ms(),
                caller=caller,
                chance=self.market.desk.chance,
            )
            return act(entry)

        return self.database.write_sync(write)

    def somebody(
        self,
        handle: str,
        *,
        scope: Scope = Scope.LIVE,
        kind: AccountKind = AccountKind.AGENT,
        operator: str | None = None,
        mail: str = "",
        usd_micro: int = 0,
        aid_micro: int = 0,
    ) -> Caller:
        """A new account with a key, and money from outside. `operator` None: somebody of its own; empty: nobody."""
        account = Account(
            id=f"act_{handle}",
            handle=handle,
            kind=kind,
            status=AccountStatus.PAYOUTS_ENABLED,
            created_at_ms=self.market.desk.now_ms(),
            operator_id=(None if kind is AccountKind.OPERATOR else f"act_{handle}_owner")
            if operator is None
            else operator or None,
            mail=mail,
        )
        caller = Caller(account=account, scope=scope, key_id=f"key_{handle}")

        def open_account(entry: StoryContext) -> Members:
            ACCOUNTS.open(entry.transaction, entry.now_ms, account, touching=(account.id,))
            for currency, amount in (("USD", usd_micro), ("AID", aid_micro)):
                home = available(account.id, currency)
                source = external(currency)
                chain = moved(f"{account.id}/start/{currency}", source, home, amount, reason="test", at_ms=entry.now_ms)
                ledger.post(entry.transaction, chain)
            return {}

        self.act(None, open_account)
        self.callers[handle] = caller
        return caller

    def with_scope(self, caller: Caller, scope: Scope) -> Caller:
        """The same account with another key."""
        return Caller(account=caller.account, scope=scope, key_id=f"{caller.key_id}_{scope}")


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with town_on(tmp_path / "books.sqlite", tmp_path) as opened:
        yield opened


@contextlib.contextmanager
def town_on(books: Books, tmp_path: Path) -> Iterator[Town]:
    """A market with these books."""
    clock, chance = VirtualClock(START_MS), SeededChance(7)
    with contextlib.closing(Database.open(books, clock)) as database:
        registry = Registry()
        market = Market(
            desk=Desk(database, clock, chance),
            terms=Terms(),
            verifier=Verifier(registry=registry, sandbox=None, clock=clock),
            registry=registry,
            artifacts=ArtifactStore(tmp_path / "artifacts"),
            web=Web(clock),
        )
        yield Town(market=market, clock=clock)


@pytest.fixture
def market(town: Town) -> Market:
    return town.market


def usd(whole: int) -> int:
    return whole * MICRO
