"""Does a task that cannot be done end at once and say why, and is nobody believed who only says so?"""

from pathlib import Path

import pytest

from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.foundation.canonical import JsonObject
from earnest.testing.model_server import ModelServer, ScriptedReply, answers, by_prompt

from .worded import DONE, MACHINE_CHECKED, SPEC, plan, work, writing

WORDS = "sum up sales.csv into a.txt with quuxconvert"
NEEDS = answers({**SPEC, "needs": ["sales.csv", "quuxconvert"]})
LAST = answers({"summary": "It is not there.", "next_moves": []})


def impossible(kind: str, name: str, record: str = "surroundings") -> ScriptedReply:
    claim: JsonObject = {"kind": kind, "name": name, "because": "I found none", "record": record}
    return answers({"impossible": claim})


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [("file", "sales.csv"), ("program", "quuxconvert")])
async def test_a_planner_that_names_what_is_missing_ends_the_run_in_three_calls(
    kind: str, name: str, tmp_path: Path
) -> None:
    script = {"perceiver": NEEDS, "planner": impossible(kind, name), "graceful": LAST}
    async with ModelServer(by_prompt(**script)) as server:
        result = (await work(tmp_path / "home", server, WORDS)).result
        assert (result.directive, result.cause) == (MacroState.ABANDON, AbandonCause.IMPOSSIBLE)
        assert name in result.summary
        assert result.next_moves
        assert len(server.chats) == 3


@pytest.mark.slow
async def test_an_executor_that_looked_ends_the_run_within_six_calls(tmp_path: Path) -> None:
    look = answers({"calls": [{"tool": "read_file", "args": {"path": "sales.csv"}}]})
    works = [look, impossible("file", "sales.csv", "call 1")]
    script = {**MACHINE_CHECKED, "perceiver": NEEDS, "executor": works, "graceful": LAST}
    async with ModelServer(by_prompt(**script)) as server:
        result = (await work(tmp_path / "home", server, WORDS)).result
        assert (result.directive, result.cause, result.round) == (MacroState.ABANDON, AbandonCause.IMPOSSIBLE, 1)
        assert "sales.csv" in result.summary
        assert len(server.chats) <= 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("file", "a.txt"),  # what the work is to make
        ("file", "budget.csv"),  # of which nobody spoke
        ("program", "python3"),
        ("network", "network"),
        ("criteria", "C1, C2"),
    ],
)
async def test_whoever_lies_about_it_is_not_believed(kind: str, name: str, tmp_path: Path) -> None:
    script = {
        **MACHINE_CHECKED,
        "perceiver": NEEDS,
        "planner": [impossible(kind, name), plan("a.txt")],
        "executor": [writing("a.txt"), DONE],
    }
    async with ModelServer(by_prompt(**script)) as server:
        result = (await work(tmp_path / "home", server, WORDS)).result
        assert result.directive is MacroState.ACCEPT, result.summary


@pytest.mark.slow
async def test_a_planner_that_overlooks_what_is_missing_is_told_once(tmp_path: Path) -> None:
    planner = [plan("a.txt"), impossible("file", "sales.csv")]
    async with ModelServer(by_prompt(perceiver=NEEDS, planner=planner, graceful=LAST)) as server:
        result = (await work(tmp_path / "home", server, WORDS)).result
        assert result.cause is AbandonCause.IMPOSSIBLE
        assert len(server.chats) == 4
        assert "there is no sales.csv" in server.chats[2].prompt


@pytest.mark.slow
@pytest.mark.parametrize(("needs", "drafts"), [(["sales.csv"], 2), (["a.txt", "python3"], 1)])
async def test_a_planner_may_know_better_than_who_read_the_request(
    needs: list[str], drafts: int, tmp_path: Path
) -> None:
    words = "sum up sales.csv into a.txt with python3"
    perceiver = answers({**SPEC, "needs": list(needs)})
    async with ModelServer(by_prompt(**{**MACHINE_CHECKED, "perceiver": perceiver})) as server:
        assert (await work(tmp_path / "home", server, words)).result.directive is MacroState.ACCEPT
        assert [request.prompt_name for request in server.chats].count("planner") == drafts


async def test_a_file_that_is_there_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("1\n")
    script = {**MACHINE_CHECKED, "perceiver": NEEDS, "planner": [impossible("file", "sales.csv"), plan("a.txt")]}
    async with ModelServer(by_prompt(**script)) as server:
        assert (await work(tmp_path / "home", server, WORDS)).result.directive is MacroState.ACCEPT
