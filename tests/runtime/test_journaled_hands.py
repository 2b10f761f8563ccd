"""Is each effect made once, recorded, and kept, whoever cancels or crashes around it?"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus, SelfTest
from earnest.effects.hands.tools.record import ToolCall
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.ports import EffectUnknown, NeedsConfirmation
from earnest.runtime.approvals import Approvals
from earnest.runtime.hands import JournaledHands
from earnest.runtime.order import Grants
from earnest.runtime.run_book import RunBook, read_kept

OUTER = "/somewhere/else"


class Shell:
    """A sandbox that knows one command, `write NAME`, and one look, which ends with `seen`."""

    description = "fake"

    def __init__(self) -> None:
        self.executions: list[Execution] = []
        self.held = asyncio.Event()
        self.held.set()
        self.returned = asyncio.Event()
        self.returned.set()
        self.seen = 1
        self._begun = asyncio.Semaphore(0)

    async def begun(self, times: int = 1) -> None:
        """Return when so many more executions have begun."""
        async with asyncio.timeout(5):
            for _ in range(times):
                await self._begun.acquire()

    async def run(self, execution: Execution) -> ExecutionReport:
        self.executions.append(execution)
        self._begun.release()
        await self.held.wait()
        word, _, name = execution.argv[-1].partition(" ")
        if word == "look":
            return ExecutionReport(status=ExecutionStatus.DONE, exit_code=self.seen)
        assert isinstance(execution.work, Path)
        with (execution.work / name).open("a") as file:
            file.write("x")
        await self.returned.wait()
        return ExecutionReport(status=ExecutionStatus.DONE, exit_code=0)

    async def self_test(self, valid_ms: int = 0, /) -> SelfTest:
        raise NotImplementedError

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The hands of one process that works the run."""

    hands: JournaledHands
    shell: Shell
    database: Database
    workspace: Workspace


async def _begin(folder: Path, database: Database, *, granted: bool = True) -> Life:
    """A process begins to work the run, from what the last one left."""
    clock, shell = VirtualClock(), Shell()
    kept = await database.read(lambda reader: read_kept(reader, "run"))
    workspace = Workspace(folder / "workspace", folder / "stages")
    book = RunBook(
        run_id="run",
        database=database,
        clock=clock,
        kept=kept,
        recorded=lambda _seq, _envelope: None,
        failed=lambda _reason: None,
    )
    hands = JournaledHands(
        book=book,
        toolbox=Toolbox(clock),
        workspace=workspace,
        sandbox=shell,
        inputs=(),
        grants=Grants(write=(Path(OUTER),) if granted else ()),
        approvals=Approvals(book=book, clock=clock, kept=kept.outcomes),
        clock=clock,
    )
    await hands.recover(kept.outcomes, kept.intents)
    return Life(hands=hands, shell=shell, database=database, workspace=workspace)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database.open(tmp_path / "books.sqlite3", VirtualClock())
    yield database
    database.close()


def _write(name: str, *, outside: bool = False) -> ToolCall:
    return ToolCall(tool="shell", args={"command": f"write {name}"}, writes=(OUTER,) if outside else ())


def _content(life: Life) -> dict[str, str]:
    return {path.name: path.read_text() for path in life.workspace.folder.iterdir()}


async def test_a_call_that_is_kept_is_not_made_again(tmp_path: Path, database: Database) -> None:
    first = await _begin(tmp_path, database)
    record = await first.hands.call("r1/one/a1/c1", _write("file"))
    second = await _begin(tmp_path, database)
    assert await second.hands.call("r1/one/a1/c1", _write("file")) == record
    assert not second.shell.executions
    assert _content(second) == {"file": "x"}


