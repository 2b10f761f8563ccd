"""Does the model client bring home whole answers, and end every other story with `Unavailable`, in time?"""

import asyncio
import contextlib
import json
import socket
import sys
from dataclasses import replace
from email.utils import formatdate

import pytest

from earnest.effects.ground.clock import SeededChance, SystemClock
from earnest.effects.outside.llm.api import Completion, CompletionLimits, Endpoint, Finish, Message, MessageRole
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.testing.model_server import (
    Behaviour,
    Counting,
    ModelServer,
    ReceivedRequest,
    ScriptedReply,
    WireFault,
    calls_tools,
    fails,
    huge,
    invalid_json,
    invalid_utf8,
    refused_url,
    says,
)

SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}}}
LIMITS = CompletionLimits(silence_ms=10_000, deadline_ms=20_000, answer_bytes=100_000)
MESSAGES = (Message(role=MessageRole.SYSTEM, text="Be short."), Message(role=MessageRole.USER, text="Hello?"))


class Unsleeping(SystemClock):
    """Time passes, but nobody waits for it."""

    def __init__(self) -> None:
        self.slept: list[int] = []

    async def sleep_ms(self, duration_ms: int) -> None:
        self.slept.append(duration_ms)


def model_at(base_url: str, clock: SystemClock | None = None, key: str = "") -> OpenAICompatible:
    endpoint = Endpoint(base_url=base_url, model="scripted", api_key=key)
    return OpenAICompatible(endpoint, clock=clock or Unsleeping(), chance=SeededChance())


async def ask(server: ModelServer, limits: CompletionLimits = LIMITS, **options: object) -> Completion:
    return await model_at(server.base_url).complete(MESSAGES, call_id="c1", limits=limits, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("streams", [True, False])
async def test_an_answer_comes_home_streamed_or_in_one_piece(streams: bool) -> None:
    async with ModelServer(ScriptedReply(text="Good day, and ü.", piece_characters=3, streams=streams)) as server:
        answer = await ask(server)
    assert (answer.text, answer.finish, answer.model) == ("Good day, and ü.", Finish.STOP, "scripted")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 4)
    assert (answer.call_id, answer.endpoint) == ("c1", server.base_url)


@pytest.mark.parametrize("streams", [True, False])
async def test_an_answer_that_is_heard_is_no_other_and_one_that_broke_off_is_taken_back(streams: bool) -> None:
    reply = ScriptedReply(text="Good day, and ü.", piece_characters=3, streams=streams)
    heard: list[str | None] = []
    fault = WireFault.TRUNCATED if streams else WireFault.RESET
    async with ModelServer(replace(reply, fault=fault), reply, reply) as server:
        loud, quiet = await ask(server, hear=heard.append), await ask(server)
    assert loud == quiet
    before = heard.index(None)
    assert heard.count(None) == 1
    assert "".join(map(str, heard[before + 1 :])) == loud.text
    assert loud.text.startswith("".join(map(str, heard[:before])))
    assert before > 1 or not streams


@pytest.mark.parametrize("counting", list(Counting))
async def test_tokens_are_those_that_the_endpoint_counted_wherever_it_tells_them(counting: Counting) -> None:
    async with ModelServer(ScriptedReply(text="x" * 100, tokens=(1_234, 56), counting=counting)) as server:
        usage = (await ask(server)).usage
        assert (usage.prompt_tokens, usage.completion_tokens) == server.counted
    assert usage.counted is (counting is not Counting.NEVER)


async def test_connections_are_kept_between_calls_where_somebody_ends_them() -> None:
    async with ModelServer(says("hello")) as server:
        for call in ("c1", "c2"):
            await model_at(server.base_url).complete(MESSAGES, call_id=call)
        assert server.connections == 2
        async with model_at(server.base_url) as model:
            answers = [await model.complete(MESSAGES, call_id=f"d{call}") for call in range(3)]
    assert server.connections == 3
    assert [answer.call_id for answer in answers] == ["d0", "d1", "d2"]
    assert [chat.headers["x-client-request-id"] for chat in server.chats] == ["c1", "c2", "d0", "d1", "d2"]


