"""Does a run in words that is killed with signal 9 ask its models nothing twice that was answered?"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from earnest.engine.facts import OUTCOME
from earnest.foundation.canonical import JsonObject
from earnest.testing.model_server import ModelServer, ReceivedRequest, ScriptedReply, answers, by_prompt

from .lives import Ending, Nursery, World

WORDS = "write a greeting into a file"
CALLS = 4
CRITERION: JsonObject = {
    "text": "a.txt greets",
    "check": {"kind": "files", "required": [{"path": "a.txt", "exact": "hello\n"}]},
}
PLAN: JsonObject = {
    "task_criteria": [CRITERION],
    "subtasks": [{"sequence": 1, "intent": "Greet in a.txt", "context": "", "criteria": [CRITERION]}],
    "rules": [],
}
WRITES: JsonObject = {"calls": [{"tool": "write_file", "args": {"path": "a.txt", "content": "hello\n"}}]}
STRIDE = 6
"""The boundaries are shared out among so many tests."""


def _works(request: ReceivedRequest) -> ScriptedReply:
    done = "call 1" in request.prompt
    return answers({"done": {"status": "completed", "output": "done"}} if done else WRITES)


@contextmanager
def serving() -> Iterator[ModelServer]:
    """A model that answers by what it is asked, in a thread of its own: the test waits for processes."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    spec = answers({"kind": "task", "intent": "Write a greeting", "task_class": "greeting_file"})
    server = ModelServer(by_prompt(perceiver=spec, planner=answers(PLAN), executor=_works))
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A data directory whose settings name the model."""

    world: World

    @classmethod
    def made(cls, folder: Path, server: ModelServer, nursery: Nursery) -> "Desk":
        home = folder / "home"
        home.mkdir(parents=True)
        (home / "settings.toml").write_text(f'[models]\nbase_url = "{server.base_url}"\ndefault = "scripted"\n')
        return cls(world=World(folder=folder, nursery=nursery))

    def run(self, *, kill_at: int = 0) -> Ending:
        return self.world.nursery.live(["run", WORDS, "--json"], self.world.home, kill_at=kill_at)

    def answered(self) -> int:
        """How many answers are durable."""
        return sum(fact.kind == OUTCOME and "told" in fact.body for fact in self.world.facts())


def _check(result: dict[str, Any], folder: Path) -> None:
    assert (result["directive"], result["exit_code"]) == ("accept", 0), result
    assert (result["usage"]["passes"], result["usage"]["model_calls"]) == (3, CALLS)
    assert (Path(result["workspace"]) / "a.txt").read_text() == "hello\n"


def _killed_at(boundary: int, folder: Path, nursery: Nursery) -> bool:
    """Kill it there and begin again; False if it had ended before."""
    with serving() as server:
        desk = Desk.made(folder, server, nursery)
        ending = desk.run(kill_at=boundary)
        if not ending.was_killed:
            _check(ending.result, folder)
            return False
        runs, answered, asked = desk.world.started(), desk.answered(), len(server.chats)
        if runs and desk.world.has_ended(runs[0]):
            return True
        assert answered <= asked <= answered + 1, "an answer is durable before the next question"
        again = desk.run()
        assert again.code == 0, again.output
        _check(again.result, folder)
        assert len(server.chats) == asked + CALLS - answered, "nothing that was answered is asked again"
        assert desk.world.started() == [again.result["run"]]
        assert not desk.world.faults()
    return True


@pytest.mark.slow
@pytest.mark.parametrize("boundary", [17, 30])
def test_a_run_killed_between_model_calls_asks_only_for_what_is_missing(
    boundary: int, tmp_path: Path, nursery: Nursery
) -> None:
    assert _killed_at(boundary, tmp_path, nursery)


@pytest.mark.slow  # a process is killed at each of some 60 boundaries
@pytest.mark.parametrize("first", range(1, STRIDE + 1))
def test_a_run_killed_anywhere_asks_only_for_what_is_missing(first: int, tmp_path: Path, nursery: Nursery) -> None:
    for boundary in count(first, STRIDE):
        if not _killed_at(boundary, tmp_path / str(boundary), nursery):
            assert boundary > STRIDE
            return
