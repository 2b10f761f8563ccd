"""A turn done by a program of any kind: it reads JSON and files, and answers on stdout."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.effects.ground.process import Ended, ProgramFailed, run_group
from earnest.foundation.canonical import JsonObject
from earnest.foundation.text import printable
from earnest.identity.key import KEY_IN_TEXT
from earnest.runtime.heartbeats.artifacts import FOLDER
from earnest.runtime.heartbeats.program import Said, Work, said_by

FOLDER_VARIABLE: Final = "EARNEST_HEARTBEAT_DIR"
COMPLAINT_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgram:
    """See `AgentProgram`. `words`: the program and its arguments; no shell reads them.

    `environment` is all that it sees of ours, with the folder of the turn as `EARNEST_HEARTBEAT_DIR`.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    timeout_s: int

    async def work(self, work: Work) -> Said:
        """See `AgentProgram`."""
        environment = {**self.environment, FOLDER_VARIABLE: str(work.folder)}
        ended = await run_group(self.words, _lay_out(work), environment, self.timeout_s)
        if ended.code:
            raise ProgramFailed(how_it_ended(ended))
        return said_by(ended.output)


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that hold no key of a platform."""
    return {name: text for name, text in environment.items() if not KEY_IN_TEXT.search(text)}


def _lay_out(work: Work) -> Path:
    """Write what the program reads into the turn's folder; the file that is its stdin."""
    due, feedback = work.due_json(), work.feedback_json()
    (work.folder / FOLDER).mkdir(mode=0o700)
    if work.contract is not None:
        (work.folder / "HEARTBEAT.md").write_text(work.contract, encoding="utf-8", newline="")
    (work.folder / "feedback.md").write_text("".join(f"- {_line(line)}\n" for line in work.feedback), encoding="utf-8")
    _write_json(work.folder / "due.json", due)
    _write_json(work.folder / "feedback.json", feedback)
    return _write_json(work.folder / "stdin.json", {**due, **feedback, "contract": work.contract})


def _write_json(path: Path, value: JsonObject) -> Path:
    path.write_text(f"{json.dumps(value)}\n", encoding="utf-8")
    return path


def how_it_ended(ended: Ended) -> str:
    """How it ended and the end of stderr, on one line and without keys."""
    how = f"it ended with exit code {ended.code}" if ended.code > 0 else f"it was ended by signal {-ended.code}"
    said = printable(_line(KEY_IN_TEXT.sub("…", ended.complaint.decode(errors="replace"))))
    return f"{how}: {said[-COMPLAINT_CHARACTERS:]}" if said else how


def _line(text: str) -> str:
    return " ".join(text.split())