async def test_many_calls_at_once_share_no_bound_and_no_answer() -> None:
    def repeats(request: ReceivedRequest) -> ScriptedReply:
        return says(request.headers["x-client-request-id"] * 2)

    async with ModelServer(repeats) as server, model_at(server.base_url) as model:
        limits = [replace(LIMITS, answer_bytes=900 if call % 2 else 1) for call in range(32)]
        calls = [model.complete(MESSAGES, call_id=f"{call:02}", limits=limit) for call, limit in enumerate(limits)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [answer.text if isinstance(answer, Completion) else type(answer) for answer in answers] == [
        f"{call:02}" * 2 if call % 2 else Unavailable for call in range(32)
    ]


async def test_only_our_own_headers_are_sent() -> None:
    async with ModelServer() as server:
        await ask(server)
    assert dict(server.chats[0].headers).keys() == {
        "accept",
        "accept-encoding",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "x-client-request-id",
    }


@pytest.mark.parametrize("text", ["ä🙂", "\ud83d"])
async def test_whatever_a_message_holds_can_be_sent(text: str) -> None:
    async with ModelServer() as server:
        await model_at(server.base_url).complete([Message(role=MessageRole.USER, text=text)], call_id="c1")
    assert server.chats[0].body["messages"] == [{"role": "user", "content": text}]


async def test_a_complaint_is_shown_short_and_harmless() -> None:
    async with ModelServer(ScriptedReply(status=422, text="too \x1b[2Jlong " + "x" * 5_000)) as server:
        with pytest.raises(Unavailable, match=r"status 422: too .*long x+ \(its own log says more\)") as caught:
            await ask(server)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])  # some libraries keep cookies of names alone
async def test_what_an_endpoint_wants_remembered_is_not(host: str) -> None:
    async with ModelServer(ScriptedReply(text="x", headers={"Set-Cookie": "who=you"})) as server:
        async with model_at(server.base_url.replace("127.0.0.1", host)) as model:
            for call in ("c1", "c2"):
                await model.complete(MESSAGES, call_id=call)
        assert all("cookie" not in chat.headers for chat in server.chats)


async def test_a_kept_connection_that_the_endpoint_closed_is_replaced() -> None:
    async with ModelServer(ScriptedReply(text="x", headers={"Connection": "close"})) as server:
        async with model_at(server.base_url) as model:
            for call in ("c1", "c2"):
                await model.complete(MESSAGES, call_id=call, limits=LIMITS)
        assert server.connections == 2


async def test_an_unstreamed_answer_may_take_longer_than_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    said = asyncio.Event()
    loop = asyncio.get_running_loop()
    time = loop.time
    async with ModelServer(ScriptedReply(text="slow", streams=False, after=said)) as server:
        call = asyncio.create_task(model_at(server.base_url).complete(MESSAGES, call_id="c1"))
        await asyncio.wait_for(server.asked.wait(), 10)
        monkeypatch.setattr(loop, "time", lambda: time() + 170)  # every timer up to there is due now
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        said.set()
        assert (await call).text == "slow"


async def test_an_answer_cut_at_its_length_says_so() -> None:
    async with ModelServer(ScriptedReply(text="Good", finish="length")) as server:
        assert (await ask(server)).finish is Finish.LENGTH


async def test_a_tool_call_nobody_asked_for_is_no_whole_answer() -> None:
    async with ModelServer(calls_tools(("shell", {"command": "true"}))) as server:
        answer = await ask(server)
    assert (answer.text, answer.finish) == ("", Finish.OTHER)


async def test_keys_and_headers_of_the_environment_stay_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "OPENAI_API_KEY": "ambient-1",
        "OPENAI_ADMIN_KEY": "ambient-2",
        "OPENAI_ORG_ID": "ambient-3",
        "OPENAI_PROJECT_ID": "ambient-4",
        "OPENAI_CUSTOM_HEADERS": "X-Secret: ambient-5\nAuthorization: Bearer ambient-6",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/ambient-7",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    async with ModelServer() as server:
        await ask(server)
        await model_at(server.base_url, key="ours").complete(MESSAGES, call_id="c2")
    without, with_key = server.chats
    assert "ambient" not in json.dumps([dict(without.headers), dict(with_key.headers)])
    assert "authorization" not in without.headers
    assert with_key.headers["authorization"] == "Bearer ours"
    assert with_key.headers["x-client-request-id"] == "c2"


