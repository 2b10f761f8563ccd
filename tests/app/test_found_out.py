"""Whether a flipped bit, a cut line or an emptied file is found out: in books, audit log and memory, anywhere.

Every 64th byte of a small home that was killed. `EARNEST_TEST_FOUND=all` tries all of them; by default a sample is
drawn, by the seed `EARNEST_TEST_SEED`.
"""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.app import places
from earnest.app.home_check import DEEP, look
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.reader import BooksReader, ReadPool
from earnest.foundation.errors import EarnestError
from earnest.memory.service import Memory, OpenReader, open_memory, open_memory_reader
from earnest.runtime.recall import catch_up, changes_in
from earnest.runtime.recompute import TABLES
from earnest.testing.served import PROGRAM, served

EXAMPLES = Path(__file__).parents[2] / "examples"
STEP_BYTES = 64
SAMPLED = 40
SEED = int(os.environ.get("EARNEST_TEST_SEED", "0"))
FILES = ("books.sqlite3", "books.sqlite3-wal", "audit/audit.jsonl", "memory/data.mdb")
READ = (*TABLES, "replies", "sealed_reviews", "sealed_trials")
PLAYBOOK = """
format: earnest-playbook-v1
intent: Write a.txt
task_class: write
subtasks:
  - id: a
    intent: Write a.txt
    criteria:
      - {text: a.txt is there, check: {kind: files, required: [{path: a.txt, regex: right}]}}
    approaches:
      - {id: wrong, steps: [{tool: write_file, args: {path: a.txt, content: wrong}}]}
      - {id: good, steps: [{tool: write_file, args: {path: a.txt, content: right}}]}
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and a platform with a test job that was killed: its books have a write-ahead log."""
    folder = tmp_path_factory.mktemp("found")
    home, playbook = folder / "home", folder / "playbook.yaml"
    playbook.write_text(PLAYBOOK)
    environment = {**os.environ, "EARNEST_HOME": str(home)}
    subprocess.run([*PROGRAM, "run", "--quiet", str(playbook)], env=environment, check=True, capture_output=True)
    with served(home, environment) as platform:
        agent = [sys.executable, str(EXAMPLES / "agents" / "plain_http.py"), platform.url, "bob"]
        environment["EARNEST_HOME"] = str(folder / "theirs")
        subprocess.run(agent, env=environment, check=True, capture_output=True)
        platform.process.send_signal(signal.SIGKILL)
        platform.process.wait()
    shutil.rmtree(home / "runs")
    for kept in (home / "artifacts").iterdir():
        if not any(kept.iterdir()):
            kept.rmdir()  # hundreds of them, which every copy would have
    return home


@pytest.fixture
def home(small_home: Path, tmp_path: Path) -> Path:
    return anew(small_home, tmp_path / "home")


