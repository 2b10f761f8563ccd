"""Is every acknowledged fact still there after kill -9, and can the next writer go on?"""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import Refused

WRITER = """
import asyncio, pathlib, sys
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.facts import Fact

async def waiter(database, name):
    number = 0
    while True:
        number += 1
        fact = Fact(kind="test.step", subject=name, at_ms=number, body={"text": "x" * 200})
        seq = await database.write(lambda transaction: transaction.record(fact))
        print(seq, name, number, flush=True)

async def main():
    database = Database.open(pathlib.Path(sys.argv[1]), SystemClock())
    await asyncio.gather(*(waiter(database, f"w{n}") for n in range(4)))

asyncio.run(main())
"""


@pytest.fixture
def acknowledged(path: Path) -> dict[int, tuple[str, int]]:
    """What a writer said it had written before it was killed in the middle of writing more."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(60)]
        with pytest.raises(Refused, match=f"pid {process.pid}"):
            Database.open(path, VirtualClock(), alone=True)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.readlines()
        process.stdout.close()
        process.wait()
    words = [line.split() for line in lines if line.endswith("\n")]
    return {int(seq): (name, int(number)) for seq, name, number in words}


@pytest.mark.slow
def test_what_was_acknowledged_survives(path: Path, acknowledged: dict[int, tuple[str, int]]) -> None:
    with closing(Database.open_reader(path)) as books:
        kept = books.read_sync(lambda reader: {fact.seq: (fact.subject, fact.at_ms) for fact in reader.facts()})
    assert len(acknowledged) >= 60
    assert acknowledged.items() <= kept.items()
    assert list(kept) == list(range(1, len(kept) + 1))


@pytest.mark.slow
def test_the_next_writer_goes_on_where_the_killed_one_stopped(
    path: Path, clock: VirtualClock, acknowledged: dict[int, tuple[str, int]]
) -> None:
    with closing(Database.open(path, clock)) as database:
        assert database.last_seq >= max(acknowledged)
        assert database.read_sync(lambda reader: reader.faults()) == ()
