"""What a run's models were told and said, and what was judged: a line of JSON each in `runs/<run>/task.jsonl`.

It is there to be read by its owner and nothing depends on it: the facts hold what a resumed run needs.
"""

import json
import os
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Final

from earnest.effects.ground.bus.api import Envelope
from earnest.effects.ground.clock import Clock
from earnest.effects.outside.llm.api import Message
from earnest.engine.messages import CorrectionSignal, OutcomeSummary, ReplanRequest, SubTaskOutcome
from earnest.engine.model_messages import ModelTurn
from earnest.engine.ports import Question
from earnest.foundation.text import head_tail
from earnest.runtime.redaction import Redaction

FILE_NAME: Final = "task.jsonl"
TEXT_CHARACTERS_MAX: Final = 20_000
LOG_BYTES_MAX: Final = 64 * 1024 * 1024


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
