"""Does a table on a server keep the promise of a key-value store, beside others and when the server goes away?"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.effects.ground.kv.api import KeyValue, StoreChange
from earnest.effects.ground.kv.place import ServerRows, beside, exchange, open_store, remove
from earnest.effects.ground.kv.postgresql import PostgresqlKeyValue
from earnest.effects.ground.storage.postgresql_session import connect
from earnest.foundation.errors import Refused, Unavailable
from earnest.testing.kv_conformance import KeyValueConformance

WRITER = """
import sys
from earnest.effects.ground.kv.postgresql import PostgresqlKeyValue

kv = PostgresqlKeyValue(sys.argv[1], "memory")
def add(tx):
    tx.put(b"n", b"%d" % (int(tx.get(b"n") or b"0") + 1))
    if len(sys.argv) > 2:
        print("in", flush=True)
        sys.stdin.readline()
for _ in range(200):
    kv.write(add)
    print("kept", flush=True)
"""


class TestPostgresqlRows(KeyValueConformance):
    @pytest.fixture(autouse=True)
    def _address(self, kv_address: str) -> None:
        self.address = kv_address

    def opened(self, path: Path) -> KeyValue:
        return PostgresqlKeyValue(self.address, path.name)


@pytest.fixture
def kv(kv_address: str) -> Iterator[PostgresqlKeyValue]:
    store = PostgresqlKeyValue(kv_address, "memory")
    yield store
    store.close()


def writing(address: str, *more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, address, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def count(kv: KeyValue) -> int:
    return kv.read(lambda tx: int(tx.get(b"n") or b"0"))


@pytest.mark.slow
def test_processes_write_in_turns_and_a_killed_one_loses_nothing_that_was_kept(
    kv_address: str, kv: PostgresqlKeyValue
) -> None:
    others = [writing(kv_address) for _ in range(2)]
    lines = [others[1].stdout.readline() for _ in range(30) if others[1].stdout]
    others[1].kill()
    lines += others[1].communicate()[0].splitlines()
    kept = others[0].communicate()[0].splitlines()
    assert len(kept) == 200
    assert len(kept) + len(lines) <= count(kv) <= len(kept) + len(lines) + 1


@pytest.mark.slow  # it waits until the server gives somebody up
def test_a_writer_that_stops_in_its_turn_loses_it(kv_address: str, kv: PostgresqlKeyValue) -> None:
    other = writing(kv_address, "waits")
    assert other.stdout
    assert other.stdout.readline() == "in\n"
    other.send_signal(signal.SIGSTOP)
    try:
        kv.write(lambda tx: tx.put(b"n", b"7"))
        assert count(kv) == 7
    finally:
        os.kill(other.pid, signal.SIGKILL)
        other.communicate()


def test_a_connection_that_is_gone_is_made_anew(kv_address: str, kv: PostgresqlKeyValue) -> None:
    kv.write(lambda tx: tx.put(b"n", b"1"))
    for _ in range(2):
        with connect(kv_address) as beside_it:
            beside_it.execute(
                b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                b"WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        assert count(kv) == 1
    with pytest.raises(Unavailable):
        kv.write(lambda tx: tx.put(b"n", b"2"))
    kv.write(lambda tx: tx.put(b"n", b"2"))
    assert count(kv) == 2


def test_a_reader_is_refused_where_there_is_nothing_and_writes_nothing(kv_address: str, kv: PostgresqlKeyValue) -> None:
    with pytest.raises(Refused) as refusal:
        open_store(ServerRows(kv_address), readonly=True)
    assert refusal.value.code == "memory_missing"
    kv.write(lambda tx: tx.put(b"n", b"1"))
    reader = open_store(ServerRows(kv_address), readonly=True)
    with pytest.raises(Unavailable):
        reader.write(lambda tx: tx.put(b"n", b"2"))
    assert count(reader) == 1
    reader.close()


def test_a_store_is_put_in_the_place_of_another_at_once(kv_address: str, kv: PostgresqlKeyValue) -> None:
    place = ServerRows(kv_address)
    kv.write(lambda tx: tx.put(b"old", b"1"))
    kv.write(lambda tx: tx.put(b"n", b"1"))
    new = open_store(beside(place))
    new.write(lambda tx: tx.put(b"n", b"2"))
    new.close()
    assert count(kv) == 1
    exchange(place, ServerRows(kv_address, "memory.new"))
    assert kv.read(lambda tx: list(tx.scan(b""))) == [(b"n", b"2")]
    remove(place)
    assert kv.read(lambda tx: list(tx.scan(b""))) == []


def test_what_a_change_reads_twice_is_asked_for_once_and_what_it_writes_goes_together(
    kv: PostgresqlKeyValue, monkeypatch: pytest.MonkeyPatch
) -> None:
    from earnest.effects.ground.storage.postgresql_session import PostgresqlSession

    sent = []
    real = PostgresqlSession.execute

    def execute(self: PostgresqlSession, sql: str, *given: object) -> object:
        sent.append(sql.split(maxsplit=1)[0])
        return real(self, sql, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresqlSession, "execute", execute)

    def change(tx: StoreChange) -> None:
        for number in range(100):
            tx.put(b"%d" % number, tx.get(b"sum") or b"0")
            tx.delete(b"gone%d" % number)

    kv.write(change)
    assert sent == ["SELECT", "DELETE", "INSERT"]
