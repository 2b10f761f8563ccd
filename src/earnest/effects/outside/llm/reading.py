"""An endpoint's answer, streamed as events or whole: bytes in, text and tokens out; and how a request can fail."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from earnest.effects.outside.llm.api import Finish, Hear, NativeCall, TokenUsage
from earnest.foundation.text import printable

TOKENS_MAX: Final = 2**40
CALLS_MAX: Final = 64
SHOWN_CHARACTERS_MAX: Final = 200
_END: Final = b"[DONE]"
_DECODER: Final = json.JSONDecoder()
"""For the many events of a stream: `json.loads` looks at each for its encoding first."""


class Declined(Exception):
    """The endpoint answered with an error status. `retry_after` is the header of that name, as it came."""

    def __init__(self, status: int, complaint: str, retry_after: str | None) -> None:
        super().__init__(complaint)
        self.status = status
        self.complaint = complaint
        self.retry_after = retry_after


class Interrupted(Exception):
    """The connection could not be made or ended too early: asking again may help."""


class Useless(Exception):
    """What came, or that nothing came, would be no better the next time."""


class RawCompletion:
    """An answer as far as it was received. What is no answer raises `Useless`, `ValueError` or `TypeError`."""

    def __init__(self, hear: Hear | None = None) -> None:
        self._hear = hear
        self.finish: Finish | None = None
        """How it ended; None: it did not."""
        self.model = ""
        """The model's name for itself."""
        self.usage = TokenUsage()
        self._parts: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._line: list[bytes] = []
        """The pieces of a line whose end has not come: put together once, however small they are."""
        self._data: list[bytes] = []

    @property
    def text(self) -> str:
        """The text so far. Halves of a surrogate pair that came apart are put together; one alone is replaced."""
        return _joined(self._parts)

    @property
    def calls(self) -> tuple[NativeCall, ...]:
        """The calls so far, in their order."""
        return tuple(
            NativeCall(id=call.id, name=_joined(call.names), arguments=_joined(call.arguments))
            for _, call in sorted(self._calls.items())
        )

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of an event stream (WHATWG HTML §9.2), cut wherever the wire cut them."""
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line.clear()
        self._line.append(rest)
        for line in lines:
            if line not in {b"", b"\r"}:
                if line.startswith(b"data:"):
                    self._data.append(line[5:].strip())
            elif self._data:
                self._take_event()

    def end(self) -> None:
        """The event stream has ended; a server may have left out the last empty line."""
        self.feed(b"\n\n")

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        self._take(json.loads(body))
        if self.finish is None:
            raise ValueError("no answer is in it")

    def _take_event(self) -> None:
        data, self._data = b"\n".join(self._data), []
        if data != _END:
            self._take(_DECODER.decode(data.decode(errors="surrogatepass")))

    def _take(self, frame: object) -> None:
        """A chunk of a stream, or the whole: they differ in one name."""
        frame = _object(frame)
        if error := frame.get("error"):
            words = str(error.get("message") if isinstance(error, dict) else error)
            raise Useless(f"broke off with an error: {shown(words)}")
        self.model = self.model or _text(frame.get("model"))
        if isinstance(usage := frame.get("usage"), dict):
            self.usage = _usage(usage)  # the newest count: where every chunk has one, they grow
        for one in _list(frame.get("choices")):
            choice = _object(one)
            if choice.get("index", 0) == 0:
                said = _object(choice.get("delta") or choice.get("message") or {})
                self._add(self._parts, said.get("content"))
                for at, called in enumerate(_list(said.get("tool_calls"))):
                    self._take_call(_object(called), at)
                self.finish = self.finish or _finish(choice.get("finish_reason"))

    def _take_call(self, piece: dict[str, Any], at: int) -> None:
        """A piece of a call. A stream tells which call by an index, a whole answer by the place."""
        index = piece.get("index", at)
        if type(index) is not int or not 0 <= index < CALLS_MAX:
            raise ValueError(f"a call has no place from 0 to {CALLS_MAX - 1}")
        call, function = self._calls.setdefault(index, _Call()), _object(piece.get("function") or {})
        call.id = call.id or _text(piece.get("id"))
        self._add(call.names, function.get("name"), before="\n", after=" ")
        self._add(call.arguments, function.get("arguments"))

    def _add(self, parts: list[str], given: object, *, before: str = "", after: str = "") -> None:
        parts.append(piece := _text(given))
        if piece and self._hear is not None:
            self._hear(f"{before}{piece}{after}")


@dataclass(slots=True)
class _Call:
    id: str = ""
    names: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


def _joined(parts: Iterable[str]) -> str:
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def shown(text: str) -> str:
    """An endpoint's words, made harmless and short."""
    return printable(text[:SHOWN_CHARACTERS_MAX])


def complaint_of(body: bytes) -> str:
    """The words in the body of an error status: its message, or all of it where none is found."""
    try:
        said = json.loads(body)
        message = said.get("error", said)["message"]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        message = None
    return message if isinstance(message, str) else body.decode(errors="replace").strip()


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("where an object should be there is none")
    return value


def _list(value: object) -> list[object]:
    if value is not None and not isinstance(value, list):
        raise TypeError("its choices or calls are no list")
    return value or []


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
        case "tool_calls":
            return Finish.CALLS
        case _:
            return Finish.OTHER


def _usage(given: dict[str, Any]) -> TokenUsage:
    """Both counts or none: half a count would pass for a whole one."""
    counts = [given.get(name) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if type(count) is int and 0 <= count < TOKENS_MAX else None for count in counts)
    if prompt is None or completion is None:
        return TokenUsage()
    return TokenUsage(prompt_tokens=prompt, completion_tokens=completion)
