"""MCP servers at an address. No answer is larger than it may be, packed or not."""

from collections.abc import AsyncIterator
from typing import Final

from httpx2 import AsyncByteStream, AsyncClient, AsyncHTTPTransport, ReadError, Request, Response, Timeout

from earnest.effects.hands.mcp.api import ServerSpec

ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
CONNECT_S: Final = 30
SILENCE_S: Final = 3_600
"""Until the call's own timeout; as long as a call may take."""


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
