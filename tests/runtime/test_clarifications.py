"""Is what a person answered about a request kept, so that a resumed run goes on with it and asks nobody again?"""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from earnest.app import places
from earnest.app.platform import open_platform
from earnest.effects.ground.storage.reader import ReadPool
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.ports import Clarifier
from earnest.foundation.text import head_tail
from earnest.runtime.order import Grants, request_order
from earnest.runtime.run_book import read_kept
from earnest.testing.model_server import ModelServer, ReceivedRequest, ScriptedReply, WireFault, answers, by_prompt

from .worded import BUDGET, MACHINE_CHECKED, SPEC, settings_at

ASKS = answers({**SPEC, "questions": ["Into which file?", "In which language?"]})


class Person:
    """Answers as told, and remembers what was asked."""

    def __init__(self, *said: str) -> None:
        self._said = said
        self.asked: list[tuple[str, ...]] = []

    async def ask(self, questions: Sequence[str], /) -> Sequence[str]:
        self.asked.append(tuple(questions))
        return self._said


async def _killed_after_the_answers(home: Path, person: Clarifier) -> str:
    """Begin a run and end its process while R1's second question to its model is open. Gives the run's id."""
    heard = asyncio.Event()

    def hangs(_: ReceivedRequest) -> ScriptedReply:
        heard.set()
        return ScriptedReply(fault=WireFault.HANG_BEFORE_HEADERS)

    async with (
        ModelServer(by_prompt(perceiver=[ASKS, hangs])) as server,
        open_platform(settings_at(home, server), clarifier=person) as platform,
    ):
        run_id = await platform.runs.begin(request_order("write hello", BUDGET, home.parent, Grants()))
        working = asyncio.create_task(platform.runs.work(run_id))
        await asyncio.wait_for(heard.wait(), 60)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return run_id


@pytest.mark.parametrize("attended", [True, False])
async def test_a_resumed_run_asks_nobody_again_and_goes_on_with_what_was_answered(
    attended: bool, tmp_path: Path
) -> None:
    home, first, second = tmp_path / "home", Person("into a.txt", ""), Person("somewhere else")
    run_id = await _killed_after_the_answers(home, first)
    assert first.asked == [("Into which file?", "In which language?")]

    async with ModelServer(by_prompt(**{**MACHINE_CHECKED, "perceiver": answers(SPEC)})) as server:
        async with open_platform(settings_at(home, server), clarifier=second if attended else None) as platform:
            result = await asyncio.wait_for(platform.runs.work(run_id), 60)
        told = next(request.prompt for request in server.chats if request.prompt_name == "perceiver")
    assert result.directive is MacroState.ACCEPT, result
    assert second.asked == []
    assert "Into which file?\ninto a.txt" in told
    assert sum(request.prompt_name == "perceiver" for request in server.chats) == 1


async def test_an_endless_answer_is_cut_before_it_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run_id = await _killed_after_the_answers(home, Person("x" * 10**6, "y", "never asked for"))
    with closing(ReadPool.open_reader(places.books(home))) as books:
        outcomes = books.read_sync(lambda reader: read_kept(reader, run_id)).outcomes
    assert outcomes["clarified"]["questions"] == ["Into which file?", "In which language?"]
    assert outcomes["clarified"]["answers"] == [head_tail("x" * 10**6), "y"]
