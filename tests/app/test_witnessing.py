"""A witness cosigns a log that only grew, keeps what contradicts it, and its own key."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from earnest.app.witnessing import look, witness_key
from earnest.client.client import Client
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import EarnestError, Refused
from earnest.foundation.facts import Fact
from earnest.journal.notary import Notary
from earnest.journal.notes import checkpoint_flaws, read_checkpoint
from earnest.journal.service import Sealer
from earnest.journal.signing import LOG, PrivateKey
from earnest.views.receipts import consistency_of

KEY = PrivateKey(name="example.org/log", type=LOG, seed=bytes(32))
CLOCK = VirtualClock(1_780_000_000_000)


class Log:
    """A log that is asked over HTTP, and can be exchanged for another."""

    def __init__(self, path: Path) -> None:
        self.database = Database.open(path, CLOCK, is_durable=False)
        self.notary = Notary(key=KEY)
        self.handed_in: list[str] = []

    async def grow(self, facts: int, word: str = "n") -> None:
        for number in range(facts):
            fact = Fact(kind="test.happened", subject="s", at_ms=0, body={word: number})
            self.database.write_sync(lambda transaction, fact=fact: transaction.record(fact))  # type: ignore[misc]
        await Sealer(self.database, CLOCK).seal()

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/api/v1")
        if path == "/checkpoint":
            return httpx2.Response(200, text=str(self.database.read_sync(self.notary.checkpoint)))
        if path == "/log/cosignatures":
            self.handed_in.append(json.loads(request.content)["checkpoint"])
            return httpx2.Response(403, json={"code": "witness_unknown", "detail": "nobody"})
        sizes = request.url.params
        try:
            shown = self.database.read_sync(lambda reader: consistency_of(reader, int(sizes["from"]), int(sizes["to"])))
        except EarnestError:
            return httpx2.Response(404, json={"code": "not_found"})
        return httpx2.Response(200, json=shown)

    def client(self) -> Client:
        return Client("http://log", transport=httpx2.MockTransport(self.answer))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    found = Log(tmp_path / "books.sqlite3")
    with closing(found.database):
        yield found


async def test_a_log_that_grows_is_cosigned_each_time(log: Log, tmp_path: Path) -> None:
    mine = witness_key(tmp_path, SeededChance(1), "w.example")
    last = 0
    for facts in (1, 70, 200):
        await log.grow(facts)
        with log.client() as client:
            found = look(tmp_path, client, KEY.public, mine, CLOCK, send=True)
        assert (found.flaws, found.last_size) == ((), last)
        assert found.refused.startswith("witness_unknown")
        assert log.handed_in[-1] == found.note == found.kept.read_text()
        assert checkpoint_flaws(read_checkpoint(found.note), [KEY.public], [mine.public]) == []
        last = found.size


@pytest.mark.parametrize(("facts", "why"), [(30, "forked"), (5, "went back"), (100, "forked")])
async def test_a_log_that_forked_is_found_whatever_its_length(log: Log, tmp_path: Path, facts: int, why: str) -> None:
    mine = witness_key(tmp_path, SeededChance(1))
    await log.grow(30)
    with log.client() as client:
        seen = look(tmp_path, client, KEY.public, mine, CLOCK, send=False)
        other = Log(tmp_path / "other.sqlite3")
        await other.grow(facts, word="other")
        log.database.close()
        log.database = other.database
        found = look(tmp_path, client, KEY.public, mine, CLOCK, send=True)
    assert why in str(found.flaws[0])
    assert log.handed_in == []
    assert found.kept != seen.kept
    assert seen.kept.read_text() == seen.note, "what was seen stays, as evidence"
    assert checkpoint_flaws(read_checkpoint(found.kept.read_text()), [KEY.public]) == []


async def test_a_tampered_database_is_found_by_who_saw_it_before(log: Log, tmp_path: Path) -> None:
    mine = witness_key(tmp_path, SeededChance(1))
    await log.grow(30)
    with log.client() as client:
        look(tmp_path, client, KEY.public, mine, CLOCK, send=False)
        with sqlite3.connect(tmp_path / "books.sqlite3") as raw:
            raw.execute("DROP TRIGGER facts_unchanged")
            raw.execute("UPDATE facts SET leaf = zeroblob(32) WHERE seq = 7")
        await log.grow(3)
        found = look(tmp_path, client, KEY.public, mine, CLOCK, send=False)
    assert found.flaws


async def test_another_logs_checkpoint_is_not_signed(log: Log, tmp_path: Path) -> None:
    await log.grow(3)
    mine = witness_key(tmp_path, SeededChance(1))
    stranger = PrivateKey(name="example.net/log", type=LOG, seed=b"x" * 32).public
    with log.client() as client:
        found = look(tmp_path, client, stranger, mine, CLOCK, send=True)
    assert "no given key" in str(found.flaws[0])
    assert log.handed_in == []


def test_a_witness_keeps_its_key(tmp_path: Path) -> None:
    mine = witness_key(tmp_path, SeededChance(1), "w.example")
    assert witness_key(tmp_path, SeededChance(2)) == mine
    with pytest.raises(Refused, match="the witness here is"):
        witness_key(tmp_path, SeededChance(2), "other")
    (tmp_path / "secrets" / "witness").chmod(0o644)
    with pytest.raises(Refused, match="chmod 600"):
        witness_key(tmp_path, SeededChance(2))
    with pytest.raises(Refused, match="cannot name a key"):
        witness_key(tmp_path / "elsewhere", SeededChance(2), "a name")
