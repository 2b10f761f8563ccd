"""Models at an OpenAI-compatible endpoint: the form, retries and deadline of a request."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, Self

from earnest.effects.ground.clock import Chance, Clock
from earnest.effects.outside.llm.api import Completion, CompletionLimits, Endpoint, Finish, Hear, Message, Native
from earnest.effects.outside.llm.forms import Form, request_of, simpler
from earnest.effects.outside.llm.reading import Declined, Interrupted, Useless
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable

if TYPE_CHECKING:
    from earnest.effects.outside.llm.openai_client import OpenAiClient

RETRIED_STATUSES: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
FIRST_WAIT_MS: Final = 500
WAIT_MS_MAX: Final = 8_000
RETRY_AFTER_MS_MAX: Final = 86_400_000
FORM_REFUSED: Final = frozenset({400, 404, 415, 422, 501})
ADVICE: Final = {
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the model's name and the base URL, which mostly ends in /v1",
    413: "what was sent is too long for it",
    429: "it is busy: try again later",
}
"""What to do about a status."""


class _Asked(NamedTuple):
    messages: Sequence[Message]
    schema: JsonObject | None
    native: Native | None
    hear: Hear | None


class OpenAICompatible:
    """A `ChatModel`. It remembers, as long as it lives, which form of request the endpoint takes for this model.

    Within `async with` it keeps connections between calls; otherwise each call makes one of its own. The library is
    loaded by the first call, in a thread.
    """

    def __init__(self, endpoint: Endpoint, *, clock: Clock, chance: Chance, may_call: bool = True) -> None:
        self.endpoint: Final = endpoint
        self._clock = clock
        self._chance = chance
        self._form = Form(calls=may_call)
        self._may_call = may_call
        self._has_called = False
        self._keeps = False
        self._kept: OpenAiClient | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._keeps = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._keeps = False
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.close()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        call_id: str,
        schema: JsonObject | None = None,
        limits: CompletionLimits | None = None,
        native: Native | None = None,
        hear: Hear | None = None,
    ) -> Completion:
        """See `ChatModel`. A model that answers in text where it could call for the first time is asked so no more."""
        limits = limits or CompletionLimits()
        try:
            async with asyncio.timeout(limits.deadline_ms / 1000):
                keeps = self._keeps
                client = await (self._connection() if keeps else self._open())
                try:
                    return await self._attempts(client, _Asked(messages, schema, native, hear), call_id, limits)
                finally:
                    if not keeps:
                        await client.close()
        except TimeoutError:
            self._fail(f"did not finish within {limits.deadline_ms / 1000:g} s")

    async def _connection(self) -> "OpenAiClient":
        """The one that is kept, made by whoever asks first."""
        async with self._opening:
            self._kept = self._kept or await self._open()
            return self._kept

    async def _open(self) -> "OpenAiClient":
        try:
            return await asyncio.to_thread(_open, self.endpoint)
        except ImportError:
            raise Unavailable("the model client is not installed: install 'earnest[models]'") from None
        except Exception as error:  # an address that is none
            self._fail(f"cannot be asked ({error}): is the base URL right?")

    async def _attempts(
        self, client: "OpenAiClient", asked: _Asked, call_id: str, limits: CompletionLimits
    ) -> Completion:
        ends_ns = self._clock.ticks_ns() + limits.deadline_ms * 1_000_000
        attempt = 1
        while True:
            form, asked_ms = self._form, None
            request = request_of(asked.messages, asked.schema, form, limits.answer_tokens, asked.native)
            try:
                answer = await client.ask(request, call_id, limits, asked.hear)
                return self._known(answer, is_native="tools" in request)
            except Declined as declined:
                less = simpler(form, declined.complaint, structured=asked.schema is not None, calls="tools" in request)
                if declined.status in FORM_REFUSED or _is_about_tools(declined, request):
                    self._form = less or Form(calls=self._may_call)  # if none is left it was not the form
                    if less is not None:
                        continue
                problem, again = _told(declined), declined.status in RETRIED_STATUSES
                asked_ms = _retry_after_ms(declined.retry_after, self._clock.now_ms())
            except (Interrupted, Useless) as failed:
                problem, again = str(failed), isinstance(failed, Interrupted)
                if asked.hear is not None:
                    asked.hear(None)
            pause_ms = _wait_ms(attempt, asked_ms, self._chance.fraction())
            left_ms = (ends_ns - self._clock.ticks_ns()) // 1_000_000
            if not again or attempt >= limits.attempts or pause_ms >= left_ms:
                self._fail(problem, retry_after_ms=asked_ms)
            attempt += 1
            await self._clock.sleep_ms(pause_ms)

    def _known(self, answer: Completion, *, is_native: bool) -> Completion:
        """The answer, from which it is learned whether this model calls."""
        self._has_called = self._has_called or (is_native and bool(answer.calls))
        if is_native and not self._has_called:
            self._form = replace(self._form, calls=False)
        if is_native or not answer.calls:
            return answer
        return replace(answer, calls=(), finish=Finish.OTHER)  # nobody offered anything to call

    def _fail(self, problem: str, *, retry_after_ms: int | None = None) -> NoReturn:
        named = f"the model {self.endpoint.model} at {self.endpoint.base_url} {problem}"
        raise Unavailable(named, retry_after_ms=retry_after_ms) from None


def _open(endpoint: Endpoint) -> "OpenAiClient":
    from earnest.effects.outside.llm.openai_client import OpenAiClient  # noqa: PLC0415 - loads the library

    return OpenAiClient(endpoint)


def _is_about_tools(declined: Declined, request: Mapping[str, object]) -> bool:
    """As of llama.cpp, which has failed where it knows no calls."""
    return "tools" in request and declined.status == 500 and "tool" in declined.complaint.lower()


def _told(declined: Declined) -> str:
    advice = ADVICE.get(declined.status, "its own log says more")
    return f"answered with status {declined.status}: {declined.complaint} ({advice})"


def _retry_after_ms(header: str | None, now_ms: int) -> int | None:
    """What `Retry-After` (RFC 9110 §10.2.3: seconds or a date) asks for; None if it says nothing usable."""
    if header is None:
        return None
    text = header.strip()
    try:
        wait_ms = int(float(text) * 1000)
    except (ValueError, OverflowError):
        try:
            wait_ms = int(parsedate_to_datetime(text).timestamp() * 1000) - now_ms
        except (ValueError, OverflowError):
            return None
    return min(max(0, wait_ms), RETRY_AFTER_MS_MAX)


def _wait_ms(attempt: int, asked_ms: int | None, fraction: float) -> int:
    """The wait after failed attempt `attempt` (from 1): never less than asked for, doubling otherwise.

    `fraction`, in [0, 1), spreads those who failed together.
    """
    doubled_ms = min(FIRST_WAIT_MS * 2 ** (attempt - 1), WAIT_MS_MAX)
    if asked_ms is None:
        return int(doubled_ms * (0.5 + fraction / 2))
    return asked_ms + int(FIRST_WAIT_MS * fraction)
