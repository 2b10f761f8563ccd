"""Does a user's word reach the next plan, before the work begins and while it is worked, and is it kept?"""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from earnest.app import places
from earnest.app.platform import Platform, open_platform
from earnest.effects.ground.storage.reader import ReadPool
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.messages import PlanReady, Remarked
from earnest.foundation.errors import Waits
from earnest.runtime.order import Grants, request_order
from earnest.runtime.run_book import read_kept
from earnest.testing.model_server import Behaviour, ModelServer, ReceivedRequest, ScriptedReply, WireFault, by_prompt

from .worded import BUDGET, DONE, MACHINE_CHECKED, Script, plan, settings_at, work, writing


class User:
    """Amends promises as told, and remembers what was shown."""

    def __init__(self, *words: str | None) -> None:
        self._words = iter(words)
        self.shown: list[PlanReady] = []

    async def amends(self, plan: PlanReady) -> str | None:
        self.shown.append(plan)
        return next(self._words, "")


def asked(server: ModelServer, prompt: str) -> list[str]:
    return [request.prompt for request in server.chats if request.prompt_name == prompt]


async def begun(platform: Platform, home: Path) -> str:
    return await platform.runs.begin(request_order("write hello", BUDGET, home.parent, Grants()))


async def test_a_promise_is_amended_until_the_user_lets_it_begin(tmp_path: Path) -> None:
    home, user = tmp_path / "home", User("greet in b.txt, too", "strike a.txt")
    drafts = [plan("a.txt"), plan("a.txt", "b.txt"), plan("b.txt")]
    script = {**MACHINE_CHECKED, "planner": drafts, "executor": [writing("b.txt"), DONE]}
    async with (
        ModelServer(by_prompt(**script)) as server,
        open_platform(settings_at(home, server), promisee=user) as platform,
    ):
        run_id = await begun(platform, home)
        result = await asyncio.wait_for(platform.runs.work(run_id), 60)
    assert result.directive is MacroState.ACCEPT, result
    assert [plan.remarks for plan in user.shown] == [0, 1, 2]
    assert [[one.text for one in plan.task_criteria] for plan in user.shown][2] == ["b.txt holds the greeting"]
    told = asked(server, "planner")
    assert "greet in b.txt, too" not in told[0]
    assert "greet in b.txt, too" in told[1]
    assert "a.txt holds the greeting" in told[1]  # the draft that the words are about
    assert told[2].index("greet in b.txt, too") < told[2].index("strike a.txt")
    assert len(asked(server, "executor")) == 2  # nothing was begun before
    with closing(ReadPool.open_reader(places.books(home))) as books:
        kept = books.read_sync(lambda reader: read_kept(reader, run_id))
    assert [one.payload for one in kept.messages.values() if isinstance(one.payload, Remarked)] == [
        Remarked(text="greet in b.txt, too"),
        Remarked(text="strike a.txt"),
    ]


@pytest.mark.parametrize("attended", [True, False])
async def test_a_resumed_run_goes_on_with_the_amended_promise(attended: bool, tmp_path: Path) -> None:
    home, first, second = tmp_path / "home", User("b.txt instead"), User("c.txt instead")
    at_work = asyncio.Event()

    def hangs(_: ReceivedRequest) -> ScriptedReply:
        at_work.set()
        return ScriptedReply(fault=WireFault.HANG_BEFORE_HEADERS)

    script = {**MACHINE_CHECKED, "planner": [plan("a.txt"), plan("b.txt")], "executor": hangs}
    async with (
        ModelServer(by_prompt(**script)) as server,
        open_platform(settings_at(home, server), promisee=first) as platform,
    ):
        run_id = await begun(platform, home)
        working = asyncio.create_task(platform.runs.work(run_id))
        await asyncio.wait_for(at_work.wait(), 60)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    async with (
        ModelServer(by_prompt(executor=[writing("b.txt"), DONE])) as server,
        open_platform(settings_at(home, server), promisee=second if attended else None) as platform,
    ):
        result = await asyncio.wait_for(platform.runs.work(run_id), 60)
    assert result.directive is MacroState.ACCEPT, result
    assert second.shown == []
    assert (platform.runs.workspace_of(run_id) / "b.txt").exists()


async def test_who_leaves_before_it_begins_is_asked_again_when_it_is_resumed(tmp_path: Path) -> None:
    home, user = tmp_path / "home", User(None, "")
    async with (
        ModelServer(by_prompt(**MACHINE_CHECKED)) as server,
        open_platform(settings_at(home, server), promisee=user) as platform,
    ):
        run_id = await begun(platform, home)
        with pytest.raises(Waits, match="nobody has said yet"):
            await platform.runs.work(run_id)
        assert not asked(server, "executor")
        result = await asyncio.wait_for(platform.runs.work(run_id), 60)
    assert result.directive is MacroState.ACCEPT, result
    assert len(user.shown) == 2


async def test_nobody_there_changes_nothing(tmp_path: Path) -> None:
    async with ModelServer(by_prompt(**MACHINE_CHECKED)) as server:
        worked = await work(tmp_path / "home", server)
    with closing(ReadPool.open_reader(places.books(tmp_path / "home"))) as books:
        kept = books.read_sync(lambda reader: read_kept(reader, worked.run_id))
    assert not [key for key in kept.outcomes if key.startswith("promise/")]


def saying(
    platform_of: list[Platform], run_of: list[str], words: str, reply: ScriptedReply
) -> Callable[..., ScriptedReply]:
    """The user says something while a model answers."""

    def play(_: ReceivedRequest) -> ScriptedReply:
        assert platform_of[0].runs.remark(run_of[0], words)
        return reply

    return play


async def test_a_remark_reaches_the_next_round_and_may_move_the_goal(tmp_path: Path) -> None:
    home, platforms, runs = tmp_path / "home", list[Platform](), list[str]()
    wrong = saying(platforms, runs, "b.txt would do", writing("a.txt", "no greeting"))
    executor: list[Behaviour] = [wrong, DONE, DONE, DONE, writing("b.txt"), DONE]
    script: Script = {**MACHINE_CHECKED, "planner": [plan("a.txt"), plan("b.txt")], "executor": executor}
    async with ModelServer(by_prompt(**script)) as server, open_platform(settings_at(home, server)) as platform:
        platforms.append(platform)
        heard: list[object] = []
        platform.bus.tap("test", lambda envelope: heard.append(envelope.payload))
        runs.append(await begun(platform, home))
        result = await asyncio.wait_for(platform.runs.work(runs[0]), 60)
    first, second = (one for one in heard if isinstance(one, PlanReady))
    assert (first.remarks, second.remarks) == (0, 1)
    assert result.directive is MacroState.ACCEPT, result
    assert [one.text for one in second.task_criteria] == ["b.txt holds the greeting"]
    assert "b.txt would do" in asked(server, "planner")[1]
    assert not platform.runs.remark(runs[0], "too late")
