"""How is a model at an OpenAI-compatible endpoint asked? Over the official library, which is loaded by the first call.

Of that library only the request and the stream are used: it reads keys, addresses and headers from the environment,
which must not reach an endpoint they were not meant for, retries in its own way and bounds nothing.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from earnest.effects.clock import Chance, Clock
from earnest.effects.llm.api import Completion, CompletionLimits, Endpoint, Finish, Message, Usage
from earnest.effects.llm.forms import Form, request_of, simpler
from earnest.effects.llm.retrying import RETRIED_STATUSES, retry_after_ms, wait_ms
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.foundation.text import printable

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk

COMPLAINT_CHARACTERS_MAX: Final = 200
FORM_REFUSED: Final = frozenset({400, 404, 415, 422, 501})
ADVICE: Final = {
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the model's name and the base URL, which mostly ends in /v1",
    413: "what was sent is too long for it",
    429: "it is busy: try again later",
}
"""What to do about a status."""


class _Refused(Exception):
    """The endpoint answered with an error status."""

    def __init__(self, status: int, complaint: str, asked_ms: int | None) -> None:
        super().__init__(complaint)
        self.status = status
        self.complaint = complaint
        self.asked_ms = asked_ms


class _Interrupted(Exception):
    """The connection could not be made or ended too early."""


class OpenAICompatible:
    """A `ChatModel`. It remembers which form of request the endpoint takes and holds no connection between calls."""

    def __init__(self, endpoint: Endpoint, *, clock: Clock, chance: Chance) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._chance = chance
        self._form = Form()

    @property
    def endpoint(self) -> Endpoint:
        """See `ChatModel`."""
        return self._endpoint

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        call_id: str,
        schema: JsonObject | None = None,
        limits: CompletionLimits | None = None,
    ) -> Completion:
        """See `ChatModel`."""
        limits = limits or CompletionLimits()
        try:
            await asyncio.to_thread(importlib.import_module, "openai")
        except ImportError:
            raise Unavailable("the model client is not installed: install 'earnest[models]'") from None
        try:
            async with asyncio.timeout(limits.deadline_ms / 1000):
                return await self._attempts(messages, call_id, schema, limits)
        except TimeoutError:
            self._fail(f"did not finish within {limits.deadline_ms / 1000:g} s")

    async def _attempts(
        self, messages: Sequence[Message], call_id: str, schema: JsonObject | None, limits: CompletionLimits
    ) -> Completion:
        ends_ns = self._clock.ticks_ns() + limits.deadline_ms * 1_000_000
        attempt = 1
        while True:
            form = self._form
            try:
                return await self._ask(request_of(messages, schema, form), call_id, limits)
            except _Refused as refused:
                less = simpler(form, refused.complaint, structured=schema is not None)
                if refused.status in FORM_REFUSED and less is not None:
                    self._form = less
                    continue
                if refused.status in FORM_REFUSED:
                    self._form = Form()  # it was not the form
                problem, asked_ms, again = _told(refused), refused.asked_ms, refused.status in RETRIED_STATUSES
            except _Interrupted as interrupted:
                problem, asked_ms, again = str(interrupted), None, True
            pause_ms = wait_ms(attempt, asked_ms, self._chance.fraction())
            left_ms = (ends_ns - self._clock.ticks_ns()) // 1_000_000
            if not again or attempt >= limits.attempts or pause_ms >= left_ms:
                self._fail(problem, retry_after_ms=asked_ms)
            attempt += 1
            await self._clock.sleep_ms(pause_ms)

    async def _ask(self, request: dict[str, object], call_id: str, limits: CompletionLimits) -> Completion:
        """One request. Whatever an endpoint sends instead of an answer ends as one of our own errors."""
        import httpx2  # noqa: PLC0415
        import openai  # noqa: PLC0415

        from earnest.effects.llm.openai_client import AnswerTooLarge, open_client  # noqa: PLC0415 - imports the library

        try:
            async with open_client(self._endpoint, call_id, limits) as client:
                return await self._answer(client, request, call_id, limits)
        except openai.APIStatusError as error:
            asked_ms = retry_after_ms(error.response.headers.get("retry-after"), self._clock.now_ms())
            raise _Refused(error.status_code, _shown(error.message), asked_ms) from None
        except openai.APITimeoutError as error:
            if isinstance(error.__cause__, httpx2.ConnectTimeout):
                raise _Interrupted(f"did not accept a connection within {limits.connect_ms / 1000:g} s") from None
            self._fail(f"said nothing for {limits.silence_ms / 1000:g} s")
        except openai.APIConnectionError as error:
            raise _Interrupted(f"{_broken_off(error)}: is it running, is the base URL right?") from None
        except AnswerTooLarge as error:
            self._fail(str(error))
        except openai.APIError as error:
            self._fail(f"broke off with an error: {_shown(error.message)}")
        except (_Interrupted, Unavailable):
            raise
        except Exception as error:  # bytes that are no protocol make a library fail in any way
            self._fail(f"sent what is no answer ({type(error).__name__}: {_shown(str(error))})")

    async def _answer(
        self, client: "openai.AsyncOpenAI", request: dict[str, object], call_id: str, limits: CompletionLimits
    ) -> Completion:
        more: dict[str, object] = {} if limits.answer_tokens is None else {"max_tokens": limits.answer_tokens}
        stream = await client.chat.completions.create(
            messages=[],
            model=self._endpoint.model,
            stream=True,
            stream_options={"include_usage": True},
            extra_body={**request, **more},  # it wins: the library's types would have every dict spelt out
        )
        async with stream:
            kind = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                text, finish, model, usage = await _read_stream(stream)
            elif kind == "application/json":  # an endpoint that cannot stream answers in one piece
                text, finish, model, usage = _read_whole(await stream.response.aread())
            else:
                self._fail(f"answered with {_shown(kind) or 'no content type'}: check the base URL")
        if finish is None:
            raise _Interrupted("stopped in the middle of its answer")
        return Completion(
            call_id=call_id,
            text=text,
            finish=finish,
            usage=usage,
            model=model or self._endpoint.model,
            endpoint=self._endpoint.base_url,
        )

    def _fail(self, problem: str, *, retry_after_ms: int | None = None) -> NoReturn:
        named = f"the model {self._endpoint.model} at {self._endpoint.base_url} {problem}"
        raise Unavailable(named, retry_after_ms=retry_after_ms) from None


_Read = tuple[str, Finish | None, str, Usage]
"""Text, how it ended (None: it did not), the model's name for itself, tokens."""


