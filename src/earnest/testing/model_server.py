"""What does a model endpoint do, well or badly? A scripted server that speaks the chat protocol over a real socket.

`async with ModelServer(says("hello")) as server:` serves `server.base_url`; the script's last entry is repeated. An
entry is a `Reply`, or a function that makes one out of the request. What was asked stands in `server.requests`.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self, TypeAlias

from earnest.effects.clock import Clock, SystemClock
from earnest.foundation.canonical import JsonObject, JsonValue

REQUEST_BYTES_MAX: Final = 64 * 1024 * 1024
FORMATS: Final = frozenset({"json_schema", "json_object"})


class Fault(StrEnum):
    """What goes wrong on the wire."""

    HANG_BEFORE_HEADERS = "hang_before_headers"
    HANG_AFTER_HEADERS = "hang_after_headers"
    RESET = "reset"
    """The connection is reset instead of an answer."""
    TRUNCATED = "truncated"
    """The connection ends after half of the answer."""
    UNFINISHED = "unfinished"
    """The answer ends in good order on the wire, but without its last part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. `raw` replaces the body, streamed or not; `pause_ms` passes before each piece of a stream."""

    text: str = ""
    tool: tuple[str, JsonObject] | None = None
    finish: str = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = None
    raw: bytes | None = None
    piece_characters: int = 16
    pause_ms: int = 0
    fault: Fault | None = None
    streams: bool = True
    """False: answers in one piece even when asked to stream."""


Behaviour: TypeAlias = Reply | Callable[[Request], Reply]


def says(text: str) -> Reply:
    """The model answers with this text."""
    return Reply(text=text)


def answers(value: JsonValue) -> Reply:
    """The model answers with this value as JSON."""
    return Reply(text=json.dumps(value))


def prose_around(value: JsonValue) -> Reply:
    """An object inside a friendly sentence."""
    return Reply(text=f"Of course! Here is my judgement: {json.dumps(value)} I hope this helps.")


def fenced(value: JsonValue) -> Reply:
    """An object in a Markdown code block."""
    return Reply(text=f"```json\n{json.dumps(value)}\n```")


def thinking_first(value: JsonValue) -> Reply:
    """A think block, then an object."""
    return Reply(text=f"<think>It looks right to me.</think>\n{json.dumps(value)}")


def two_objects(first: JsonValue, second: JsonValue) -> Reply:
    """Two objects, one after the other."""
    return Reply(text=f"{json.dumps(first)}\n{json.dumps(second)}")


def calls_tool(name: str, arguments: JsonObject) -> Reply:
    """The model calls a tool."""
    return Reply(tool=(name, arguments), finish="tool_calls")


def fails(status: int, *, retry_after: str | None = None) -> Reply:
    """An error status; `retry_after` is seconds or an HTTP date."""
    return Reply(status=status, headers={} if retry_after is None else {"Retry-After": retry_after})


def huge(size_bytes: int) -> Reply:
    """An answer of so many bytes in one piece."""
    return Reply(text="x" * size_bytes, piece_characters=size_bytes)


def invalid_utf8() -> Reply:
    """A stream whose bytes are no text."""
    return Reply(raw=b'data: {"choices": [{"index": 0, "delta": {"content": "\xff\xfe"}}]}\n\n')


def invalid_json() -> Reply:
    """A stream of events that are no JSON."""
    return Reply(raw=b'data: {"choices": [\n\ndata: [DONE]\n\n')


def refused_url() -> str:
    """A base URL where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


