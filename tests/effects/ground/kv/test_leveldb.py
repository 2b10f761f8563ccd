"""Does LevelDB keep the promise of a key-value store, through kills, damage and a full disk?"""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("plyvel")

from earnest.effects.ground.kv.api import KeyValue, StoreChange
from earnest.effects.ground.kv.leveldb import LevelDbKeyValue
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.testing.kv_conformance import KeyValueConformance

WRITER = """
import sys
from pathlib import Path
from earnest.effects.ground.kv.leveldb import LevelDbKeyValue

kv = LevelDbKeyValue(Path(sys.argv[1]))
for number in range(100_000):
    def change(tx):
        for part in range(3):
            tx.put(b"%06d/%d" % (number, part), b"x" * 1_000)
    kv.write(change)
    print(number, flush=True)
"""
LIMITED = """
import resource, signal, sys
from pathlib import Path
from earnest.effects.ground.kv.leveldb import LevelDbKeyValue
from earnest.foundation.errors import Unavailable

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
kv = LevelDbKeyValue(Path(sys.argv[1]))
for number in range(90):
    room = 100_000 if number < 60 else 1_000 if number < 80 else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        kv.write(lambda tx: tx.put(b"%06d" % number, bytes(2_000)))
    except Unavailable:
        continue
    print(number, flush=True)
kv.close()
"""


class TestLevelDb(KeyValueConformance):
    def opened(self, path: Path) -> KeyValue:
        return LevelDbKeyValue(path)


def rows(path: Path) -> dict[bytes, bytes]:
    kv = LevelDbKeyValue(path)
    try:
        return kv.read(lambda tx: dict(tx.scan(b"")))
    finally:
        kv.close()


def filled(path: Path) -> dict[bytes, bytes]:
    """Rows of which some lie in a sorted file and the last ones in the log."""
    kv = LevelDbKeyValue(path)

    def fill(tx: StoreChange, first: int) -> None:
        for number in range(first, first + 50):
            tx.put(b"%06d" % number, bytes([number]) * 300)

    kv.write(lambda tx: fill(tx, 0))
    kv.close()
    kv = LevelDbKeyValue(path)  # what stood in the log is sorted
    kv.write(lambda tx: fill(tx, 50))
    kv.close()
    return {b"%06d" % number: bytes([number]) * 300 for number in range(100)}


@pytest.mark.parametrize("readonly", [True, False])
def test_a_second_one_is_refused_wherever_it_is(tmp_path: Path, readonly: bool) -> None:
    kv = LevelDbKeyValue(tmp_path / "kv")
    with pytest.raises(Refused) as refusal:
        LevelDbKeyValue(tmp_path / "kv", readonly=readonly)
    other = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path / "kv")], capture_output=True, text=True, check=False
    )
    assert (refusal.value.code, f"pid {os.getpid()}, and LevelDB lets one" in other.stderr) == ("memory_in_use", True)
    kv.close()


def test_a_reader_of_a_memory_that_does_not_exist_is_refused_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        LevelDbKeyValue(tmp_path / "kv", readonly=True)
    assert (refusal.value.code, (tmp_path / "kv").exists()) == ("memory_missing", False)


@pytest.mark.slow
def test_a_killed_writer_leaves_all_that_it_was_told_is_kept_and_each_change_whole(tmp_path: Path) -> None:
    for round_number in range(3):
        path = tmp_path / f"kv{round_number}"
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, encoding="ascii"
        )
        assert writer.stdout
        told = [int(writer.stdout.readline()) for _ in range(20 + 7 * round_number)]
        writer.kill()
        told += [int(line) for line in writer.communicate()[0].splitlines() if line.endswith(line.strip())][:-1]
        left = rows(path)
        assert {b"%06d/%d" % (number, part) for number in told for part in range(3)} <= left.keys()
        assert len(left) % 3 == 0


def test_a_disk_that_is_full_takes_nothing_and_afterwards_all_that_was_acknowledged_is_there(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "kv")], capture_output=True, text=True, check=True
    )
    kept = [int(line) for line in run.stdout.split()]
    assert len(kept) == 69, "one write was cut off, twenty found no room"
    assert not {*kept} & set(range(60, 80))
    assert sorted(rows(tmp_path / "kv")) == [b"%06d" % number for number in kept]


def test_a_tail_that_is_cut_off_leaves_the_state_of_an_earlier_moment(tmp_path: Path) -> None:
    whole = filled(tmp_path / "kv")
    (log,) = (tmp_path / "kv").glob("*.log")
    for cut in (1, 100, 5_000):
        copy = tmp_path / f"cut{cut}"
        shutil.copytree(tmp_path / "kv", copy)
        data = (copy / log.name).read_bytes()
        (copy / log.name).write_bytes(data[:-cut])
        assert rows(copy) == {key: value for key, value in whole.items() if key < b"000050"}


@pytest.mark.slow
def test_no_byte_that_turned_makes_it_answer_otherwise(tmp_path: Path) -> None:
    whole = filled(tmp_path / "kv")
    pick, found = random.Random(7), 0
    files = [file for file in (tmp_path / "kv").iterdir() if file.suffix in {".log", ".ldb"}]
    assert {file.suffix for file in files} == {".log", ".ldb"}
    for number in range(60):
        copy = tmp_path / "turned"
        shutil.copytree(tmp_path / "kv", copy)
        file = copy / pick.choice(files).name
        data = bytearray(file.read_bytes())
        data[pick.randrange(len(data))] ^= 1 << pick.randrange(8)
        file.write_bytes(data)
        try:
            answered = rows(copy)
        except Broken:
            found += 1
        else:
            earlier = {key: value for key, value in whole.items() if key < b"000050"}
            assert answered in (whole, earlier), number
        shutil.rmtree(copy)
    assert found > 30


@pytest.mark.parametrize("what", ["CURRENT", "MANIFEST-*", "*.ldb"])
def test_a_file_that_is_gone_or_a_first_one_that_is_empty_is_damage(tmp_path: Path, what: str) -> None:
    filled(tmp_path / "kv")
    for file in (tmp_path / "kv").glob(what):
        file.unlink()
    if what == "CURRENT":
        (tmp_path / "kv" / what).touch()
    with pytest.raises(Broken, match=r"is damaged .*: `earnest memory rebuild`"):
        rows(tmp_path / "kv")


def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable):
        LevelDbKeyValue(tmp_path / "file" / "kv")
