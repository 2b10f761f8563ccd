"""Does whatever a tool does end as a failed attempt with a reason, while the run goes on?"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from earnest.app.platform import Platform, open_platform
from earnest.app.readers import order_of
from earnest.app.settings import Settings
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.transaction import Transaction
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.messages import FinalResult, SubTaskOutcome
from earnest.foundation.errors import Broken, Refused, Waits
from earnest.runtime.order import Grants
from earnest.runtime.run_book import RunBook
from earnest.runtime.telling import note_told

from .processes import any_with, eventually

MARK = "MARK"


def _step(command: str, timeout_s: int = 20) -> str:
    return f"{{tool: shell, timeout_s: {timeout_s}, args: {{command: {json.dumps(command)}}}}}"


def _subtask(name: str, sequence: int, path: str, *commands: str, timeout_s: int = 20) -> str:
    """One approach a command, which is to leave `path`."""
    approaches = ", ".join(
        f"{{id: a{number}, steps: [{_step(command, timeout_s)}]}}" for number, command in enumerate(commands)
    )
    check = f"{{kind: files, required: [{{path: {path}}}], forbidden: [stale]}}"
    return (
        f"  - {{id: {name}, sequence: {sequence}, intent: i, approaches: [{approaches}],\n"
        f"     criteria: [{{text: it is there, check: {check}}}]}}\n"
    )


def _playbook(*subtasks: str, name: str = "contained", time_s: int = 60) -> str:
    head = f"format: earnest-playbook-v1\nintent: i\ntask_class: {name}\nbudget: {{time_s: {time_s}, replans: 2}}\n"
    return head + "subtasks:\n" + "".join(subtasks)


class House:
    """A platform on a fresh data directory, and the outcomes that went over its bus."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self.platform = platform
        self.folder = folder
        self.outcomes: list[SubTaskOutcome] = []
        platform.bus.tap(
            "test", lambda e: self.outcomes.append(e.payload) if isinstance(e.payload, SubTaskOutcome) else None
        )

    async def begin(self, playbook: str) -> str:
        path = self.folder / "playbook.yaml"
        path.write_text(playbook)
        return await self.platform.runs.begin(order_of(path, Grants()))

    async def work(self, playbook: str) -> FinalResult:
        return await self.platform.runs.work(await self.begin(playbook))

    def reasons(self) -> list[str]:
        """Why attempts failed, in order."""
        return [outcome.failure_reason for outcome in self.outcomes if outcome.failure_reason]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_platform(Settings(home=tmp_path / "home")) as platform:
        yield House(platform, tmp_path)


@pytest.fixture
def mark() -> str:
    """An argument that no other process has."""
    return f"86400.{time.time_ns()}"


HOSTILE = {
    "a tool that hangs": ("sleep MARK", "time"),
    "a fork bomb": ("touch MARK; bomb() { bomb | bomb & wait; }; bomb; false", "exit status 1|process|time"),
    "a gigabyte of output": ("head -c 1G /dev/zero; false", "output"),
    "a workspace that is full": ("for i in $(seq 20); do head -c 30M /dev/zero > f$i || exit; done", "disk"),
    "a file that grows and grows": ("head -c 1G /dev/zero > result", "limit of its size"),
    "a program that is not there": ("no-such-program", "could not be started"),
}


@pytest.mark.slow  # floods, bombs and time-outs
@pytest.mark.parametrize("what", HOSTILE)
async def test_a_hostile_approach_fails_with_a_reason_and_the_next_one_is_taken(
    what: str, house: House, mark: str
) -> None:
    command, reason = HOSTILE[what]
    hostile = command.replace(MARK, mark)
    result = await house.work(_playbook(_subtask("only", 1, "result", hostile, "touch result", timeout_s=5)))
    assert (result.directive, result.round) == (MacroState.ACCEPT, 2), result
    (said,) = house.reasons()
    assert any(word in said for word in reason.split("|")), said
    assert not any_with(mark)


async def test_a_daemon_that_a_tool_leaves_is_gone_with_it(house: House, mark: str) -> None:
    command = f"setsid sleep {mark} > /dev/null 2>&1 & touch result"
    result = await house.work(_playbook(_subtask("only", 1, "result", command)))
    assert result.directive is MacroState.ACCEPT
    assert eventually(lambda: not any_with(mark))


@pytest.mark.slow
async def test_the_time_budget_is_a_deadline_that_delivers_what_is_done(house: House, mark: str) -> None:
    subtasks = (_subtask("quick", 1, "kept", "touch kept"), _subtask("slow", 2, "x", f"sleep {mark}"))
    time_s = 1
    while not (result := await house.work(_playbook(*subtasks, time_s=time_s))).done:
        time_s *= 5  # a busy machine takes its time for what is quick
    assert (result.cause, result.done, result.not_done) == (AbandonCause.TIME, ("quick",), ("slow",))
    assert not any_with(mark)


