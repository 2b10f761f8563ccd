"""A scripted model endpoint that speaks the chat protocol over a real socket, well or badly.

`async with ModelServer(says("hello")) as server:` serves `server.base_url`; the script's last entry is repeated. An
entry is a `ScriptedReply`, or a function that makes one out of the request. What was asked stands in `server.requests`.

A whole run is scripted by its prompts, each of which plays a script of its own. Which prompt a request is made of
stands in the first line of its system message, as `prompt: planner@1`:

    ModelServer(by_prompt(perceiver=answers(spec), planner=[answers(first), answers(second)], executor=work))
"""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self, TypeAlias

from earnest.effects.ground.clock import Clock, SystemClock
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.testing.model_wire import REQUEST_BYTES_MAX, head_of, read_request, send

FORMATS: Final = frozenset({"json_schema", "json_object"})


class WireFault(StrEnum):
    """What goes wrong on the wire."""

    HANG_BEFORE_HEADERS = "hang_before_headers"
    HANG_AFTER_HEADERS = "hang_after_headers"
    RESET = "reset"
    """The connection is reset instead of an answer."""
    TRUNCATED = "truncated"
    """The connection ends after half of the answer."""
    UNFINISHED = "unfinished"
    """The answer ends in good order on the wire, but without its last part."""