async def test_a_change_whose_outcome_is_durable_is_kept_although_its_call_was_cancelled(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = await _begin(tmp_path, database)
    conclude, reached, go_on = RunBook.conclude, asyncio.Event(), asyncio.Event()

    async def slow(book: RunBook, key: str, body: dict[str, object]) -> None:
        await conclude(book, key, body)
        reached.set()
        await go_on.wait()

    monkeypatch.setattr(RunBook, "conclude", slow)
    calling = asyncio.create_task(life.hands.call("r1/one/a1/c1", _write("file")))
    await reached.wait()
    calling.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert _content(life) == {"file": "x"}


async def test_a_call_that_is_cancelled_before_its_outcome_leaves_no_trace(tmp_path: Path, database: Database) -> None:
    life = await _begin(tmp_path, database)
    life.shell.held.clear()
    calling = asyncio.create_task(life.hands.call("r1/one/a1/c1", _write("file")))
    await life.shell.begun()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert _content(life) == {}
    again = await _begin(tmp_path, database)
    assert (await again.hands.call("r1/one/a1/c1", _write("file"))).ok
    assert _content(again) == {"file": "x"}


async def test_of_two_parallel_calls_that_change_the_same_path_the_later_one_fails(
    tmp_path: Path, database: Database
) -> None:
    life = await _begin(tmp_path, database)
    life.shell.held.clear()
    both = [asyncio.create_task(life.hands.call(f"r1/{name}/a1/c1", _write("file"))) for name in ("left", "right")]
    await life.shell.begun(2)
    life.shell.held.set()
    records = await asyncio.gather(*both)
    assert sorted(record.ok for record in records) == [False, True]
    (failure,) = [record.failure for record in records if record.failure is not None]
    assert (failure.code, "file" in failure.message) == ("workspace_conflict", True)
    assert _content(life) == {"file": "x"}


async def test_taking_back_one_subtask_leaves_what_another_did(tmp_path: Path, database: Database) -> None:
    life = await _begin(tmp_path, database)
    await life.hands.call("r1/left/a1/c1", _write("left"))
    await life.hands.call("r1/right/a1/c1", _write("right"))
    await life.hands.revert("r2/revert", ["r1/left/"])
    assert _content(life) == {"right": "x"}
    again = await _begin(tmp_path, database)
    await again.hands.revert("r2/revert", ["r1/left/"])
    assert _content(again) == {"right": "x"}


async def test_the_verdict_on_work_is_durable_before_the_work_is_gone(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = await _begin(tmp_path, database)
    await life.hands.call("r1/left/a1/c1", _write("left"))
    life.hands.book.note("r1/left/a1/verdict", {"verdicts": []})
    restore, kept = life.workspace.restore, []

    async def watched(prefix: str, paths: set[str]) -> None:
        kept.append(await database.read(lambda reader: read_kept(reader, "run").outcomes))
        await restore(prefix, paths)

    monkeypatch.setattr(life.workspace, "restore", watched)
    await life.hands.revert("r2/revert", ["r1/left/"])
    assert "r1/left/a1/verdict" in kept[0]
    assert _content(life) == {}


async def _crash_in_an_outside_effect(folder: Path, database: Database) -> None:
    life = await _begin(folder, database)
    life.shell.held.clear()
    calling = asyncio.create_task(life.hands.call("r1/one/a1/c1", _write("noted", outside=True)))
    await life.shell.begun()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_an_unknown_effect_outside_that_was_found_done_is_not_made_again(
    tmp_path: Path, database: Database
) -> None:
    await _crash_in_an_outside_effect(tmp_path, database)
    life = await _begin(tmp_path, database)
    life.shell.seen = 0
    assert (await life.hands.call("r1/one/a1/c1", _write("noted", outside=True), "look")).ok
    assert [execution.argv[-1] for execution in life.shell.executions] == ["look"]


@pytest.mark.parametrize(("seen", "runs"), [(0, ["look"]), (1, ["look", "write noted"])])
async def test_a_step_that_a_crash_cut_off_loses_neither_its_effect_nor_its_files_and_doubles_none(
    seen: int, runs: list[str], tmp_path: Path, database: Database
) -> None:
    life = await _begin(tmp_path, database)
    life.shell.returned.clear()
    calling = asyncio.create_task(life.hands.call("r1/one/a1/c1", _write("noted", outside=True)))
    await life.shell.begun()
    for _ in range(3):  # it is written, and is not told of
        await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    life = await _begin(tmp_path, database)
    life.shell.seen = seen
    record = await life.hands.call("r1/one/a1/c1", _write("noted", outside=True), "look")
    assert (record.ok, [change.path for change in record.changed], _content(life)) == (True, ["noted"], {"noted": "x"})
    assert [execution.argv[-1] for execution in life.shell.executions] == runs
    assert not list((tmp_path / "stages" / "open").iterdir())


async def test_an_unknown_effect_outside_that_did_not_happen_is_made(tmp_path: Path, database: Database) -> None:
    await _crash_in_an_outside_effect(tmp_path, database)
    life = await _begin(tmp_path, database)
    assert (await life.hands.call("r1/one/a1/c1", _write("noted", outside=True), "look")).ok
    assert [execution.argv[-1] for execution in life.shell.executions] == ["look", "write noted"]


async def test_whoever_looks_sees_the_place_of_the_effect_and_cannot_write_there(
    tmp_path: Path, database: Database
) -> None:
    await _crash_in_an_outside_effect(tmp_path, database)
    life = await _begin(tmp_path, database)
    await life.hands.call("r1/one/a1/c1", _write("noted", outside=True), "look")
    look, effect = (execution.mounts for execution in life.shell.executions)
    assert [(mount.target, mount.writable) for mount in look] == [(OUTER, False)]
    assert [(mount.target, mount.writable) for mount in effect] == [(OUTER, True)]


@pytest.mark.parametrize("seen", [2, 127])
async def test_a_look_that_cannot_tell_leaves_the_effect_unknown(seen: int, tmp_path: Path, database: Database) -> None:
    await _crash_in_an_outside_effect(tmp_path, database)
    life = await _begin(tmp_path, database)
    life.shell.seen = seen
    with pytest.raises(EffectUnknown, match=f"its look cannot tell: it ended with exit code {seen}"):
        await life.hands.call("r1/one/a1/c1", _write("noted", outside=True), "look")
    assert [execution.argv[-1] for execution in life.shell.executions] == ["look"]


async def test_an_effect_outside_that_nothing_can_look_at_stays_unknown(tmp_path: Path, database: Database) -> None:
    await _crash_in_an_outside_effect(tmp_path, database)
    life = await _begin(tmp_path, database)
    with pytest.raises(EffectUnknown, match="write noted"):
        await life.hands.call("r1/one/a1/c1", _write("noted", outside=True))
    assert not life.shell.executions


async def test_what_was_not_granted_is_asked_for_before_anything_begins(tmp_path: Path, database: Database) -> None:
    life = await _begin(tmp_path, database, granted=False)
    with pytest.raises(NeedsConfirmation, match=OUTER):
        await life.hands.call("r1/one/a1/c1", _write("noted", outside=True))
    assert not life.shell.executions
    assert not (await database.read(lambda reader: read_kept(reader, "run"))).intents
