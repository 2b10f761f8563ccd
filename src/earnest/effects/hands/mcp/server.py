"""A conversation with one MCP server, started when first needed, and again after it has died.

The official client wants to be left by the task that entered it: so one task holds it, and callers borrow it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, CallToolResult, Tool

from earnest.effects.hands.mcp.api import ServerSpec
from earnest.effects.hands.mcp.wires import bounded_client, program
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.foundation.text import printable

OPEN_S: Final = 30
CLOSE_S: Final = 10
TOOLS_MAX: Final = 64
PAGES_MAX: Final = 8
ERROR_CHARACTERS_MAX: Final = 300


class CallTimeout(Exception):
    """The server did not answer in the call's time. Whether it acted is not known."""


class McpServer:
    """A conversation with a server, opened by the first that asks for it."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self._opening = asyncio.Lock()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None

    async def listed(self) -> tuple[str, list[Tool]]:
        """Its version and its tools, at most `TOOLS_MAX`. Raises `Unavailable`."""
        async with self._borrowed() as client:
            with anyio.fail_after(OPEN_S):
                tools: list[Tool] = []
                cursor: str | None = None
                for _ in range(PAGES_MAX):
                    page = await client.list_tools(cursor=cursor, cache_mode="bypass")
                    tools += page.tools
                    cursor = page.next_cursor
                    if cursor is None or len(tools) >= TOOLS_MAX:
                        break
            info = client.server_info
            return (f"{info.name} {info.version}" if info else ""), tools[:TOOLS_MAX]

    async def call(self, tool: str, args: JsonObject, timeout_ms: int) -> CallToolResult:
        """Call a tool. Raises `CallTimeout`, `Unavailable` where the server is gone, and `MCPError` as it answered."""
        async with self._borrowed() as client:
            return await client.call_tool(tool, dict(args), read_timeout_seconds=timeout_ms / 1000)

    async def close(self) -> None:
        """End the conversation, and the program if it is one."""
        async with self._opening:
            await self._end()

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Client]:
        """The client; a conversation that turns out to be over is ended, so that the next caller gets a new one."""
        client = await self._open()
        try:
            yield client
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT:
                raise CallTimeout from None
            if error.code != CONNECTION_CLOSED:
                raise
            await self._lost(client, error)
        except (TimeoutError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            await self._lost(client, error)

    async def _lost(self, client: Client, error: Exception) -> None:
        async with self._opening:
            if self._client is client:
                await self._end()
        raise Unavailable(f"the MCP server {self.spec.name} is gone: {_words(error)}") from None

    async def _open(self) -> Client:
        async with self._opening:
            if self._client is None or self._task is None or self._task.done():
                ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
                self._over = asyncio.Event()
                self._task = asyncio.create_task(self._hold(ready, self._over))
                try:
                    self._client = await ready
                except BaseException:
                    await self._end()
                    raise
            return self._client

    async def _hold(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        """Open the conversation, hold it until it is over, leave it."""
        try:
            with anyio.fail_after(OPEN_S) as patience:
                async with _conversation(self.spec) as client:
                    patience.deadline = float("inf")
                    client.session.validate_tool_result = _as_it_came  # type: ignore[method-assign, assignment]
                    if not ready.done():
                        ready.set_result(client)
                    await over.wait()
        except Exception as error:
            if not ready.done():
                what = f"the MCP server {self.spec.name} cannot be reached: {_words(error)}"
                ready.set_exception(Unavailable(what))

    async def _end(self) -> None:
        task, self._task, self._client = self._task, None, None
        if task is None:
            return
        self._over.set()
        done, _ = await asyncio.wait((task,), timeout=CLOSE_S)
        if not done:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def _conversation(spec: ServerSpec) -> AsyncIterator[Client]:
    if spec.command:
        async with Client(program(spec), cache=None) as client:
            yield client
        return
    async with (
        bounded_client(spec) as http,
        Client(streamable_http_client(spec.url, http_client=http), cache=None) as client,
    ):
        yield client


async def _as_it_came(_tool: str, _result: CallToolResult) -> None:
    """In the library's stead, which checks an answer by patterns of the server's own, and some of those never end."""


def _words(error: BaseException) -> str:
    """The innermost of a group of errors, on one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return printable(str(error) or type(error).__name__)[:ERROR_CHARACTERS_MAX]
