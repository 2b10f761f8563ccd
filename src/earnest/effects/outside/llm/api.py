"""A language model to the rest: messages in, one bounded text out, or `Unavailable`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

from earnest.foundation.canonical import JsonObject

Hear: TypeAlias = Callable[[str | None], None]
"""Is told an answer piece by piece as it comes. None: what was heard of it counts no more. It must not raise."""


class MessageRole(StrEnum):
    """Who speaks in a conversation."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCall:
    """A call as models make it beside their text. `arguments` are a text that should be a JSON object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation: an assistant's `calls` go with its text; of a tool's, `answers` is the call's id."""

    role: MessageRole
    text: str
    calls: tuple[NativeCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """What a model may call. `parameters` is the JSON Schema of its arguments."""

    name: str
    purpose: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """The same question for a model that calls: the conversation in that form, and what may be called."""

    messages: tuple[Message, ...]
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model answers. `base_url` is `http(s)://host/…/v1`; an empty `api_key` sends none."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionLimits:
    """Bounds of one call, its retries included.

    `silence_ms` bounds the wait for the next piece of an answer, the first one included: a slow model that speaks is
    waited for until `deadline_ms`. `answer_bytes` bounds what is received, `answer_tokens` what is asked for.
    """

    connect_ms: int = 5_000
    silence_ms: int = 180_000
    deadline_ms: int = 600_000
    answer_bytes: int = 4 * 1024 * 1024
    answer_tokens: int | None = None
    attempts: int = 3


class Finish(StrEnum):
    """Why an answer ended. Only `stop` is a whole answer, and `calls` one that calls."""

    STOP = "stop"
    CALLS = "calls"
    LENGTH = "length"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens as the endpoint counted them; 0 where it did not."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def counted(self) -> bool:
        """False: the endpoint told nothing, for every prompt has tokens."""
        return self.prompt_tokens > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """An answer. `model` is the name that the endpoint gave itself, or the one asked for if it gave none."""

    call_id: str
    text: str
    finish: Finish
    usage: TokenUsage
    model: str
    endpoint: str
    calls: tuple[NativeCall, ...] = ()


class ChatModel(Protocol):
    """One model at one endpoint; several calls may be under way at once."""

    @property
    def endpoint(self) -> Endpoint:
        """Who will be asked."""

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
        """The model's answer. The caller makes `call_id`; it goes along, for the endpoint's own log.

        `hear` changes nothing about what comes back: calls are heard as their names and arguments.

        With `native` it is asked in that form where endpoint and model are not known to know none: then the answer has
        `calls`, else it is as without.

        With `schema` an answer of that form is asked for in the strictest way that the endpoint takes; what comes may
        still be anything. Cancelling closes the connection. Raises `Unavailable`, and nothing else, saying what to do.
        """
