"""Do processes that share a home leave each other's runs, changes and dreams alone, and go on when one of them ends?"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from earnest.app.platform import Platform, open_platform
from earnest.app.readers import order_of
from earnest.app.settings import Settings
from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.ground.locks import FileLock, folder_lock
from earnest.effects.ground.storage.database import Database
from earnest.engine.gradient.cascade import MacroState
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.facts import Fact
from earnest.journal.heads import SEALED
from earnest.journal.service import LOOK_MS, Sealer
from earnest.runtime.edits import applying
from earnest.runtime.order import Grants, Order
from earnest.runtime.telling import note_told

PLAYBOOK = """
format: earnest-playbook-v1
intent: i
task_class: shared
subtasks:
  - id: one
    intent: i
    approaches: [{id: a, steps: [{tool: shell, args: {command: "echo x > x"}}]}]
    criteria: [{text: it is there, check: {kind: files, required: [{path: x}]}}]
"""
HOLDER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDONLY if os.path.isdir(sys.argv[1]) else os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


class Holder:
    """Another process, which holds a lock."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-I", "-S", "-c", HOLDER, str(path)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        assert self.process.stdout.readline() == "held\n"

    def __enter__(self) -> "Holder":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "playbook.yaml").write_text(PLAYBOOK)
    return order_of(tmp_path / "playbook.yaml", Grants())


@pytest.fixture
async def platform(home: Path) -> AsyncIterator[Platform]:
    async with open_platform(Settings(home=home)) as opened:
        yield opened


async def interrupted_run(home: Path, order: Order, number: int) -> str:
    """A run that an earlier process has begun."""
    run_id = f"run_{number:026d}"
    with closing(Database.open(home / "books.sqlite3", SystemClock())) as books:
        fact = Fact(kind="run.started", subject=run_id, at_ms=number, body=order.to_json())
        await books.write(lambda transaction: transaction.record(fact))
    return run_id


async def test_a_run_that_another_process_works_is_neither_worked_nor_taken_up_until_that_has_ended(
    platform: Platform, home: Path, order: Order
) -> None:
    older, newer = [await interrupted_run(home, order, number) for number in (1, 2)]
    (home / "runs" / newer).mkdir(parents=True)
    with Holder(home / "runs" / newer) as other:
        with pytest.raises(Refused, match=f"{newer} is being worked already by .* pid {other.process.pid}") as refused:
            await platform.runs.work(newer)
        assert refused.value.code == "run_in_work"
        assert await platform.runs.interrupted(order) == older
    assert await platform.runs.interrupted(order) == newer
    assert (await platform.runs.work(newer)).directive is MacroState.ACCEPT


async def test_a_run_is_ours_from_its_beginning_until_its_end_was_told(platform: Platform, order: Order) -> None:
    run_id = await platform.runs.begin(order)
    folder = platform.runs.workspace_of(run_id).parent
    with closing(folder_lock(folder)) as other:
        assert not other.try_take()
        await platform.runs.work(run_id)
        assert not other.try_take()
        note_told(folder)
        assert other.try_take()


async def test_a_run_that_nobody_knows_of_leaves_no_folder(platform: Platform, home: Path) -> None:
    with pytest.raises(Refused) as refused:
        await platform.runs.work("../run_nothing")
    assert refused.value.code == "run_unknown"
    assert not (home / "run_nothing").exists()


async def test_a_second_platform_of_one_process_is_refused(platform: Platform, home: Path) -> None:
    with pytest.raises(Refused) as refused:
        async with open_platform(Settings(home=home)):
            pass
    assert refused.value.code == "memory_in_use"


async def test_a_dream_waits_until_another_process_has_dreamt(platform: Platform, home: Path) -> None:
    await platform.dreaming.cycle()  # the one at the start, for the other process to come after it
    with Holder(home / "locks" / "dreamer"):
        dreaming = asyncio.create_task(platform.dreaming.cycle())
        assert await asyncio.wait([dreaming], timeout=0.05) == (set(), {dreaming})
    await dreaming


async def test_a_change_is_applied_by_one_process_at_a_time(
    platform: Platform, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "APPLYING_WAIT_MS", 1)
    marker = home / applying.MARKERS / "run_other"
    marker.parent.mkdir()
    marker.touch()
    with Holder(home / "locks" / "applying") as other:
        with pytest.raises(Unavailable, match=f"pid {other.process.pid}"):
            await platform.edits.apply("run_any")
        await platform.edits.recover()
        assert marker.exists()


async def heads_now(books: Database) -> int:
    return await books.read(lambda reader: len(list(reader.facts(kind=SEALED))))


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(tmp_path / "books.sqlite3", SystemClock())) as opened:
        yield opened


async def test_one_process_seals_and_another_goes_on_when_it_ends(books: Database, tmp_path: Path) -> None:
    clock = VirtualClock()
    with ExitStack() as stack:
        locks = [stack.enter_context(closing(FileLock(tmp_path / "sealer"))) for _ in range(2)]
        first, second = sealers = [Sealer(books, clock, leads=lock.try_take) for lock in locks]
        for sealer in sealers:
            sealer.start()

        async def heads() -> int:
            """How many there are once a new fact is under one."""
            fact = Fact(kind="test.step", subject="s", at_ms=1, body={})
            seq = await books.write(lambda transaction: transaction.record(fact))
            while True:
                await clock.advance_ms(LOOK_MS)
                found = await books.read(lambda reader: [head.seq for head in reader.facts(kind=SEALED)])
                if found and found[-1] > seq:
                    return len(found)

        assert await heads() == 1
        await first.close()
        locks[0].give()
        assert await heads() == 2
        await second.close()
        assert await heads_now(books) == 2
