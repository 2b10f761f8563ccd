"""An agent's program: what it is given and answers. `--exec` is one, a resident agent another."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from earnest.client.payloads_scores import Heartbeat, Score, TaskAsked
from earnest.effects.ground.process import ProgramFailed
from earnest.foundation.canonical import JsonObject

REPLY_CHARACTERS_MAX: Final = 100_000
MEMBERS: Final = frozenset({"reply", "records", "claims"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One cycle. `contract`: HEARTBEAT.md as it is; None: there is none. `last`: the heartbeat judged before this one.

    `message`: what the tier says. `todo`: what else the agent's home wants of it, in order. What the program leaves in
    `folder/artifacts` is handed in.
    """

    tasks: tuple[TaskAsked, ...]
    message: str
    score: Score
    last: Heartbeat | None
    feedback: tuple[str, ...]
    contract: str | None
    folder: Path
    todo: tuple[str, ...] = ()

    def due_json(self) -> JsonObject:
        """What is due, and how the agent stands."""
        due = {"tasks": self.tasks, "message": self.message, "score": self.score}
        return {**due, "what_to_do_next": self.todo}  # type: ignore[dict-item]

    def feedback_json(self) -> JsonObject:
        """What came of the last turn."""
        return {"feedback": self.feedback, "last": self.last}  # type: ignore[dict-item]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a program answers; the members as `POST /agents/me/heartbeats` takes them."""

    reply: str
    records: tuple[JsonObject, ...] = ()
    claims: tuple[JsonObject, ...] = ()


class AgentProgram(Protocol):
    """Whoever does the work of a heartbeat."""

    async def work(self, work: Work) -> Said:
        """Do what is due. Raises `ProgramFailed`. Cancelled, it ends with all that it started."""


def said_by(output: bytes) -> Said:
    """A JSON object with a `reply` is the answer; anything else is the reply, as it stands.

    Raises `ProgramFailed` for members that nobody knows, or that are no lists of objects, and for a reply too long.
    """
    text = output.decode(errors="replace").strip()
    found = _object(text)
    said = Said(reply=text) if found is None else _structured(found)
    if len(said.reply) > REPLY_CHARACTERS_MAX:
        raise ProgramFailed(f"its reply has more than {REPLY_CHARACTERS_MAX} characters")
    return said


def _object(text: str) -> JsonObject | None:
    """The JSON object that the text is, if it has a `reply`."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "reply" in found else None


def _structured(found: JsonObject) -> Said:
    if unknown := sorted(found.keys() - MEMBERS):
        raise ProgramFailed(f"its answer has members that nobody knows: {', '.join(unknown)[:200]}")
    try:
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise ProgramFailed("its answer has numbers or characters that JSON cannot carry") from None
    reply = found["reply"]
    if not isinstance(reply, str):
        raise ProgramFailed("its answer's reply is no text")
    return Said(reply=reply, records=_objects(found, "records"), claims=_objects(found, "claims"))


def _objects(found: JsonObject, name: str) -> tuple[JsonObject, ...]:
    given = found.get(name, [])
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ProgramFailed(f"its answer's {name} are no list of objects")
    return tuple(given)
