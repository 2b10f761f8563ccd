"""Do several processes write one log of facts, without a gap, without losing or starving one?"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from earnest.effects.ground import locks
from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.ground.locks import FileLock, WriteTurn
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.sqlite import LOOK_NS
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Unavailable
from earnest.foundation.facts import Fact

WRITERS = 3
WRITER = """
import asyncio, pathlib, sys
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.sqlite import LOOK_NS
from earnest.foundation.facts import Fact

async def waiter(database, name):
    number = 0
    while True:
        number += 1
        fact = Fact(kind="test.step", subject=name, at_ms=number, body={})
        seq = await database.write(lambda transaction: transaction.record(fact))
        print(seq, name, number, flush=True)

async def main():
    database = Database.open(pathlib.Path(sys.argv[1]), SystemClock())
    await asyncio.gather(*(waiter(database, f"{sys.argv[2]}-{n}") for n in range(4)))

asyncio.run(main())
"""


def record(subject: str) -> Callable[[Transaction], int]:
    return lambda transaction: transaction.record(Fact(kind="test.step", subject=subject, at_ms=1, body={}))


@pytest.mark.slow
def test_processes_that_write_together_and_are_killed_lose_and_double_nothing(path: Path) -> None:
    lines: list[str] = []
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", WRITER, path, str(n)], stdout=subprocess.PIPE, text=True)
            )
            for n in range(WRITERS)
        ]
        for process in processes:
            assert process.stdout
            lines += [process.stdout.readline() for _ in range(40)]
        for process in processes:
            process.kill()
            assert process.stdout
            lines += process.stdout.readlines()
    words = [line.split() for line in lines if line.endswith("\n")]
    acknowledged = {int(seq): (name, int(number)) for seq, name, number in words}
    assert len(acknowledged) == len(words) >= WRITERS * 40
    with closing(Database.open_reader(path)) as books:
        kept = books.read_sync(lambda reader: {fact.seq: (fact.subject, fact.at_ms) for fact in reader.facts()})
        assert books.read_sync(lambda reader: reader.faults()) == ()
    assert acknowledged.items() <= kept.items()
    assert list(kept) == list(range(1, len(kept) + 1))
    assert len(set(kept.values())) == len(kept)


async def test_two_databases_of_one_process_share_the_log_and_see_each_others_facts(path: Path) -> None:
    clock = VirtualClock()
    with closing(Database.open(path, clock)) as one, closing(Database.open(path, clock)) as other:
        assert [await database.write(record("s")) for database in (one, other, one)] == [1, 2, 3]
        clock.jump_ms(LOOK_NS // 1_000_000)
        assert other.last_seq == one.last_seq == 3


async def test_an_event_loop_goes_on_while_another_process_has_the_turn(path: Path) -> None:
    with closing(Database.open(path, SystemClock())) as database, closing(WriteTurn(path)) as turn:
        turn.take()
        writing = asyncio.create_task(database.write(record("s")))
        assert await asyncio.wait([writing], timeout=0.02) == (set(), {writing})
        turn.give()
        assert await writing == 1


async def test_whoever_waits_in_vain_is_told_who_has_the_turn_and_the_next_write_goes_well(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks.WriteTurn.take, "__defaults__", (20,))
    with (
        closing(Database.open(path, SystemClock())) as database,
        closing(FileLock(path.with_name(f"{path.name}.turn"))) as held,
    ):
        assert held.try_take()
        with pytest.raises(Unavailable, match=r"\.turn is held by the process with pid \d+"):
            await database.write(record("s"))
        held.give()
        assert await database.write(record("s")) == 1


def test_a_writer_that_is_stopped_between_commits_holds_nobody_up(path: Path) -> None:
    """Between two groups it has no turn: only who is stopped within one does."""
    sleeper = WRITER.replace("number = 0\n", "number = 0\n    await asyncio.sleep(0 if name.endswith('-0') else 60)\n")
    sleeper = sleeper.replace("flush=True)\n", "flush=True)\n        await asyncio.sleep(60)\n", 1)
    with subprocess.Popen([sys.executable, "-c", sleeper, path, "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("1 ")
        process.send_signal(signal.SIGSTOP)
        with closing(Database.open(path, SystemClock())) as database:
            assert database.write_sync(record("s")) == 2
        process.kill()


def stop(process: "subprocess.Popen[str]") -> None:
    """Return when it stands still, which on a busy machine is later than the signal."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def test_a_writer_that_is_stopped_in_its_turn_is_named_and_all_go_on_when_it_wakes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks.WriteTurn.take, "__defaults__", (50,))
    with (
        closing(Database.open(path, SystemClock())) as database,
        closing(FileLock(path.with_name(f"{path.name}.turn"))) as turn,
        subprocess.Popen([sys.executable, "-c", WRITER, path, "0"], stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout
        process.stdout.readline()
        stop(process)
        while turn.try_take():  # it was stopped between two turns
            turn.give()
            process.send_signal(signal.SIGCONT)
            process.stdout.readline()
            stop(process)
        with pytest.raises(Unavailable, match=f"pid {process.pid}, which is stopped"):
            database.write_sync(record("in vain"))
        process.send_signal(signal.SIGCONT)
        monkeypatch.setattr(locks.WriteTurn.take, "__defaults__", (5_000,))
        database.write_sync(record("went on"))
        process.kill()
        kept = database.read_sync(lambda reader: [(fact.seq, fact.subject) for fact in reader.facts()])
    assert [seq for seq, _ in kept] == list(range(1, len(kept) + 1))
    assert [subject for _, subject in kept].count("went on") == 1
    assert "in vain" not in dict(kept).values()