async def _read_stream(chunks: "AsyncIterator[ChatCompletionChunk]") -> _Read:
    """The library builds chunks without looking: a field can hold anything."""
    parts: list[str] = []
    finish: Finish | None = None
    model, usage = "", Usage()
    async for chunk in chunks:
        model = model or _text(chunk.model)
        usage = _usage(chunk.usage, usage)
        for choice in chunk.choices or ():
            if choice.index == 0:
                parts.append(_text(choice.delta.content))
                finish = finish or _finish(choice.finish_reason)
    return "".join(parts), finish, model, usage


def _read_whole(data: bytes) -> _Read:
    from openai.types.chat import ChatCompletion  # noqa: PLC0415

    answer = ChatCompletion.model_validate_json(data)
    choice = answer.choices[0]
    return _text(choice.message.content), _finish(choice.finish_reason), answer.model, _usage(answer.usage, Usage())


def _text(value: object) -> str:
    if value is not None and not isinstance(value, str):
        raise TypeError("a text is none")
    return value or ""


def _finish(reason: object) -> Finish | None:
    match reason:
        case None:
            return None
        case "stop" | "length":
            return Finish(reason)
        case _:
            return Finish.OTHER


def _usage(given: object, before: Usage) -> Usage:
    if given is None:
        return before
    counts = [getattr(given, name, None) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if type(count) is int and count >= 0 else 0 for count in counts)
    return Usage(prompt_tokens=prompt, completion_tokens=completion)


def _told(refused: _Refused) -> str:
    advice = ADVICE.get(refused.status, "its own log says more")
    return f"answered with status {refused.status}: {refused.complaint} ({advice})"


def _broken_off(error: Exception) -> str:
    cause = error.__cause__
    if type(cause).__name__ == "ConnectError":
        return "cannot be reached"
    return f"broke off the connection ({type(cause).__name__})"


def _shown(text: str) -> str:
    """An endpoint's words, made harmless and short."""
    return printable(text[:COMPLAINT_CHARACTERS_MAX])
