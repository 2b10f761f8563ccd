"""Which client of the official library is safe to talk to an endpoint with? Importing this file loads the library."""

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
import openai

from earnest.effects.llm.api import CompletionLimits, Endpoint

HEADERS_SENT: Final = frozenset(
    {"accept", "connection", "content-length", "content-type", "host", "user-agent", "transfer-encoding"}
)
LOOPBACK: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")


class AnswerTooLarge(Exception):
    """The endpoint sent more than an answer may have."""


def open_client(endpoint: Endpoint, call_id: str, limits: CompletionLimits) -> openai.AsyncOpenAI:
    """A client for one call, to be used with `async with`. It follows no redirect and does not retry."""
    timeout = httpx2.Timeout(limits.silence_ms / 1000, connect=limits.connect_ms / 1000)
    http = _Guarded(
        endpoint=endpoint,
        call_id=call_id,
        answer_bytes=limits.answer_bytes,
        timeout=timeout,
        follow_redirects=False,
        mounts=dict.fromkeys(LOOPBACK),  # what runs here is not behind a proxy
    )
    return openai.AsyncOpenAI(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key or "none",  # without one it would take one from the environment
        timeout=timeout,
        max_retries=0,
        http_client=http,
    )


class _Guarded(httpx2.AsyncClient):
    """Sends only our own headers and receives only so much, uncompressed."""

    def __init__(self, *, endpoint: Endpoint, call_id: str, answer_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._endpoint = endpoint
        self._call_id = call_id
        self._answer_bytes = answer_bytes

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """As its parent, with these bounds."""
        headers = {name: value for name, value in request.headers.items() if name.lower() in HEADERS_SENT}
        headers |= {"accept-encoding": "identity", "x-client-request-id": self._call_id}
        if self._endpoint.api_key:
            headers["authorization"] = f"Bearer {self._endpoint.api_key}"
        request.headers = httpx2.Headers(headers)
        response = await super().send(request, stream=True, **options)
        try:
            _refuse_compression(response)
            response.stream = _Capped(response.stream, self._answer_bytes)
            if not stream or response.is_error:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response


def _refuse_compression(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise AnswerTooLarge("answered in compressed form, which was not asked for")


class _Capped(httpx2.AsyncByteStream):
    """A body that ends in an error when it passes its bound."""

    def __init__(self, body: httpx2.SyncByteStream | httpx2.AsyncByteStream, bytes_max: int) -> None:
        assert isinstance(body, httpx2.AsyncByteStream)
        self._body = body
        self._bytes_max = bytes_max

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for piece in self._body:
            received += len(piece)
            if received > self._bytes_max:
                raise AnswerTooLarge(f"sent more than {self._bytes_max} bytes")
            yield piece

    async def aclose(self) -> None:
        """See the parent."""
        await self._body.aclose()
