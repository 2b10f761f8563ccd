"""Is what a model calls the same answer as what another says in text, and is it told the same?"""

from pathlib import Path

import pytest
from scripted_mind import ScriptedModel, ScriptedTools
from test_model_executor import DONE, ORDER, mind, shell

from earnest.effects.hands.tools.toolbox import built_in
from earnest.effects.outside.llm.answers import NoAnswer
from earnest.effects.outside.llm.api import MessageRole, NativeCall
from earnest.engine.model.calling import ToolOffer, answer_of, as_called, functions_of
from earnest.foundation.canonical import JsonObject
from earnest.runtime.minds_of_models import offers_of
from earnest.runtime.order import Grants

OFFERS = offers_of(built_in())
PARAMETERS = {one.name: one.parameters for one in functions_of(OFFERS)}
REACH = ("timeout_s", "network", "writes")
BOTH: JsonObject = {
    "calls": [
        {"tool": "shell", "args": {"command": "ls"}, "network": True, "timeout_s": 5, "writes": ["/a"]},
        {"tool": "write_file", "args": {"path": "x", "content": "é"}},
        {"tool": "read_file", "args": {"path": "x"}},
    ],
    "done": {"status": "completed", "output": "it is done"},
}
CLAIM: JsonObject = {"impossible": {"kind": "file", "name": "a", "because": "gone", "record": "call 1"}}


@pytest.mark.parametrize("answer", [BOTH, CLAIM, {}])
def test_what_is_called_reads_as_the_answer_in_text(answer: JsonObject) -> None:
    assert answer_of(as_called(answer, 1), PARAMETERS) == answer


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [("rm", "{}", "rm is none of"), ("shell", "[1]", "no JSON object"), ("shell", '{"a": 1, "a": 2}', "twice")],
)
def test_what_cannot_be_read_is_no_answer(name: str, arguments: str, why: str) -> None:
    with pytest.raises(NoAnswer, match=why):
        answer_of([NativeCall(id="1", name=name, arguments=arguments)], PARAMETERS)


def test_a_call_without_arguments_has_none() -> None:
    assert answer_of([NativeCall(id="1", name="glob", arguments="")], PARAMETERS) == {
        "calls": [{"tool": "glob", "args": {}}]
    }


def test_only_what_may_reach_out_is_offered_to() -> None:
    reach = {name: {"timeout_s", "network", "writes"} & {*form["properties"]} for name, form in PARAMETERS.items()}  # type: ignore[misc]
    assert reach["shell"] == {"timeout_s", "network", "writes"}
    assert reach["write_file"] == reach["read_file"] == set()


@pytest.mark.parametrize(
    ("grants", "reach"),
    [
        (Grants(), {"timeout_s"}),
        (Grants(network=True), {"timeout_s", "network"}),
        (Grants(write=(Path("/srv"),)), {"timeout_s", "writes"}),
        (Grants(approved=("rm x",)), {"timeout_s", "network", "writes"}),
    ],
)
def test_what_nobody_could_grant_is_not_offered(grants: Grants, reach: set[str]) -> None:
    told = offers_of(built_in(), grants, attended=False)
    assert {one.reach for one in told if one.name == "shell"} == {tuple(sorted(reach, key=REACH.index))}
    assert set(offers_of(built_in(), attended=True)[-1].reach) == set(REACH)


def test_the_end_says_what_both_ends_of_the_text_say() -> None:
    done = PARAMETERS["done"]["properties"]
    assert isinstance(done, dict)
    assert done.keys() == {"status", "output", "reason", "kind", "name", "record"}
    odd = NativeCall(id="1", name="done", arguments='{"status": "impossible", "output": "gone", "kind": "file"}')
    assert answer_of([odd], PARAMETERS) == {
        "impossible": {"kind": "file", "name": None, "record": None, "because": "gone"}
    }


@pytest.mark.parametrize("name", ["done", "a b", "x" * 65])
def test_a_tool_that_no_endpoint_can_name_leaves_all_to_text(name: str) -> None:
    assert functions_of([ToolOffer(name=name, purpose="", args={})]) == ()


async def test_each_call_is_answered_by_its_record_and_one_that_was_not_made_says_so() -> None:
    calls = [shell("wc a"), shell("fail"), shell("wc b")]
    model = ScriptedModel({"calls": calls, "done": DONE}, {"done": DONE})
    await mind().execute(ORDER, None, ScriptedTools(), model)
    native = model.asked[1].native
    assert native is not None
    opening, said, *told, remarks = native.messages[1:]
    assert "tools, best first" not in opening.text
    assert "tools, best first" in model.asked[1].messages[1].text
    assert [call.name for call in said.calls] == ["shell", "shell", "shell", "done"]
    assert [(one.role, one.answers) for one in told] == [(MessageRole.TOOL, call.id) for call in said.calls]
    assert told[0].text.startswith("call 1 succeeded")
    assert "failed, exit_code" in told[1].text
    assert [one.text for one in told[2:]] == ["It was not made."] * 2
    assert "does not count" in remarks.text
    assert len({call.id for call in said.calls}) == 4