def anew(small_home: Path, home: Path) -> Path:
    """A copy whose index of the write-ahead log is the one that the killed process left."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(small_home, home)
    return home


def named(home: Path) -> str:
    """What `earnest doctor --deep` says is wrong; the first of it."""
    for name, check in DEEP.items():
        well, detail = asyncio.run(look(check, home, places.books(home)))
        if not well:
            return f"{name}: {detail}"
    return ""


def held(home: Path) -> list[object]:
    """All that the home holds, as far as anybody reads it."""

    def rows(reader: BooksReader) -> list[object]:
        facts = [(one.seq, one.at_ms, one.kind, one.subject, one.body_json, one.leaf) for one in reader.facts()]
        return [facts, *(reader.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in READ)]

    books = ReadPool.open_reader(places.books(home))
    try:
        found = books.read_sync(rows)
    finally:
        books.close()
    return [*found, places.audit_log(home).read_bytes(), remembered(home)]


def remembered(home: Path) -> list[tuple[bytes, bytes]]:
    if not (home / "memory" / "data.mdb").stat().st_size:
        asyncio.run(made_again(home))
    kv = LmdbKeyValue(places.memory(home), readonly=True)
    try:
        return kv.read(lambda tx: [row for row in tx.scan(b"") if not row[0].startswith((b"p|", b"w|"))])
    finally:
        kv.close()


async def made_again(home: Path) -> None:
    """What the next start does."""
    books = ReadPool.open_reader(places.books(home))
    memory = open_memory(places.memory(home), changes_in(books))
    await catch_up(memory)
    await memory.close()
    books.close()


def offsets(size_bytes: int, name: str) -> list[int]:
    every = range(0, size_bytes, STEP_BYTES)
    if os.environ.get("EARNEST_TEST_FOUND") == "all":
        return list(every)
    return sorted(random.Random(f"{SEED} {name}").sample(every, min(SAMPLED, len(every))))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_harmless_or_named(small_home: Path, tmp_path: Path, name: str) -> None:
    whole = held(anew(small_home, tmp_path / "whole"))
    data = (small_home / name).read_bytes()
    silent = []
    for offset in offsets(len(data), name):
        home = anew(small_home, tmp_path / "home")
        bit = random.Random(f"{SEED} {offset}").randrange(8)
        flipped = bytearray(data)
        flipped[offset] ^= 1 << bit
        (home / name).write_bytes(flipped)
        if not named(home) and held(anew_but(small_home, tmp_path / "other", name, flipped)) != whole:
            silent.append((offset, bit))
    assert silent == []


def anew_but(small_home: Path, home: Path, name: str, data: bytes | bytearray) -> Path:
    anew(small_home, home)
    (home / name).write_bytes(data)
    return home


@pytest.mark.parametrize("name", [*FILES, "audit/audit_stats.json", "secrets/keys"])
@pytest.mark.parametrize("how", ["emptied", "gone", "cut in half", "a line less"])
def test_a_file_that_was_emptied_cut_or_taken_away_is_harmless_or_named(
    small_home: Path, home: Path, tmp_path: Path, name: str, how: str
) -> None:
    whole = held(anew(small_home, tmp_path / "whole"))
    path = home / name
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        sizes = {"emptied": 0, "cut in half": len(data) // 2, "a line less": data[:-1].rfind(b"\n") + 1}
        path.write_bytes(data[: sizes[how]])
    found = named(home)
    if not found and name != "audit/audit_stats.json" and not name.startswith("memory"):
        assert held(home) == whole
    if name == "audit/audit.jsonl" or (name.startswith("books") and how in {"emptied", "gone"}):
        assert found


@pytest.mark.timeout(0)
def test_no_command_is_killed_by_memory_that_is_damaged_anywhere(small_home: Path, home: Path) -> None:
    data = (small_home / "memory" / "data.mdb").read_bytes()
    for offset in offsets(len(data), "commands"):
        flipped = bytearray(data)
        flipped[offset] ^= 0x40
        (home / "memory" / "data.mdb").write_bytes(flipped)
        for opened in (open_memory_reader, open_memory):
            try:
                asyncio.run(used(opened, places.memory(home)))
            except EarnestError as error:
                assert "`earnest memory rebuild`" in str(error)  # noqa: PT017


async def used(opened: Callable[[Path], OpenReader | Memory], path: Path) -> None:
    memory = opened(path)
    try:
        memory.entries()
        memory.counts()
        memory.stirred(10)
    finally:
        if isinstance(memory, Memory):
            await memory.close()
        else:
            memory.close()


def test_a_home_that_was_only_killed_is_well(home: Path) -> None:
    assert named(home) == ""


def test_each_line_that_is_cut_out_of_the_audit_log_is_named(small_home: Path, tmp_path: Path) -> None:
    lines = (small_home / "audit" / "audit.jsonl").read_bytes().splitlines(keepends=True)
    for number in range(len(lines)):
        home = anew_but(
            small_home, tmp_path / "home", "audit/audit.jsonl", b"".join(lines[:number] + lines[number + 1 :])
        )
        well, detail = asyncio.run(look(DEEP["audit log"], home, places.books(home)))
        assert (well, "audit.jsonl" in detail) == (False, True), number


def test_a_log_that_was_cut_before_the_next_run_is_named_after_it_too(home: Path) -> None:
    log = places.audit_log(home)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]))
    environment = {**os.environ, "EARNEST_HOME": str(home)}
    playbook = home.parent / "playbook.yaml"
    playbook.write_text(PLAYBOOK)
    subprocess.run([*PROGRAM, "run", "--quiet", str(playbook)], env=environment, check=True, capture_output=True)
    for command in (("audit", "verify"), ("journal", "verify")):
        ended = subprocess.run([*PROGRAM, *command], env=environment, check=False, capture_output=True, text=True)
        assert (ended.returncode, "audit.jsonl" in ended.stdout, ended.stderr) == (1, True, "")


def test_broken_memory_is_made_anew_from_the_facts_as_its_error_says(home: Path) -> None:
    whole = remembered(home)
    data = home / "memory" / "data.mdb"
    data.write_bytes(data.read_bytes()[:9_000])
    environment = {**os.environ, "EARNEST_HOME": str(home)}

    def earnest(*command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*PROGRAM, *command], env=environment, check=False, capture_output=True, text=True)

    refused = earnest("memory", "show")
    assert (refused.returncode, "`earnest memory rebuild`" in refused.stderr) == (3, True)
    assert earnest("memory", "rebuild").returncode == 0
    assert remembered(home) == whole
    assert named(home) == ""


def test_books_that_are_replaced_by_new_ones_beside_a_longer_log_are_named(home: Path) -> None:
    for path in home.glob("books.sqlite3*"):
        path.unlink()
    Database.open(places.books(home), SystemClock()).close()
    environment = {**os.environ, "EARNEST_HOME": str(home)}
    ended = subprocess.run(
        [*PROGRAM, "journal", "verify"], env=environment, check=False, capture_output=True, text=True
    )
    assert (ended.returncode, "cut_off" in ended.stdout) == (1, True)
