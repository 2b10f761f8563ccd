"""How does one request reach an OpenAI-compatible endpoint? Importing this file loads the HTTP library.

The official library is not used: it reads keys, addresses and headers from the environment, which must not reach an
endpoint they were not meant for, retries in its own way, bounds nothing, and took a third of a call's CPU time.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Final

import httpx2

from earnest.effects.llm.api import Completion, CompletionLimits, Endpoint
from earnest.effects.llm.exchange import Declined, Interrupted, Useless
from earnest.effects.llm.reading import Answer, EndpointError, complaint_of
from earnest.foundation.text import printable

LOOPBACK: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")
KEPT_S: Final = 4
"""How long an idle connection is kept: common servers hang up after 5 s."""
KEPT_MAX: Final = 32
ERROR_BYTES_MAX: Final = 64 * 1024
SHOWN_CHARACTERS_MAX: Final = 200


class Client:
    """The connections to one endpoint. It follows no redirect, does not retry and sends no cookies."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._address = httpx2.URL(f"{endpoint.base_url.rstrip('/')}/chat/completions")
        self._headers = {
            "accept": "text/event-stream, application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "earnest",
        }
        if endpoint.api_key:
            self._headers["authorization"] = f"Bearer {endpoint.api_key}"
        self._http = httpx2.AsyncClient(
            verify=_trusted(is_read=endpoint.base_url.startswith("https:")),
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=KEPT_MAX, keepalive_expiry=KEPT_S),
            mounts=dict.fromkeys(LOOPBACK),  # what runs here is not behind a proxy
        )

    async def close(self) -> None:
        """Hang up."""
        await self._http.aclose()

    async def ask(self, request: Mapping[str, object], call_id: str, limits: CompletionLimits) -> Completion:
        """One request, and whatever comes. Raises `Declined`, `Interrupted` or `Useless`, and nothing else."""
        try:
            return await self._exchange(request, call_id, limits)
        except httpx2.TransportError as error:
            raise _broken_off(error, limits) from None
        except EndpointError as error:
            raise Useless(f"broke off with an error: {_shown(str(error))}") from None
        except (Declined, Interrupted, Useless):
            raise
        except Exception as error:  # bytes that are no protocol make a library fail in any way
            raise Useless(f"sent what is no answer ({type(error).__name__}: {_shown(str(error))})") from None

    async def _exchange(self, request: Mapping[str, object], call_id: str, limits: CompletionLimits) -> Completion:
        response = await self._http.send(self._sent(request, call_id, limits), stream=True)
        try:
            answer = await _answer_of(response, limits.answer_bytes)
        finally:
            await response.aclose()
        if answer.finish is None:
            raise Interrupted("stopped in the middle of its answer")
        return Completion(
            call_id=call_id,
            text=answer.text,
            finish=answer.finish,
            usage=answer.usage,
            model=answer.model or self._endpoint.model,
            endpoint=self._endpoint.base_url,
        )

    def _sent(self, request: Mapping[str, object], call_id: str, limits: CompletionLimits) -> httpx2.Request:
        """With these headers alone: what a client of the library would add to them stays at home."""
        silence_s, connect_s = limits.silence_ms / 1000, limits.connect_ms / 1000
        return httpx2.Request(
            "POST",
            self._address,
            headers=self._headers | {"x-client-request-id": call_id},
            content=json.dumps({**request, "model": self._endpoint.model, "stream": True}).encode("ascii"),
            extensions={"timeout": {"connect": connect_s, "read": silence_s, "write": silence_s, "pool": silence_s}},
        )


async def _answer_of(response: httpx2.Response, bytes_max: int) -> Answer:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Useless("answered in compressed form, which was not asked for")
    answer, body = Answer(), bytearray()
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.is_success:
        await _read(response, ERROR_BYTES_MAX, body.extend)
        raise Declined(response.status_code, _shown(complaint_of(bytes(body))), response.headers.get("retry-after"))
    if kind == "text/event-stream":
        await _read(response, bytes_max, answer.feed)
        answer.end()
    elif kind == "application/json":  # an endpoint that cannot stream answers in one piece
        await _read(response, bytes_max, body.extend)
        answer.take_whole(bytes(body))
    else:
        raise Useless(f"answered with {_shown(kind) or 'no content type'}: check the base URL")
    return answer


@cache
def _trusted(*, is_read: bool) -> SSLContext:
    """The certificates of this machine, read where they are needed: that costs more than a call. Else nobody's."""
    return httpx2.create_ssl_context() if is_read else SSLContext(PROTOCOL_TLS_CLIENT)


async def _read(response: httpx2.Response, bytes_max: int, take: Callable[[bytes], None]) -> None:
    received = 0
    async for piece in response.aiter_raw():
        received += len(piece)
        if received > bytes_max:
            raise Useless(f"sent more than {bytes_max} bytes")
        take(piece)


def _broken_off(cause: httpx2.TransportError, limits: CompletionLimits) -> Interrupted | Useless:
    if isinstance(cause, httpx2.ConnectTimeout):
        return Interrupted(f"did not accept a connection within {limits.connect_ms / 1000:g} s")
    if isinstance(cause, httpx2.TimeoutException):
        return Useless(f"said nothing for {limits.silence_ms / 1000:g} s")
    how = "cannot be reached" if isinstance(cause, httpx2.ConnectError) else f"broke off ({type(cause).__name__})"
    return Interrupted(f"{how}: is it running, is the base URL right?")


def _shown(text: str) -> str:
    """An endpoint's words, made harmless and short."""
    return printable(text[:SHOWN_CHARACTERS_MAX])
