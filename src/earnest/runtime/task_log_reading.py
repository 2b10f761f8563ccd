"""Reading the task log of a run, for its owner; like the log itself it proves nothing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json
from earnest.runtime.task_log import FILE_NAME

AT_MS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedMessage:
    """What was told: by whom, and in what words."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedExchange:
    """One request to a model. `messages` are those told, without the `messages_before` that a request before told.

    Either `answer` or `failure` is empty.
    """

    at_ms: int
    key: str
    model: str
    prompt: str
    messages_before: int
    messages: tuple[LoggedMessage, ...]
    answer: str
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict or a correction: the `kind` of its message, and what it says, a line each."""

    at_ms: int
    key: str
    kind: str
    lines: tuple[str, ...]


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
        form: type[LoggedExchange | Judgement] = LoggedExchange if "prompt" in value else Judgement
        entry = from_json(form, value)
    except (Broken, ValueError, TypeError, RecursionError):
        return None
    return entry if 0 <= entry.at_ms <= AT_MS_MAX else None