async def test_of_two_parallel_subtasks_that_change_one_path_one_fails(house: House) -> None:
    command = "sleep 0.3; echo NAME > shared"  # long enough for both to have their own copy of the workspace
    run_id = await house.begin(
        _playbook(*(_subtask(name, 1, "shared", command.replace("NAME", name)) for name in ("left", "right")))
    )
    await house.platform.runs.work(run_id)
    first = [outcome for outcome in house.outcomes if outcome.round == 1]
    assert sorted(outcome.status for outcome in first) == ["failed", "matched"]
    (failed,) = [outcome for outcome in first if outcome.status == "failed"]
    assert "another call changed shared" in failed.failure_reason


async def test_a_failed_approach_leaves_no_file_for_the_next_and_takes_none_from_others(house: House) -> None:
    run_id = await house.begin(
        _playbook(
            _subtask("other", 1, "other", "echo kept > other"),
            _subtask("one", 2, "result", "touch stale result", "test ! -e result; touch result"),
        )
    )
    result = await house.platform.runs.work(run_id)
    assert (result.directive, result.round) == (MacroState.ACCEPT, 2), result
    workspace = house.platform.runs.workspace_of(run_id)
    assert {path.name for path in workspace.iterdir()} == {"other", "result"}
    assert [outcome.subtask_id for outcome in house.outcomes if outcome.round == 2] == ["one"]


@pytest.mark.slow
async def test_two_runs_at_once_have_nothing_in_common(house: House) -> None:
    playbook = _playbook(
        _subtask("one", 1, "result", "touch stale", 'echo "$(ls | wc -l)" > result; touch "$(date +%N)"'), name="two"
    )
    runs = [await house.begin(playbook), await house.begin(playbook)]
    results = await asyncio.gather(*(house.platform.runs.work(run_id) for run_id in runs))
    assert [(result.directive, result.round) for result in results] == [(MacroState.ACCEPT, 2)] * 2
    workspaces = [house.platform.runs.workspace_of(run_id) for run_id in runs]
    assert [len(list(workspace.iterdir())) for workspace in workspaces] == [2, 2]
    assert not any(role._states for role, _ in house.platform.engine._inboxes)
    order = order_of(house.folder / "playbook.yaml", Grants())
    for run_id in reversed(runs):
        assert await house.platform.runs.interrupted(order) == run_id, "nobody was told of its end"
        note_told(house.platform.runs.workspace_of(run_id).parent)
    assert await house.platform.runs.interrupted(order) is None


async def test_a_run_is_not_worked_twice_at_once(house: House, mark: str) -> None:
    run_id = await house.begin(_playbook(_subtask("one", 1, "x", f"sleep {mark}")))
    working = asyncio.create_task(house.platform.runs.work(run_id))
    assert await asyncio.to_thread(eventually, lambda: any_with(mark))
    with pytest.raises(Refused, match="is being worked already"):
        await house.platform.runs.work(run_id)
    house.platform.engine.stop(run_id, AbandonCause.USER, "enough")
    assert (await working).cause is AbandonCause.USER


async def test_a_run_that_is_still_got_ready_can_be_given_up_and_worked_later(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await house.begin(_playbook(_subtask("one", 1, "x", "touch x")))
    opening, opened = asyncio.Event(), asyncio.Event()

    async def slowly(_toolbox: Toolbox, _tools: object) -> None:
        opening.set()
        await opened.wait()

    monkeypatch.setattr(Toolbox, "open", slowly)
    runs = house.platform.runs
    working = asyncio.create_task(runs.work(run_id))
    await opening.wait()
    assert not runs.stop(run_id, "enough")
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    opened.set()
    assert (await runs.work(run_id)).directive is MacroState.ACCEPT
    assert runs.stop(run_id, "it has ended")


@pytest.mark.slow
async def test_a_run_whose_journal_cannot_be_written_waits_and_says_why_wherever_it_fails(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, left = Database.put, 0

    def failing(
        database: Database, fn: Callable[[Transaction], object], answer: asyncio.Future[object], ahead: Ahead = ()
    ) -> None:
        nonlocal left
        left -= fn.__module__ == RunBook.__module__  # the journal is sealed beside the run
        if left < 0 and fn.__module__ == RunBook.__module__:
            answer.set_exception(Broken("the disk is full"))
        else:
            put(database, fn, answer, ahead)

    ends: list[str] = []
    while not ends or ends[-1] != "accept":
        run_id = await house.begin(_playbook(_subtask("one", 1, "x", "touch x")))
        with monkeypatch.context() as patched:
            patched.setattr(Database, "put", failing)
            left = len(ends)
            async with asyncio.timeout(20):
                ends.append(await _end_of(house, run_id))
        if ends[-1] != "accept":
            assert (await house.platform.runs.work(run_id)).directive is MacroState.ACCEPT, "it can be resumed"
    assert len(ends) > 3
    assert set(ends[:-1]) == {"waits"}


async def _end_of(house: House, run_id: str) -> str:
    try:
        return (await house.platform.runs.work(run_id)).directive
    except Waits as waits:
        return "waits" if "the disk is full" in waits.why else waits.why
