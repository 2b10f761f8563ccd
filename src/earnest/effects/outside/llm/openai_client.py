"""One request over HTTP, whose client importing this file loads (docs/adr/0022-models-are-asked-over-http.md)."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Final

import httpx2

from earnest.effects.outside.llm.api import Completion, CompletionLimits, Endpoint, Hear
from earnest.effects.outside.llm.reading import Declined, Interrupted, RawCompletion, Useless, complaint_of, shown

CALL_ID: Final = "x-client-request-id"
LOOPBACK: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")
KEPT_S: Final = 4
"""How long an idle connection is kept: common servers hang up after 5 s."""
KEPT_MAX: Final = 32
ERROR_BYTES_MAX: Final = 64 * 1024


class OpenAiClient:
    """The connections to one endpoint: to one address, with our own headers alone.

    It follows no redirect, does not retry, sends no cookies, and reads no compressed answer and no long complaint.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = httpx2.URL(f"{endpoint.base_url.rstrip('/')}/chat/completions")
        self._headers = {
            "host": self._url.netloc.decode("ascii"),
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
        self.close: Final = self._http.aclose

    async def ask(
        self, request: Mapping[str, object], call_id: str, limits: CompletionLimits, hear: Hear | None = None
    ) -> Completion:
        """One request, and whatever comes. Raises `Declined`, `Interrupted` or `Useless`, and nothing else."""
        try:
            return await self._exchange(request, call_id, limits, hear)
        except httpx2.TransportError as error:
            raise _broken_off(error, limits) from None
        except (Declined, Interrupted, Useless):
            raise
        except Exception as error:  # bytes that are no protocol make a library fail in any way
            raise Useless(f"sent what is no answer ({type(error).__name__}: {shown(str(error))})") from None

    async def _exchange(
        self, request: Mapping[str, object], call_id: str, limits: CompletionLimits, hear: Hear | None
    ) -> Completion:
        body = written({**request, "model": self._endpoint.model, "stream": True})
        asking = httpx2.Request(
            "POST",
            self._url,
            headers=self._headers | {CALL_ID: call_id, "content-length": str(len(body))},
            stream=httpx2.ByteStream(body),  # as `content` it would be looked at, and the headers made twice
            extensions={
                "timeout": httpx2.Timeout(limits.silence_ms / 1000, connect=limits.connect_ms / 1000).as_dict()
            },
        )
        response = await self._http.send(asking, stream=True)
        try:
            await _refuse(response)
            answer = await _answer_of(response, limits.answer_bytes, hear)
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
            calls=answer.calls,
        )


def written(request: Mapping[str, object]) -> bytes:
    """The body of a request, without blanks; what is not ASCII stands as itself, unless half a pair is in it."""
    try:
        return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(request, separators=(",", ":")).encode("ascii")


async def _refuse(response: httpx2.Response) -> None:
    """Raise what is wrong with an answer that is none."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Useless("answered in compressed form, which was not asked for")
    if not response.is_success:
        body = bytearray()
        with suppress(Useless):  # the beginning of a long complaint is enough
            await _read(response, ERROR_BYTES_MAX, body.extend)
        raise Declined(response.status_code, shown(complaint_of(bytes(body))), response.headers.get("retry-after"))


async def _answer_of(response: httpx2.Response, bytes_max: int, hear: Hear | None) -> RawCompletion:
    answer = RawCompletion(hear)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        await _read(response, bytes_max, answer.feed)
        answer.end()
    elif kind == "application/json":  # an endpoint that cannot stream answers in one piece
        body = bytearray()
        await _read(response, bytes_max, body.extend)
        answer.take_whole(bytes(body))
    else:
        raise Useless(f"answered with {shown(kind) or 'no content type'}: check the base URL")
    return answer


@cache
def _trusted(*, is_read: bool) -> SSLContext:
    """The certificates of this machine, read where they are needed: that costs more than a call. Else nobody's."""
    return httpx2.create_ssl_context() if is_read else SSLContext(PROTOCOL_TLS_CLIENT)


async def _read(response: httpx2.Response, bytes_max: int, take: Callable[[bytes], None]) -> None:
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    received = 0
    async for piece in response.stream:
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
