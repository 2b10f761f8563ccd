"""Reading the task log of a run, for its owner; like the log itself it proves nothing."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from earnest.foundation.canonical import JsonObject
from earnest.runtime.task_log import FILE_NAME

AT_MS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedExchange:
    """One request to a model. `messages` are (role, text), without the `messages_before` that a request before told.

    Either `answer` or `failure` is empty.
    """

    at_ms: int
    key: str
    model: str
    prompt: str
    messages_before: int
    messages: tuple[tuple[str, str], ...]
    answer: str
    failure: str

    def to_json(self) -> JsonObject:
        """The form of the log's lines."""
        return {
            "at_ms": self.at_ms,
            "key": self.key,
            "model": self.model,
            "prompt": self.prompt,
            "messages_before": self.messages_before,
            "messages": [{"role": role, "text": text} for role, text in self.messages],
            "answer": self.answer,
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict or a correction: the `kind` of its message, and what it says, a line each."""

    at_ms: int
    key: str
    kind: str
    lines: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """The form of the log's lines."""
        return {"at_ms": self.at_ms, "key": self.key, "kind": self.kind, "lines": list(self.lines)}


def read_task_log(folder: Path) -> Iterator[LoggedExchange | Judgement | None]:
    """What stands in the log of the run in `folder`, by line; None for a line that cannot be read.

    Nothing if there is no log: nothing was asked or judged yet. Raises `OSError` for one that may not be read.
    """
    try:
        log = (folder / FILE_NAME).open("rb")
    except FileNotFoundError:
        return
    with log:
        yield from map(_entry, log)


def _entry(line: bytes) -> LoggedExchange | Judgement | None:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"at_ms": int(at_ms), "key": str(key), "kind": str(kind), "lines": [*lines]} if 0 <= at_ms <= AT_MS_MAX:
            return Judgement(at_ms=at_ms, key=key, kind=kind, lines=tuple(map(str, lines)))
        case {
            "at_ms": int(at_ms),
            "key": str(key),
            "model": str(model),
            "prompt": str(prompt),
            "messages_before": int(before),
            "messages": [*messages],
            "answer": str(answer),
            "failure": str(failure),
        } if 0 <= at_ms <= AT_MS_MAX:
            return LoggedExchange(
                at_ms=at_ms,
                key=key,
                model=model,
                prompt=prompt,
                messages_before=before,
                messages=tuple(
                    (str(one.get("role")), str(one.get("text"))) for one in messages if isinstance(one, Mapping)
                ),
                answer=answer,
                failure=failure,
            )
    return None