@pytest.mark.parametrize(
    ("formats", "kinds"),
    [
        ({"json_schema", "json_object"}, ["json_schema", "json_schema"]),
        ({"json_object"}, ["json_schema", "json_object", "json_object"]),
        (set[str](), ["json_schema", "json_object", None, None]),
    ],
)
async def test_the_strictest_form_that_an_endpoint_takes_is_found_once(
    formats: set[str], kinds: list[str | None]
) -> None:
    async with ModelServer(formats=frozenset(formats)) as server:
        model = model_at(server.base_url)
        for call in ("c1", "c2"):
            await model.complete(MESSAGES, call_id=call, schema=SCHEMA)
    asked = [chat.body.get("response_format") for chat in server.chats]
    assert [wanted["type"] if isinstance(wanted, dict) else None for wanted in asked] == kinds
    last = server.chats[-1]
    assert ('"integer"' in last.prompt) is (kinds[-1] != "json_schema")
    roles = [message["role"] for message in last.body["messages"]]  # type: ignore[index,union-attr,call-overload]
    assert roles == ["system", "user"]


async def test_an_endpoint_that_takes_no_temperature_is_not_given_one() -> None:
    def picky(request: object) -> ScriptedReply:
        return ScriptedReply(status=400, headers={}) if "temperature" in request.body else says("fine")  # type: ignore[attr-defined]

    async with ModelServer(picky) as server:
        assert (await ask(server)).text == "fine"


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ("stream_options", "Extra inputs are not permitted: stream_options"),
    ],
)
async def test_an_option_that_an_endpoint_does_not_know_is_left_out_and_nothing_else(
    option: str, complaint: str
) -> None:
    def picky(request: ReceivedRequest) -> ScriptedReply:
        return ScriptedReply(status=400, text=complaint) if option in request.body else says("fine")

    async with ModelServer(picky) as server:
        model = model_at(server.base_url)
        for call in ("c1", "c2"):
            await model.complete(MESSAGES, call_id=call, schema=SCHEMA, limits=replace(LIMITS, answer_tokens=9))
    first, *others = (chat.body for chat in server.chats)
    assert len(others) == 2
    assert all(set(first) - set(other) == {option} for other in others)
    assert all(other["response_format"] == first["response_format"] for other in others)


async def test_a_busy_endpoint_is_asked_again_when_it_said() -> None:
    clock = Unsleeping()
    async with ModelServer(fails(429, retry_after="2"), fails(503), says("at last")) as server:
        answer = await model_at(server.base_url, clock).complete(MESSAGES, call_id="c1", limits=LIMITS)
    assert answer.text == "at last"
    first, second = clock.slept
    assert 2_000 <= first < 2_500
    assert 500 <= second <= 1_000


async def test_a_wait_longer_than_the_deadline_is_not_begun() -> None:
    clock = Unsleeping()
    date = formatdate((clock.now_ms() + 3_600_000) / 1000, usegmt=True)
    async with ModelServer(fails(429, retry_after=date)) as server:
        with pytest.raises(Unavailable) as caught:
            await model_at(server.base_url, clock).complete(MESSAGES, call_id="c1", limits=LIMITS)
    assert caught.value.retry_after_ms is not None
    assert 3_500_000 < caught.value.retry_after_ms <= 3_600_000
    assert clock.slept == []


