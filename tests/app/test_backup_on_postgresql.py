"""A backup of books on a server: of one moment, beside whoever writes, and restored to a file or to another server."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import postgresql
from earnest.app import places
from earnest.app.backup import BackupOrder, back_up
from earnest.app.home_check import verify_records
from earnest.app.moving import move_books
from earnest.app.restore import BackupSource, restore, verify_backup
from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.ground.storage.schema import BOOKS
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.service import ACCOUNTS
from earnest.runtime.recompute import recompute
from earnest.surfaces.cli.commands import program

CLOCK = VirtualClock()


@pytest.fixture
def server(home: Path, postgresql_address: str) -> ServerBooks:
    """Its books on a server."""
    books = ServerBooks(postgresql_address, home)
    move_books(places.books(home), books, CLOCK)
    places.books(home).unlink()
    return books


@pytest.fixture
def other_server(postgresql_server: str, tmp_path: Path) -> Iterator[ServerBooks]:
    """Another one, which has none."""
    with postgresql.database(postgresql_server) as address:
        yield ServerBooks(address, tmp_path / "again")


def order(server: ServerBooks, folder: Path, *, share: int = 100) -> BackupOrder:
    return BackupOrder(home=server.home, server=server, target=folder / "backup", keys=folder / "keys", share=share)


def source(folder: Path) -> BackupSource:
    return BackupSource(folder=folder / "backup", keys=folder / "keys")


def facts_of(books: Books) -> list[tuple[object, ...]]:
    with closing(ReadPool.open_reader(books)) as pool:
        return pool.read_sync(lambda reader: list(reader.rows("facts")))


def faults_of(books: Books) -> tuple[str, ...]:
    with closing(ReadPool.open_reader(books)) as pool:
        assert pool.read_sync(lambda reader: reader.faults()) == ()
        return pool.read_sync(lambda reader: recompute(reader, CLOCK)).differences


def an_account(transaction: Transaction, number: int) -> int:
    account = Account(
        id=f"act_{number:06d}",
        handle=f"handle{number:06d}",
        kind=AccountKind.AGENT,
        status=AccountStatus.REGISTERED,
        created_at_ms=number,
    )
    return ACCOUNTS.open(transaction, number, account, touching=(account.id,))


@contextmanager
def writing(books: Books, acknowledged: list[int]) -> Iterator[None]:
    """Somebody who opens accounts one after the other, and notes what was acknowledged."""
    ended = threading.Event()

    def write() -> None:
        with closing(Database.open(books, SystemClock())) as database:
            while not ended.is_set():
                acknowledged.append(database.write_sync(partial(an_account, number=len(acknowledged))))

    writer = threading.Thread(target=write)
    writer.start()
    while len(acknowledged) < 20:
        ended.wait(0.001)
    try:
        yield
    finally:
        ended.set()
        writer.join()


@pytest.mark.slow  # books are moved to a server and back
def test_a_backup_during_writes_is_of_one_moment_and_goes_on_in_a_file(server: ServerBooks, tmp_path: Path) -> None:
    acknowledged = list[int]()
    with writing(server, acknowledged):
        before = acknowledged[-1]
        done = back_up(order(server, tmp_path), CLOCK)
        assert acknowledged[-1] > before
    assert before <= done.manifest.facts < facts_of(server)[-1][0]  # type: ignore[operator] # a number
    restore(source(tmp_path), tmp_path / "again", CLOCK)
    again = places.books(tmp_path / "again")
    assert facts_of(again) == facts_of(server)[: done.manifest.facts]
    assert verify_records(tmp_path / "again").intact
    assert faults_of(again) == ()
    with closing(Database.open(again, CLOCK)) as database:
        assert database.write_sync(partial(an_account, number=10**6)) == done.manifest.facts + 1


@pytest.mark.slow
def test_a_backup_of_a_server_is_restored_to_another_server(
    server: ServerBooks, other_server: ServerBooks, tmp_path: Path
) -> None:
    back_up(order(server, tmp_path), CLOCK)
    restore(source(tmp_path), tmp_path / "again", CLOCK, server=other_server)
    assert facts_of(other_server) == facts_of(server)
    assert faults_of(other_server) == ()
    assert verify_records(tmp_path / "again", other_server).intact
    assert not places.books(tmp_path / "again").exists()
    with closing(Database.open(other_server, CLOCK)) as database:
        database.write_sync(partial(an_account, number=10**6))


@pytest.mark.slow
def test_a_backup_of_a_file_is_restored_to_a_server_and_to_no_other_books(
    home: Path, other_server: ServerBooks, tmp_path: Path
) -> None:
    back_up(BackupOrder(home=home, target=tmp_path / "backup", keys=tmp_path / "keys", share=100), CLOCK)
    with closing(Database.open(other_server, CLOCK)) as database:
        database.write_sync(lambda t: t.record(Fact(kind="test.other", subject="s", at_ms=1, body={})))
    (other_server.home / "books.sqlite3.lock").unlink()
    other_server.home.rmdir()
    with pytest.raises(Refused) as refused:
        restore(source(tmp_path), tmp_path / "again", CLOCK, server=other_server)
    assert refused.value.code == "target_not_empty"
    assert not (tmp_path / "again").exists()


@pytest.mark.slow  # six thousand facts are backed up three times
def test_facts_that_an_earlier_backup_holds_are_not_written_again(server: ServerBooks, tmp_path: Path) -> None:
    def many(transaction: Transaction, first: int) -> None:
        for number in range(first, first + 500):
            body = {"text": f"{number:06d}" * 400}
            transaction.record(Fact(kind="test.happened", subject=f"s{number % 100}", at_ms=number, body=body))

    with closing(Database.open(server, CLOCK)) as database:
        for number in range(0, 6_000, 500):
            database.write_sync(partial(many, first=number))
        first = back_up(order(server, tmp_path), CLOCK)
        assert back_up(order(server, tmp_path), CLOCK).written_bytes == 0
        for number in range(50):
            database.write_sync(partial(an_account, number=number))
    CLOCK.jump_ms(1_000)
    third = back_up(order(server, tmp_path), CLOCK)
    assert first.size_bytes > 14_000_000
    assert third.written_bytes < first.size_bytes * 0.7
    assert verify_backup(source(tmp_path), CLOCK).manifest == third.manifest


@pytest.mark.slow  # a dozen commands
def test_commands_take_and_bring_back_what_is_on_a_server(
    server: ServerBooks, other_server: ServerBooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EARNEST_HOME", str(server.home))
    monkeypatch.setenv("EARNEST_DATABASE", server.address)
    cli, backup, keys = CliRunner(), str(tmp_path / "backup"), str(tmp_path / "keys")
    assert cli.invoke(program, ["backup", backup, "--keys", keys, "--json"]).exit_code == 0
    again = ["restore", backup, "--keys", keys, "--home", str(tmp_path / "again"), "--to", other_server.address]
    done = cli.invoke(program, [*again, "--json"])
    assert done.exit_code == 0, done.output
    assert "the settings name" in done.stderr
    told = json.loads(done.stdout)
    assert told["facts"] == len(facts_of(other_server))
    checks = (["journal", "verify", "--json"], ["recompute"], ["gc", "--json"], ["doctor", "--deep", "--json"])
    for command in (*checks, ["export", "stranger1", str(tmp_path / "export")], ["migrate", "--json"]):
        done = cli.invoke(program, command)
        assert done.exit_code == 0 or command[0] == "doctor", (command, done.output)
        if command[0] == "doctor":  # the sandbox is none of this
            found = json.loads(done.stdout)
            kept = ("books", "journal", "rows", "audit log", "artifacts", "key store")
            assert [found[name]["well"] for name in kept] == [True] * len(kept)
    assert set(BOOKS.tables()) == set(BOOKS.filling.tables())
