"""One request over the official library, which importing this file loads.

Of that library only the request is used: it reads keys, addresses and headers from the environment, which must not
reach an endpoint they were not meant for, retries in its own way, bounds nothing, and builds a value for every token.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any, Final

import httpx2
import openai

from earnest.effects.outside.llm.api import Completion, CompletionLimits, Endpoint
from earnest.effects.outside.llm.exchange import Declined, Interrupted, Useless
from earnest.effects.outside.llm.reading import EndpointError, RawCompletion, complaint_of
from earnest.foundation.text import printable

CALL_ID: Final = "x-client-request-id"
LOOPBACK: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")
KEPT_S: Final = 4
"""How long an idle connection is kept: common servers hang up after 5 s."""
KEPT_MAX: Final = 32
ERROR_BYTES_MAX: Final = 64 * 1024
SHOWN_CHARACTERS_MAX: Final = 200


class OpenAiClient:
    """The connections to one endpoint. It follows no redirect, does not retry and sends no cookies."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._guard = _Guarded(endpoint)
        self._library = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or "none",  # without one it would take one from the environment
            max_retries=0,
            http_client=self._guard,
        )

    async def close(self) -> None:
        """Hang up."""
        await self._library.close()

    async def ask(self, request: Mapping[str, object], call_id: str, limits: CompletionLimits) -> Completion:
        """One request, and whatever comes. Raises `Declined`, `Interrupted` or `Useless`, and nothing else."""
        try:
            return await self._exchange(request, call_id, limits)
        except openai.APIConnectionError as error:
            raise _broken_off(error.__cause__, limits) from None
        except httpx2.TransportError as error:
            raise _broken_off(error, limits) from None
        except EndpointError as error:
            raise Useless(f"broke off with an error: {_shown(str(error))}") from None
        except (Declined, Interrupted, Useless):
            raise
        except Exception as error:  # bytes that are no protocol make a library fail in any way
            raise Useless(f"sent what is no answer ({type(error).__name__}: {_shown(str(error))})") from None

    async def _exchange(self, request: Mapping[str, object], call_id: str, limits: CompletionLimits) -> Completion:
        response = await self._library.post(
            self._guard.address,
            cast_to=httpx2.Response,
            content=json.dumps({**request, "model": self._endpoint.model, "stream": True}).encode("ascii"),
            options={
                "headers": {CALL_ID: call_id},
                "timeout": httpx2.Timeout(limits.silence_ms / 1000, connect=limits.connect_ms / 1000),
            },
        )
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
            calls=answer.calls,
        )


class _Guarded(httpx2.AsyncClient):
    """Posts to one address, with our own headers alone, and reads no compressed answer and no long complaint."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(
            verify=_trusted(is_read=endpoint.base_url.startswith("https:")),
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=KEPT_MAX, keepalive_expiry=KEPT_S),
            mounts=dict.fromkeys(LOOPBACK),  # what runs here is not behind a proxy
        )
        self.address = f"{endpoint.base_url.rstrip('/')}/chat/completions"
        self._url = httpx2.URL(self.address)
        self._own = {
            "host": self._url.netloc.decode("ascii"),
            "accept": "text/event-stream, application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "earnest",
        }
        if endpoint.api_key:
            self._own["authorization"] = f"Bearer {endpoint.api_key}"

    def build_request(self, *_: object, **given: Any) -> httpx2.Request:
        """Of all that is `given`, the body, the timeout and the call's id are kept."""
        body: bytes = given["content"]
        call = {name: value for name, value in given["headers"] if name == CALL_ID}
        return httpx2.Request(
            "POST",
            self._url,
            headers=self._own | call | {"content-length": str(len(body))},
            stream=httpx2.ByteStream(body),  # as `content` it would be looked at, and the headers made twice
            extensions={"timeout": given["timeout"].as_dict()},
        )

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """As its parent, but a body is left to be read within bounds. Raises `Declined` or `Useless`."""
        response = await super().send(request, **options | {"stream": True})
        try:
            await _refuse(response)
        except BaseException:
            await response.aclose()
            raise
        return response


async def _refuse(response: httpx2.Response) -> None:
    """Raise what is wrong with an answer that is none."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Useless("answered in compressed form, which was not asked for")
    if not response.is_success:
        body = bytearray()
        with suppress(Useless):  # the beginning of a long complaint is enough
            await _read(response, ERROR_BYTES_MAX, body.extend)
        raise Declined(response.status_code, _shown(complaint_of(bytes(body))), response.headers.get("retry-after"))


async def _answer_of(response: httpx2.Response, bytes_max: int) -> RawCompletion:
    answer = RawCompletion()
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        await _read(response, bytes_max, answer.feed)
        answer.end()
    elif kind == "application/json":  # an endpoint that cannot stream answers in one piece
        body = bytearray()
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
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    received = 0
    async for piece in response.stream:
        received += len(piece)
        if received > bytes_max:
            raise Useless(f"sent more than {bytes_max} bytes")
        take(piece)


def _broken_off(cause: BaseException | None, limits: CompletionLimits) -> Interrupted | Useless:
    if isinstance(cause, httpx2.ConnectTimeout):
        return Interrupted(f"did not accept a connection within {limits.connect_ms / 1000:g} s")
    if isinstance(cause, httpx2.TimeoutException):
        return Useless(f"said nothing for {limits.silence_ms / 1000:g} s")
    how = "cannot be reached" if isinstance(cause, httpx2.ConnectError) else f"broke off ({type(cause).__name__})"
    return Interrupted(f"{how}: is it running, is the base URL right?")


def _shown(text: str) -> str:
    """An endpoint's words, made harmless and short."""
    return printable(text[:SHOWN_CHARACTERS_MAX])
