"""What MCP servers are spoken to through, each within bounds: the lines of a program, or HTTP."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from httpx2 import AsyncByteStream, AsyncClient, AsyncHTTPTransport, ReadError, Request, Response, Timeout
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from earnest.effects.ground.leash import leashed
from earnest.effects.hands.mcp.api import ServerSpec

LINE_BYTES_MAX: Final = 8 * 1024 * 1024
GRACE_S: Final = 2
ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
CONNECT_S: Final = 30
SILENCE_S: Final = 3_600
"""Until the call's own timeout; as long as a call may take."""
INHERITED: Final = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""All that a server gets of our environment: keys of ours are none of its business."""

Streams = tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]


@asynccontextmanager
async def program(spec: ServerSpec) -> AsyncIterator[Streams]:
    """Start it, in a process group of its own that is killed at the end. What it writes to stderr is dropped.

    A line over `LINE_BYTES_MAX` ends the conversation. Raises `OSError` and `ValueError` if it cannot be started.
    """
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | dict(spec.env)
    process = await asyncio.create_subprocess_exec(
        *leashed((spec.command, *spec.args), os.environ.get("PATH")),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        limit=LINE_BYTES_MAX,
    )
    try:
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, said_out = anyio.create_memory_object_stream[SessionMessage](0)
        async with heard_in, heard, said, said_out, anyio.create_task_group() as group:
            group.start_soon(_hear, process, heard_in)
            group.start_soon(_say, process, said_out, heard_in)
            try:
                yield heard, said
            finally:
                group.cancel_scope.cancel()
    finally:
        await _end(process)


async def _hear(process: asyncio.subprocess.Process, heard: ObjectSendStream[SessionMessage | Exception]) -> None:
    """Pass on what it says, line by line; a line that is no message is passed on as the error that it is."""
    assert process.stdout is not None
    async with heard:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError):
            while line := await process.stdout.readline():
                await heard.send(_message(line))


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _say(
    process: asyncio.subprocess.Process,
    said: ObjectReceiveStream[SessionMessage],
    heard: ObjectSendStream[SessionMessage | Exception],
) -> None:
    """Pass on what it is told. Once it hears no more, the conversation is over."""
    assert process.stdin is not None
    try:
        async for each in said:
            process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()
    except OSError:
        await heard.aclose()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let it leave by itself when its stdin closes; then kill what is left of its group."""
    assert process.stdin is not None
    with anyio.CancelScope(shield=True):
        process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def bounded_client(spec: ServerSpec) -> AsyncClient:
    """A client for this server alone: it sends the headers that the operator named, and follows no redirection."""
    headers = {"Accept-Encoding": "identity"} | dict(spec.headers)
    return AsyncClient(headers=headers, timeout=Timeout(CONNECT_S, read=SILENCE_S), transport=_Bounded())


class _Bounded(AsyncHTTPTransport):
    async def handle_async_request(self, request: Request) -> Response:
        response = await super().handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            await response.aclose()
            raise ReadError("the answer came compressed, which was not asked for", request=request)
        assert isinstance(response.stream, AsyncByteStream)
        response.stream = _BoundedStream(response.stream, request)
        return response


class _BoundedStream(AsyncByteStream):
    def __init__(self, stream: AsyncByteStream, request: Request) -> None:
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ANSWER_BYTES_MAX
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise ReadError(f"the answer has more than {ANSWER_BYTES_MAX} bytes", request=self._request)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