class Counting(StrEnum):
    """Where a streamed answer tells its tokens; one in a single piece tells them unless it is `NEVER`."""

    LAST = "last"
    """In the last piece, which holds nothing else."""
    EVERY = "every"
    """In every piece, as they grow."""
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """What a client asked. `body` is empty for a request without one."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: JsonObject

    @property
    def prompt(self) -> str:
        """The texts of all messages."""
        messages = self.body.get("messages")
        assert isinstance(messages, list)
        return "\n".join(str(message["content"]) for message in messages)

    @property
    def prompt_name(self) -> str:
        """`planner` where the system message begins with the line `prompt: planner@1`; else empty."""
        found = re.match(r"prompt: (\w+)@\d+$", self.prompt, re.MULTILINE)
        return found[1] if found else ""

    @property
    def schema(self) -> JsonObject | None:
        """The schema of the answer, where it is asked for by schema."""
        wanted = self.body.get("response_format")
        named = wanted.get("json_schema") if isinstance(wanted, Mapping) else None
        schema = named.get("schema") if isinstance(named, Mapping) else None
        return schema if isinstance(schema, Mapping) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """One answer. `raw` replaces the body, streamed or not; `pause_ms` passes before each piece of a stream.

    Nothing is sent before the event `after` is set. `tokens` are those of the prompt and of the answer.
    """

    text: str = ""
    tools: tuple[tuple[str, JsonObject], ...] = ()
    """What the model calls, by name and arguments."""
    finish: str = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = None
    raw: bytes | None = None
    piece_characters: int = 16
    pause_ms: int = 0
    fault: WireFault | None = None
    streams: bool = True
    """False: answers in one piece even when asked to stream."""
    after: asyncio.Event | None = None
    tokens: tuple[int, int] | None = None
    """None: 7, and one for each 4 characters."""
    counting: Counting = Counting.LAST


Behaviour: TypeAlias = ScriptedReply | Callable[[ReceivedRequest], ScriptedReply]


def by_prompt(**scripts: Behaviour | Sequence[Behaviour]) -> Behaviour:
    """A behaviour for each prompt, by its name without version, or a script of them whose last entry is repeated.

    A prompt without a script is answered with status 403, which nobody tries again.
    """
    played = dict.fromkeys(scripts, 0)

    def play(request: ReceivedRequest) -> ScriptedReply:
        name = request.prompt_name
        if name not in scripts:
            return ScriptedReply(status=403, text=f"nothing is scripted for the prompt {name!r}")
        script = scripts[name]
        if isinstance(script, Sequence):
            played[name] += 1
            script = script[min(played[name], len(script)) - 1]
        return script if isinstance(script, ScriptedReply) else script(request)

    return play


def says(text: str) -> ScriptedReply:
    """The model answers with this text."""
    return ScriptedReply(text=text)


def answers(value: JsonValue) -> ScriptedReply:
    """The model answers with this value as JSON."""
    return ScriptedReply(text=json.dumps(value))


def prose_around(value: JsonValue) -> ScriptedReply:
    """An object inside a friendly sentence."""
    return ScriptedReply(text=f"Of course! Here is my judgement: {json.dumps(value)} I hope this helps.")


def fenced(value: JsonValue) -> ScriptedReply:
    """An object in a Markdown code block."""
    return ScriptedReply(text=f"```json\n{json.dumps(value)}\n```")


def thinking_first(value: JsonValue, thought: str = "It looks right to me.") -> ScriptedReply:
    """A think block, then an object."""
    return ScriptedReply(text=f"<think>{thought}</think>\n{json.dumps(value)}")


def cut_short(value: JsonValue) -> ScriptedReply:
    """The first half of an object, ended by the bound on an answer's length."""
    text = json.dumps(value)
    return ScriptedReply(text=text[: len(text) // 2], finish="length")


def two_objects(first: JsonValue, second: JsonValue) -> ScriptedReply:
    """Two objects, one after the other."""
    return ScriptedReply(text=f"{json.dumps(first)}\n{json.dumps(second)}")


def calls_tools(*tools: tuple[str, JsonObject]) -> ScriptedReply:
    """The model calls these tools, in this order."""
    return ScriptedReply(tools=tools, finish="tool_calls")


def fails(status: int, *, retry_after: str | None = None) -> ScriptedReply:
    """An error status; `retry_after` is seconds or an HTTP date."""
    return ScriptedReply(status=status, headers={} if retry_after is None else {"Retry-After": retry_after})


def huge(size_bytes: int) -> ScriptedReply:
    """An answer of so many bytes in one piece."""
    return ScriptedReply(text="x" * size_bytes, piece_characters=size_bytes)


def invalid_utf8() -> ScriptedReply:
    """A stream whose bytes are no text."""
    return ScriptedReply(raw=b'data: {"choices": [{"index": 0, "delta": {"content": "\xff\xfe"}}]}\n\n')


def invalid_json() -> ScriptedReply:
    """A stream of events that are no JSON."""
    return ScriptedReply(raw=b'data: {"choices": [\n\ndata: [DONE]\n\n')


def refused_url() -> str:
    """A base URL where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


class ModelServer:
    """The server. `formats`: which kinds of `response_format` it takes; others are answered with status 400.

    So are tools, unless it `takes_tools`: it then leaves it to the script whether they are called.
    `listing` is what `/models` answers instead of its one model.
    """

    def __init__(
        self,
        *script: Behaviour,
        model: str = "scripted",
        formats: frozenset[str] = FORMATS,
        takes_tools: bool = True,
        listing: ScriptedReply | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.base_url = ""
        """`http://127.0.0.1:PORT/v1`, once it serves."""
        self.requests: list[ReceivedRequest] = []
        self.connections = 0
        """How many were opened so far."""
        self.counted = (0, 0)
        """The tokens of all prompts and all answers for which it told them."""
        self.asked = asyncio.Event()
        """Set when the first request has arrived."""
        self.disconnected = asyncio.Event()
        """Set when a client has gone away in the middle of an answer."""
        self._script: Sequence[Behaviour] = script or (says("{}"),)
        self._model = model
        named = {"object": "list", "data": [{"id": model, "object": "model"}]}
        self._listing = listing or ScriptedReply(raw=json.dumps(named).encode())
        self._formats = formats
        self._takes_tools = takes_tools
        self._clock = clock or SystemClock()
        self._server: asyncio.Server | None = None
        self._played = 0
        self._busy: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=REQUEST_BYTES_MAX)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    @property
    def chats(self) -> list[ReceivedRequest]:
        """The requests for a completion."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        self.connections += 1
        try:
            while (came := await read_request(reader)) and not writer.is_closing():
                body = json.loads(came.body) if came.body else {}
                request = ReceivedRequest(method=came.method, path=came.path, headers=came.headers, body=body)
                await self._answer(request, reader, writer)
                if came.headers.get("connection") == "close":
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnected.set()
        except asyncio.CancelledError:  # the server ends, and this task with it
            pass
        finally:
            self._busy.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(
        self, request: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.requests.append(request)
        self.asked.set()
        if request.path.endswith("/models"):
            await self._play(self._listing, request, reader, writer)
            return
        wanted = request.body.get("response_format")
        if isinstance(wanted, Mapping) and wanted.get("type") not in self._formats:
            await send(writer, _whole(_error(ScriptedReply(status=400, text="response_format is not supported"))))
            return
        if "tools" in request.body and not self._takes_tools:
            await send(writer, _whole(_error(ScriptedReply(status=400, text="tools are not supported"))))
            return
        behaviour = self._script[min(self._played, len(self._script) - 1)]
        self._played += 1
        reply = behaviour if isinstance(behaviour, ScriptedReply) else behaviour(request)
        await self._play(reply, request, reader, writer)

    async def _play(
        self, reply: ScriptedReply, request: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if reply.fault is WireFault.RESET:
            writer.transport.abort()
            return
        if reply.fault is WireFault.HANG_BEFORE_HEADERS:
            await self._until_gone(reader)
        if reply.after is not None:
            await reply.after.wait()
        if reply.status != 200:
            await send(writer, _whole(_error(reply)))
            return
        if reply.counting is not Counting.NEVER:
            prompt, spoken = _tokens(reply)
            self.counted = (self.counted[0] + prompt, self.counted[1] + spoken)
        streamed = request.body.get("stream") is True and reply.streams
        if not streamed:
            raw = reply.raw if reply.raw is not None else json.dumps(self._completion(reply)).encode()
            await send(writer, _whole(replace(reply, raw=raw)))
            return
        await send(writer, head_of(200, reply.content_type or "text/event-stream", reply.headers))
        if reply.fault is WireFault.HANG_AFTER_HEADERS:
            await self._until_gone(reader)
        await self._stream(reply, writer)

    async def _stream(self, reply: ScriptedReply, writer: asyncio.StreamWriter) -> None:
        """Events in HTTP chunks; the connection's end before the last chunk is what a crash looks like."""
        pieces = [reply.raw] if reply.raw is not None else self._events(reply)
        if reply.fault is not None:
            pieces = pieces[: len(pieces) // 2]
        for piece in pieces:
            if reply.pause_ms:
                await self._clock.sleep_ms(reply.pause_ms)
            await send(writer, b"%x\r\n%b\r\n" % (len(piece), piece))
        if reply.fault is WireFault.TRUNCATED:
            writer.close()
        else:
            await send(writer, b"0\r\n\r\n")

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        """Wait until the client hangs up."""
        while await reader.read(1024):
            pass
        raise ConnectionResetError("the client went away")

    def _events(self, reply: ScriptedReply) -> list[bytes]:
        step = reply.piece_characters
        deltas: list[JsonObject] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": reply.text[at : at + step]} for at in range(0, len(reply.text), step)]
        deltas += [{"tool_calls": [piece]} for at in range(len(reply.tools)) for piece in _pieces(reply, at)]
        choices: list[list[JsonObject]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
        choices.append([{"index": 0, "delta": {}, "finish_reason": reply.finish}])
        events: list[JsonObject] = [self._frame("chat.completion.chunk", choice) for choice in choices]
        if reply.counting is Counting.EVERY:
            prompt, spoken = _tokens(reply)
            growing = (spoken * (at + 1) // len(events) for at in range(len(events)))
            events = [{**event, "usage": _usage(prompt, so_far)} for event, so_far in zip(events, growing, strict=True)]
        elif reply.counting is Counting.LAST:
            events.append({**self._frame("chat.completion.chunk", []), "usage": _usage(*_tokens(reply))})
        return [b"data: %b\n\n" % json.dumps(event).encode() for event in events] + [b"data: [DONE]\n\n"]

    def _completion(self, reply: ScriptedReply) -> JsonObject:
        message: dict[str, JsonValue] = {"role": "assistant", "content": reply.text}
        if reply.tools:
            message["tool_calls"] = [_tool_call(reply, at) for at in range(len(reply.tools))]
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": reply.finish}
        told = {} if reply.counting is Counting.NEVER else {"usage": _usage(*_tokens(reply))}
        return {**self._frame("chat.completion", [choice]), **told}

    def _frame(self, kind: str, choices: Sequence[JsonObject]) -> JsonObject:
        return {"id": "chat-1", "object": kind, "created": 0, "model": self._model, "choices": list(choices)}


def _tool_call(reply: ScriptedReply, at: int) -> JsonObject:
    name, arguments = reply.tools[at]
    return {"id": f"call-{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def _pieces(reply: ScriptedReply, at: int) -> Iterator[JsonObject]:
    """A call as it is streamed: its name first, then its arguments bit by bit."""
    name, arguments = reply.tools[at]
    yield {"index": at, "id": f"call-{at}", "type": "function", "function": {"name": name, "arguments": ""}}
    text, step = json.dumps(arguments), reply.piece_characters
    for begin in range(0, len(text), step):
        yield {"index": at, "function": {"arguments": text[begin : begin + step]}}


def _tokens(reply: ScriptedReply) -> tuple[int, int]:
    return reply.tokens or (7, max(1, len(reply.text) // 4))


def _usage(prompt: int, spoken: int) -> JsonObject:
    return {"prompt_tokens": prompt, "completion_tokens": spoken, "total_tokens": prompt + spoken}


def _error(reply: ScriptedReply) -> ScriptedReply:
    body = {"error": {"message": reply.text or "scripted failure", "type": "scripted", "code": None}}
    return replace(reply, raw=json.dumps(body).encode(), content_type=None)


def _whole(reply: ScriptedReply) -> bytes:
    body = reply.raw or b""
    return head_of(reply.status, reply.content_type or "application/json", reply.headers, len(body)) + body