class ModelServer:
    """The server. `formats`: which kinds of `response_format` it takes; others are answered with status 400."""

    def __init__(
        self,
        *script: Behaviour,
        model: str = "scripted",
        formats: frozenset[str] = FORMATS,
        clock: Clock | None = None,
    ) -> None:
        self.base_url = ""
        """`http://127.0.0.1:PORT/v1`, once it serves."""
        self.requests: list[Request] = []
        self.asked = asyncio.Event()
        """Set when the first request has arrived."""
        self.disconnected = asyncio.Event()
        """Set when a client has gone away in the middle of an answer."""
        self._script: Sequence[Behaviour] = script or (says("{}"),)
        self._model = model
        self._formats = formats
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
    def chats(self) -> list[Request]:
        """The requests for a completion."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            await self._answer(await _read_request(reader), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnected.set()
        finally:
            self._busy.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(request)
        self.asked.set()
        if request.path.endswith("/models"):
            listing = {"object": "list", "data": [{"id": self._model, "object": "model"}]}
            await _send(writer, _whole(Reply(raw=json.dumps(listing).encode())))
            return
        wanted = request.body.get("response_format")
        if isinstance(wanted, Mapping) and wanted.get("type") not in self._formats:
            await _send(writer, _whole(_error(400, "response_format is not supported")))
            return
        behaviour = self._script[min(self._played, len(self._script) - 1)]
        self._played += 1
        reply = behaviour if isinstance(behaviour, Reply) else behaviour(request)
        await self._play(reply, request, reader, writer)

    async def _play(
        self, reply: Reply, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if reply.fault is Fault.RESET:
            writer.transport.abort()
            return
        if reply.fault is Fault.HANG_BEFORE_HEADERS:
            await self._until_gone(reader)
        if reply.status != 200:
            await _send(writer, _whole(_error(reply.status, "scripted failure", reply.headers)))
            return
        streamed = request.body.get("stream") is True and reply.streams
        if not streamed:
            raw = reply.raw if reply.raw is not None else json.dumps(self._completion(reply)).encode()
            await _send(writer, _whole(Reply(raw=raw, headers=reply.headers, content_type=reply.content_type)))
            return
        await _send(writer, _head(200, reply.content_type or "text/event-stream", reply.headers))
        if reply.fault is Fault.HANG_AFTER_HEADERS:
            await self._until_gone(reader)
        await self._stream(reply, writer)

    async def _stream(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        """Events in HTTP chunks; the connection's end before the last chunk is what a crash looks like."""
        pieces = [reply.raw] if reply.raw is not None else self._events(reply)
        if reply.fault is not None:
            pieces = pieces[: len(pieces) // 2]
        for piece in pieces:
            if reply.pause_ms:
                await self._clock.sleep_ms(reply.pause_ms)
            await _send(writer, b"%x\r\n%b\r\n" % (len(piece), piece))
        if reply.fault is not Fault.TRUNCATED:
            await _send(writer, b"0\r\n\r\n")

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        """Wait until the client hangs up."""
        while await reader.read(1024):
            pass
        raise ConnectionResetError("the client went away")

    def _events(self, reply: Reply) -> list[bytes]:
        step = reply.piece_characters
        deltas: list[JsonObject] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": reply.text[at : at + step]} for at in range(0, len(reply.text), step)]
        if reply.tool is not None:
            deltas.append({"tool_calls": [{"index": 0, **_tool_call(reply.tool)}]})
        choices: list[list[JsonObject]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
        choices.append([{"index": 0, "delta": {}, "finish_reason": reply.finish}])
        events: list[JsonObject] = [self._frame("chat.completion.chunk", choice) for choice in choices]
        events.append({**self._frame("chat.completion.chunk", []), "usage": _usage(reply)})
        return [b"data: %b\n\n" % json.dumps(event).encode() for event in events] + [b"data: [DONE]\n\n"]

    def _completion(self, reply: Reply) -> JsonObject:
        message: dict[str, JsonValue] = {"role": "assistant", "content": reply.text}
        if reply.tool is not None:
            message["tool_calls"] = [_tool_call(reply.tool)]
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": reply.finish}
        return {**self._frame("chat.completion", [choice]), "usage": _usage(reply)}

    def _frame(self, kind: str, choices: Sequence[JsonObject]) -> JsonObject:
        return {"id": "chat-1", "object": kind, "created": 0, "model": self._model, "choices": list(choices)}


def _tool_call(tool: tuple[str, JsonObject]) -> JsonObject:
    name, arguments = tool
    return {"id": "call-1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def _usage(reply: Reply) -> JsonObject:
    spoken = max(1, len(reply.text) // 4)
    return {"prompt_tokens": 7, "completion_tokens": spoken, "total_tokens": 7 + spoken}


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    body = {"error": {"message": message, "type": "scripted", "code": None}}
    return Reply(status=status, raw=json.dumps(body).encode(), headers=headers or {})


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    data = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method=method, path=path, headers=headers, body=json.loads(data) if data else {})


def _head(status: int, content_type: str, headers: Mapping[str, str], length: int | None = None) -> bytes:
    body = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Type: {content_type}", body, "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _whole(reply: Reply) -> bytes:
    body = reply.raw or b""
    return _head(reply.status, reply.content_type or "application/json", reply.headers, len(body)) + body


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()
