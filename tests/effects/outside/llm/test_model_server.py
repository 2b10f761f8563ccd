"""Does the scripted endpoint keep to its script, whoever asks it in whatever order?"""

import asyncio

import pytest

from earnest.effects.ground.clock import SeededChance, SystemClock
from earnest.effects.outside.llm.api import Endpoint, Finish, Message, MessageRole
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.testing.model_server import (
    ModelServer,
    ReceivedRequest,
    ScriptedReply,
    answers,
    by_prompt,
    cut_short,
    says,
)

SCHEMA: JsonObject = {"type": "object", "required": ["plan"]}


async def ask(server: ModelServer, prompt: str, schema: JsonObject | None = None) -> str:
    model = OpenAICompatible(Endpoint(base_url=server.base_url, model="m"), clock=SystemClock(), chance=SeededChance())
    system = Message(role=MessageRole.SYSTEM, text=f"{prompt}\nBe short.")
    completion = await model.complete(
        [system, Message(role=MessageRole.USER, text="prompt: judge@1")], call_id="c", schema=schema
    )
    return completion.text


async def test_each_prompt_plays_its_own_script_whose_last_entry_is_repeated() -> None:
    script = by_prompt(planner=[says("first"), says("second")], executor=lambda request: says(request.prompt_name))
    async with ModelServer(script) as server:
        heard = [await ask(server, f"prompt: {name}@2") for name in ("planner", "executor", "planner", "planner")]
    assert heard == ["first", "executor", "second", "second"]


@pytest.mark.parametrize("first_line", ["prompt: judge@1", "prompt: planner", "planner@1", "Hello, prompt: planner@1"])
async def test_a_prompt_that_is_not_scripted_is_refused_once(first_line: str) -> None:
    async with ModelServer(by_prompt(planner=says("x"))) as server:
        with pytest.raises(Unavailable, match="nothing is scripted"):
            await ask(server, first_line)
    assert len(server.chats) == 1


async def test_a_behaviour_sees_the_schema_that_was_asked_for() -> None:
    def fits(request: ReceivedRequest) -> ScriptedReply:
        assert request.schema is not None
        return answers(dict.fromkeys(request.schema["required"], 1))  # type: ignore[arg-type]

    async with ModelServer(fits) as server:
        assert await ask(server, "prompt: planner@1", SCHEMA) == '{"plan": 1}'


async def test_an_answer_waits_for_its_event_and_holds_nobody_else_up() -> None:
    leave = asyncio.Event()
    async with ModelServer(ScriptedReply(text="late", after=leave), says("early")) as server:
        late = asyncio.create_task(ask(server, "prompt: planner@1"))
        await asyncio.wait_for(server.asked.wait(), 10)
        assert await ask(server, "prompt: planner@1") == "early"
        assert not late.done()
        leave.set()
        assert await late == "late"


def test_half_an_object_ends_because_of_its_length() -> None:
    reply = cut_short({"a": 1})
    assert (reply.text, reply.finish) == ('{"a"', Finish.LENGTH)