@pytest.mark.parametrize(
    ("reply", "asked", "part"),
    [
        (fails(500), 3, "status 500"),
        (fails(429), 3, "busy"),
        (fails(401), 1, "API key"),
        (fails(302), 1, "status 302"),
        (ScriptedReply(status=500, text="x" * 70_000), 3, "status 500"),
        (ScriptedReply(fault=WireFault.RESET), 3, "broke off"),
        (ScriptedReply(text="x" * 400, fault=WireFault.TRUNCATED), 3, "broke off"),
        (ScriptedReply(text="x" * 400, fault=WireFault.UNFINISHED), 3, "in the middle"),
        (ScriptedReply(text="x", content_type="text/html"), 1, "text/html"),
        (ScriptedReply(text="x", headers={"Content-Encoding": "gzip"}), 1, "compressed"),
        (huge(200_000), 1, "more than 100000 bytes"),
        (invalid_utf8(), 1, "no answer"),
        (invalid_json(), 1, "no answer"),
        (ScriptedReply(raw=b"data: 7\n\n"), 1, "no answer"),
        (ScriptedReply(raw=b'data: {"choices": 7}\n\n'), 1, "no answer"),
        (ScriptedReply(raw=b'data: {"choices": [{"index": 0, "delta": {"content": [1]}}]}\n\n'), 1, "no answer"),
        (ScriptedReply(raw=b'data: {"error": {"message": "out of \x1b[2J memory"}}\n\n'), 1, "no answer"),
        (ScriptedReply(raw=b'data: {"error": {"message": "out of memory"}}\n\n'), 1, "out of memory"),
        (ScriptedReply(raw=b"{}", streams=False), 1, "no answer"),
        (ScriptedReply(raw=b'{"choices": []}', streams=False), 1, "no answer"),
    ],
)
async def test_what_is_no_answer_is_unavailable(reply: Behaviour, asked: int, part: str) -> None:
    async with ModelServer(reply) as server:
        with pytest.raises(Unavailable, match=part):
            await ask(server)
    assert len(server.chats) == asked


@pytest.mark.parametrize("fault", [WireFault.HANG_BEFORE_HEADERS, WireFault.HANG_AFTER_HEADERS])
async def test_silence_is_waited_for_only_so_long(fault: WireFault) -> None:
    async with ModelServer(ScriptedReply(fault=fault)) as server:
        with pytest.raises(Unavailable, match=r"said nothing for 0.2 s"):
            await ask(server, CompletionLimits(silence_ms=200))
        await asyncio.wait_for(server.disconnected.wait(), 10)


async def test_an_endless_slow_answer_ends_at_the_deadline() -> None:
    async with ModelServer(ScriptedReply(text="x" * 1_000, piece_characters=1, pause_ms=20)) as server:
        with pytest.raises(Unavailable, match=r"within 0.5 s"):
            await ask(server, CompletionLimits(silence_ms=10_000, deadline_ms=500))


@pytest.mark.slow
async def test_a_slow_answer_longer_than_the_silence_is_waited_for() -> None:
    async with ModelServer(ScriptedReply(text="x" * 50, piece_characters=1, pause_ms=30)) as server:
        assert (await ask(server, CompletionLimits(silence_ms=1_000))).text == "x" * 50


async def test_cancelling_closes_the_connection() -> None:
    async with ModelServer(ScriptedReply(fault=WireFault.HANG_AFTER_HEADERS)) as server:
        call = asyncio.create_task(ask(server))
        await asyncio.wait_for(server.asked.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.disconnected.wait(), 10)


async def test_nobody_listening_is_said_plainly() -> None:
    with pytest.raises(Unavailable, match=r"cannot be reached.*base URL"):
        await model_at(refused_url()).complete(MESSAGES, call_id="c1", limits=LIMITS)


async def test_an_endpoint_that_takes_no_connection_is_given_up_after_a_few_short_tries() -> None:
    """A listener whose queue is full lets further callers wait."""
    clock, waiting = Unsleeping(), list[socket.socket]()
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting.append(stack.enter_context(socket.socket()))
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(listener.getsockname())
        model = model_at(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", clock)
        with pytest.raises(Unavailable, match=r"did not accept a connection within 0.1 s"):
            await model.complete(MESSAGES, call_id="c1", limits=replace(LIMITS, connect_ms=100, attempts=2))
    assert len(clock.slept) == 1


@pytest.mark.parametrize("base_url", ["", "no address", "ftp://x/v1", "http://[::1", "http://127.0.0.1:99999/v1"])
async def test_an_address_that_is_none_is_unavailable_too(base_url: str) -> None:
    with pytest.raises(Unavailable):
        await model_at(base_url).complete(MESSAGES, call_id="c1", limits=LIMITS)


async def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    monkeypatch.delitem(sys.modules, "earnest.effects.outside.llm.openai_client", raising=False)
    with pytest.raises(Unavailable, match=r"earnest\[models\]"):
        await model_at(refused_url()).complete(MESSAGES, call_id="c1")
