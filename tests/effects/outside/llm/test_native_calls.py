"""Are tools called in the endpoint's own form where it knows one, and in text where it does not?"""

from dataclasses import replace

import pytest

from earnest.effects.ground.clock import SeededChance, SystemClock
from earnest.effects.outside.llm.api import (
    Completion,
    CompletionLimits,
    Endpoint,
    Finish,
    Function,
    Message,
    MessageRole,
    Native,
    NativeCall,
)
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.testing.model_server import ModelServer, ScriptedReply, answers, calls_tools, fails, says

SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}}}
LIMITS = CompletionLimits(silence_ms=10_000, deadline_ms=20_000, answer_bytes=100_000, attempts=1)
ASKED = (Message(role=MessageRole.USER, text="Answer in text."),)
CALL = NativeCall(id="call_1", name="shell", arguments='{"command":"ls"}')
NATIVE = Native(
    messages=(
        Message(role=MessageRole.USER, text="Call."),
        Message(role=MessageRole.ASSISTANT, text="", calls=(CALL,)),
        Message(role=MessageRole.TOOL, text="a.py", answers="call_1"),
    ),
    functions=(Function(name="shell", purpose="Run it.", parameters={"type": "object", "properties": {}}),),
)
TWO = calls_tools(("shell", {"command": "ls -l"}), ("done", {"status": "completed", "output": "two files, ü"}))


def model_at(server: ModelServer, **options: bool) -> OpenAICompatible:
    endpoint = Endpoint(base_url=server.base_url, model="scripted")
    return OpenAICompatible(endpoint, clock=SystemClock(), chance=SeededChance(), **options)


async def ask(model: OpenAICompatible) -> Completion:
    return await model.complete(ASKED, call_id="c1", schema=SCHEMA, limits=LIMITS, native=NATIVE)


@pytest.mark.parametrize("reply", [TWO, replace(TWO, piece_characters=1), replace(TWO, streams=False)])
async def test_calls_come_home_in_order_streamed_or_in_one_piece(reply: ScriptedReply) -> None:
    async with ModelServer(reply) as server:
        answer = await ask(model_at(server))
    assert answer.finish is Finish.CALLS
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("shell", '{"command": "ls -l"}'),
        ("done", '{"status": "completed", "output": "two files, \\u00fc"}'),
    ]


async def test_it_is_asked_in_that_form_with_calls_and_what_came_of_them() -> None:
    async with ModelServer(TWO) as server:
        await ask(model_at(server))
        body = server.chats[0].body
    assert "response_format" not in body
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "shell",
                "description": "Run it.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    function = {"name": "shell", "arguments": '{"command":"ls"}'}
    assert body["messages"] == [
        {"role": "user", "content": "Call."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "a.py", "tool_call_id": "call_1"},
    ]


async def test_an_endpoint_that_refuses_tools_is_asked_in_text_from_then_on() -> None:
    async with ModelServer(answers({"a": 1}), takes_tools=False) as server:
        model = model_at(server)
        assert [(await ask(model)).text for _ in range(2)] == ['{"a": 1}'] * 2
        assert ["tools" in chat.body for chat in server.chats] == [True, False, False]
        assert "response_format" in server.chats[-1].body


async def test_a_server_that_fails_over_tools_is_asked_in_text() -> None:
    script = [ScriptedReply(status=500, text="tools param requires --jinja flag"), answers({"a": 1})]
    async with ModelServer(*script) as server:
        assert (await ask(model_at(server))).text == '{"a": 1}'
        assert ["tools" in chat.body for chat in server.chats] == [True, False]


async def test_another_failure_says_nothing_about_tools() -> None:
    async with ModelServer(fails(503), TWO) as server:
        model = model_at(server)
        with pytest.raises(Unavailable):
            await ask(model)
        assert (await ask(model)).calls


async def test_a_model_that_answers_in_text_is_no_longer_offered_tools_unless_it_called_before() -> None:
    async with ModelServer(answers({"a": 1})) as server:
        model = model_at(server)
        await ask(model)
        await ask(model)
        assert ["tools" in chat.body for chat in server.chats] == [True, False]
    async with ModelServer(TWO, says("well"), TWO) as server:
        model = model_at(server)
        assert [len((await ask(model)).calls) for _ in range(3)] == [2, 0, 2]


async def test_where_it_is_switched_off_nothing_is_offered() -> None:
    async with ModelServer(answers({"a": 1})) as server:
        await ask(model_at(server, may_call=False))
        assert "tools" not in server.chats[0].body


@pytest.mark.parametrize("index", ["-1", "64", '"0"', "1.5"])
async def test_a_call_without_a_place_is_no_answer(index: str) -> None:
    called = f'{{"tool_calls": [{{"index": {index}, "id": "x", "function": {{}}}}]}}'
    event = f'data: {{"choices": [{{"index": 0, "delta": {called}}}]}}\n\n'
    async with ModelServer(ScriptedReply(raw=event.encode())) as server:
        with pytest.raises(Unavailable, match="no answer"):
            await ask(model_at(server))
