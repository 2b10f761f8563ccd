"""What a run's models were told and said, and what was judged: a line of JSON each in `runs/<run>/task.jsonl`.

It is there to be read by its owner. Nothing depends on it and it proves nothing: the facts hold what a run needs.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.clock import Clock
from earnest.effects.outside.llm.api import Message
from earnest.engine.messages import CorrectionSignal, OutcomeSummary, ReplanRequest, SubTaskOutcome
from earnest.engine.model_messages import ModelTurn
from earnest.engine.ports import Question
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json
from earnest.foundation.text import head_tail
from earnest.runtime.redaction import Redaction

FILE_NAME: Final = "task.jsonl"
TEXT_CHARACTERS_MAX: Final = 20_000
LOG_BYTES_MAX: Final = 64 * 1024 * 1024

AT_MS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999."""


class TaskLog:
    """Appends to the log of one run. What cannot be written is left out."""

    def __init__(self, folder: Path, redaction: Redaction, clock: Clock) -> None:
        self._run_id, self._path = folder.name, folder / FILE_NAME
        self._redaction = redaction
        self._clock = clock
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._told: dict[ModelTurn, tuple[Message, ...]] = {}
        """The messages of each conversation so far, by its first turn."""

    def begin(self) -> None:
        """Make the file, if there is none; else the first line does."""
        with suppress(OSError):
            self._append("")

    def note(self, turn: ModelTurn, question: Question, model: str, *, answer: str = "", failure: str = "") -> None:
        """Write what is new in the conversation: of its messages, those that did not go along the last time."""
        conversation = replace(turn, number=1)
        before = self._told.get(conversation, ())
        messages = question.messages
        known = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, messages, strict=False))))
        self._told[conversation] = messages
        line = {
            "at_ms": self._clock.now_ms(),
            "key": turn.key,
            "model": model,
            "prompt": question.prompt,
            "messages_before": known,
            "messages": [{"role": m.role, "text": self._shown(m.text)} for m in messages[known:]],
            "answer": self._shown(answer),
            "failure": self._shown(failure),
        }
        with suppress(OSError):
            self._append(json.dumps(line) + "\n")

    def see(self, envelope: Envelope) -> None:
        """A tap of the bus: verdicts and corrections of this run, whose folder is named after it."""
        if envelope.run_id != self._run_id or envelope.replayed:
            return
        match envelope.payload:
            case SubTaskOutcome(verdicts=verdicts) | ReplanRequest(task_verdicts=verdicts):
                lines = [f"{one.id} {one.answer}: {one.reason}" for one in verdicts]
            case OutcomeSummary(task_verdicts=verdicts, summary=summary):
                lines = [*(f"{one.id} {one.answer}: {one.reason}" for one in verdicts), summary]
            case CorrectionSignal(what_was_wrong=wrong, what_to_do=to_do):
                lines = [*wrong, to_do]
            case _:
                return
        told = {"at_ms": envelope.at_ms, "key": envelope.id, "kind": envelope.kind}
        with suppress(OSError):
            self._append(json.dumps({**told, "lines": [self._shown(line) for line in lines]}) + "\n")

    def _shown(self, text: str) -> str:
        return head_tail(self._redaction.of(text), TEXT_CHARACTERS_MAX)

    def _append(self, line: str) -> None:
        log = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if os.fstat(log).st_size + len(line) <= LOG_BYTES_MAX:
                os.write(log, line.encode("ascii"))
        finally:
            os.close(log)


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
