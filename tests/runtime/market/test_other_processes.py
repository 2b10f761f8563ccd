"""What a process keeps in memory is not shown past a commit of another one."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from earnest.effects.ground.clock import SeededChance
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.sqlite import LOOK_NS
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.identity.key import Caller, KeyedHash, Scope
from earnest.runtime.authentication import Authenticator
from earnest.runtime.desk import Desk, StoryContext
from earnest.runtime.market.homes import Homes
from earnest.runtime.market.keys import give_key, revoke_key
from earnest.views.home import read_home

from ..processes import eventually
from .conftest import Town, town_on, usd
from .test_homes import able, looks, offered

LOOK_MS = LOOK_NS // 1_000_000
OF_NOBODY = Fact(kind="noted", subject="nobody", at_ms=1, body={})


@pytest.fixture
def elsewhere(town: Town, tmp_path: Path) -> Iterator[Town]:
    """The same market, as another process has it."""
    with closing(Database.open(tmp_path / "books.sqlite", town.clock)) as database:
        desk = Desk(database, town.clock, SeededChance(8))
        yield Town(market=replace(town.market, desk=desk), clock=town.clock)


def test_a_home_shows_what_another_process_has_changed(town: Town, elsewhere: Town) -> None:
    homes = Homes(town.database, town.market.terms, read_home)
    worker, buyer = town.somebody("worker"), town.somebody("buyer", usd_micro=usd(90))
    able(town, worker)
    assert looks(homes, town, worker)["matching_jobs"] == []
    offered(elsewhere, buyer, "job_1")
    town.clock.jump_ms(LOOK_MS)
    assert [each["job_id"] for each in looks(homes, town, worker)["matching_jobs"]] == ["job_1"]


def heard_of(town: Town, elsewhere: Town) -> None:
    """Wait until one process has heard of what the other has written."""

    def has_heard() -> bool:
        town.clock.jump_ms(LOOK_MS)
        return town.database.last_seq == elsewhere.database.last_seq

    assert eventually(has_heard)


def test_a_key_that_another_process_has_revoked_is_refused(
    books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with town_on(books, tmp_path) as town, closing(Database.open(books, town.clock)) as database:
        elsewhere = Town(
            market=replace(town.market, desk=Desk(database, town.clock, SeededChance(8))), clock=town.clock
        )
        hashing = KeyedHash(b"s" * 32)
        authenticator = Authenticator(town.database, hashing)
        somebody, shown = town.somebody("somebody"), dict[str, str]()

        def give(entry: StoryContext) -> dict[str, str]:
            key = give_key(entry, hashing, somebody.account, Scope.LIVE)
            shown.update(entry.shown)
            return {"id": key.id}

        def asked() -> Caller:
            return asyncio.run(authenticator.by_key(shown["key"], town.clock.now_ms()))

        key_id = str(town.act(somebody, give)["id"])
        heard_of(elsewhere, town)
        assert asked().key_id == key_id
        unasked = list[bool]()
        for _ in range(3):  # of a fact that is found before it is heard of it is not known whom it concerns
            elsewhere.database.write_sync(lambda transaction: transaction.record(OF_NOBODY))
            heard_of(town, elsewhere)
            with monkeypatch.context() as counting:
                asks = mock.Mock(wraps=town.database.ask)
                counting.setattr(town.database, "ask", asks)
                assert asked().key_id == key_id
                unasked.append(not asks.called)
        assert any(unasked)
        me = Caller(account=somebody.account, scope=Scope.LIVE, key_id=key_id)
        elsewhere.act(me, lambda entry: revoke_key(entry, key_id=key_id))
        heard_of(town, elsewhere)
        with pytest.raises(Refused) as refused:
            asked()
        assert refused.value.code == "expired_key"
