"""Does LMDB keep the promise of a key-value store, alone and beside other processes?"""

import errno
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from earnest.effects.ground.kv.api import KeyValue, StoreChange
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.testing.kv_conformance import KeyValueConformance

OTHER_PROCESS = """
import sys
from pathlib import Path
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.foundation.errors import EarnestError

path, role = Path(sys.argv[1]), sys.argv[2]
try:
    kv = LmdbKeyValue(path, readonly=role == "reader")
except EarnestError as error:
    print(getattr(error, "code", type(error).__name__), flush=True)
    sys.exit()
print("open", flush=True)
for line in sys.stdin:
    key = line.strip().encode()
    before = kv.read(lambda tx: len(tx.get(key.removeprefix(b"+")) or b""))
    if key.startswith(b"+"):
        kv.write(lambda tx: tx.put(key[1:], b"y"))
    print(before, flush=True)
"""


class TestLmdb(KeyValueConformance):
    def opened(self, path: Path) -> KeyValue:
        return LmdbKeyValue(path)


class OtherProcess:
    def __init__(self, path: Path, role: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, str(path), role],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answer = self._line()

    def ask(self, key: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(key + "\n")
        self.process.stdin.flush()
        return self._line()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()


def add(tx: StoreChange, key: bytes) -> None:
    tx.put(key, (tx.get(key) or b"") + b"x")


def test_two_processes_write_in_turns_and_each_sees_what_the_other_has_written(tmp_path: Path) -> None:
    kv = LmdbKeyValue(tmp_path / "kv")
    other = OtherProcess(tmp_path / "kv", "writer")
    try:
        assert other.answer == "open"
        for number in range(20):
            assert other.ask(f"+{number}") == "0"
            kv.write(partial(add, key=b"%d" % number))
        assert kv.read(lambda tx: [tx.get(b"%d" % number) for number in range(20)]) == [b"yx"] * 20
    finally:
        other.end()
        kv.close()


@pytest.mark.slow
def test_a_writing_process_follows_one_that_has_grown_the_map(tmp_path: Path) -> None:
    kv = LmdbKeyValue(tmp_path / "kv", map_bytes=1024 * 1024)
    other = OtherProcess(tmp_path / "kv", "writer")
    try:
        kv.write(lambda tx: tx.put(b"large", b"x" * 40_000_000))
        assert (other.ask("+small"), other.ask("large")) == ("0", "40000000")
        assert kv.read(lambda tx: tx.get(b"small")) == b"y"
    finally:
        other.end()
        kv.close()


def test_a_writer_that_was_killed_holds_nobody_up(tmp_path: Path) -> None:
    other = OtherProcess(tmp_path / "kv", "writer")
    other.ask("+1")
    other.end()
    kv = LmdbKeyValue(tmp_path / "kv")
    kv.write(lambda tx: tx.put(b"2", b"x"))
    assert kv.read(lambda tx: tx.get(b"1")) == b"y"
    kv.close()


def test_a_second_writer_in_the_same_process_is_refused(tmp_path: Path) -> None:
    kv = LmdbKeyValue(tmp_path / "kv")
    with pytest.raises(Refused, match="open in this process already"):
        LmdbKeyValue(tmp_path / "kv")
    kv.write(lambda tx: tx.put(b"a", b"1"))
    kv.close()
    LmdbKeyValue(tmp_path / "kv").close()


def test_a_reading_process_follows_a_writer_that_outgrows_its_map(tmp_path: Path) -> None:
    kv = LmdbKeyValue(tmp_path / "kv", map_bytes=1024 * 1024)
    kv.write(lambda tx: tx.put(b"small", b"1"))
    reader = OtherProcess(tmp_path / "kv", "reader")
    try:
        assert (reader.answer, reader.ask("small"), reader.ask("large")) == ("open", "1", "0")
        kv.write(lambda tx: tx.put(b"large", b"x" * 30_000_000))
        assert (reader.ask("large"), reader.ask("small")) == ("30000000", "1")
    finally:
        reader.end()
        kv.close()


def test_a_reader_of_a_memory_that_does_not_exist_is_refused_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        LmdbKeyValue(tmp_path / "kv", readonly=True)
    assert refusal.value.code == "memory_missing"
    assert not (tmp_path / "kv").exists()


def test_the_file_is_as_large_as_what_it_holds_and_private(tmp_path: Path) -> None:
    kv = LmdbKeyValue(tmp_path / "kv")
    kv.write(lambda tx: tx.put(b"a", b"1"))
    kv.close()
    data = tmp_path / "kv" / "data.mdb"
    assert data.stat().st_size < 1_000_000
    assert (data.stat().st_mode & 0o077, (tmp_path / "kv").stat().st_mode & 0o077) == (0, 0)


def test_a_file_that_is_no_store_is_broken_and_leaves_the_folder_free(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"something else" * 1000)
    for _ in range(2):
        with pytest.raises(Broken):
            LmdbKeyValue(tmp_path)


@pytest.mark.parametrize("readonly", [True, False])
def test_a_store_that_was_cut_short_is_said_to_be_damaged(tmp_path: Path, readonly: bool) -> None:
    kv = LmdbKeyValue(tmp_path / "kv")

    def fill(tx: StoreChange) -> None:
        for number in range(64):
            tx.put(b"%d" % number, bytes(1_000))

    kv.write(fill)
    kv.close()
    data = tmp_path / "kv" / "data.mdb"
    data.write_bytes(data.read_bytes()[:8_192])
    with pytest.raises(Broken, match=r"is damaged .*: `earnest memory rebuild`"):
        LmdbKeyValue(tmp_path / "kv", readonly=readonly)


def test_an_empty_file_holds_no_store_to_read(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").touch()
    with pytest.raises(Refused) as refusal:
        LmdbKeyValue(tmp_path, readonly=True)
    assert refusal.value.code == "memory_missing"


def test_the_table_of_readers_has_its_blocks_so_that_a_full_disk_kills_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LmdbKeyValue(tmp_path / "one").close()
    table = (tmp_path / "one" / "lock.mdb").stat()
    assert table.st_blocks * 512 >= table.st_size > 0

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(Unavailable, match="No space left"):
        LmdbKeyValue(tmp_path / "other")
