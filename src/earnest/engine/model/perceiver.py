"""R1's mind: it restates what a user wants without the conversation around it, and adds nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Final

from earnest.contracts.playbook import INTENT_CHARACTERS_MAX
from earnest.effects.outside.llm.api import Message
from earnest.effects.outside.llm.fencing import Data, told
from earnest.engine.messages import TaskRequested, TaskSpec
from earnest.engine.model.prompting import closed, persona_parts, prompt
from earnest.engine.picture import Look, Picture, picture_parts, unseen
from earnest.engine.ports import Clarifier, RoleModel
from earnest.foundation.canonical import JsonObject, JsonValue, digest_bytes
from earnest.foundation.names import SLUG_LENGTH_MAX
from earnest.foundation.text import head_tail

SESSION_TURNS_MAX: Final = 5
QUESTIONS_MAX: Final = 2
NEEDS_MAX: Final = 20
NETWORK: Final = "network"
REQUEST_CHARACTERS_MAX: Final = 20_000
TURN_CHARACTERS_MAX: Final = 2_000
SMALL_TALK_CHARACTERS_MAX: Final = 200
"""A longer request is a task whatever the model calls it."""
REPLY_CHARACTERS_MAX: Final = 400
"""A longer reply is no small talk but an answer, which would escape every check."""
SMALL_TALK: Final = "small_talk"

_SAY_NOTHING: Final = frozenset({"task", "request", "question", "general", "other", "unknown", "none", "null", "misc"})
_SCHEMA: Final = closed(
    {
        "kind": {"type": "string", "enum": ["task", SMALL_TALK]},
        "intent": {"type": "string"},
        "task_class": {"type": "string"},
        "scope": {"type": ["string", "null"]},
        "deadline": {"type": ["string", "null"]},
        "needs": {"type": "array", "items": {"type": "string"}},
        "reply": {"type": "string"},
        "questions": {"type": "array", "items": {"type": "string"}},
    },
    ["kind", "intent", "task_class"],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPerceiver:
    """The mind of R1. `today` is the ISO date on which the run began; without a `clarifier` nothing is asked."""

    today: str
    clarifier: Clarifier | None = None
    persona: str = ""
    look: Look = unseen

    async def perceive(self, request: TaskRequested, model: RoleModel) -> TaskSpec:
        """See `Perceiver`. One call of the model, or two if it had questions and there is somebody to answer them."""
        picture = await self.look()
        answer = await model.ask(prompt("perceiver").question(_SCHEMA, self._told(request, picture)))
        questions = _texts(answer.get("questions"))[:QUESTIONS_MAX]
        if questions and self.clarifier is not None:
            answers = await self.clarifier.ask(questions)
            told_too = self._told(
                request, picture, tuple(zip_longest(questions, answers[: len(questions)], fillvalue=""))
            )
            answer = await model.ask(prompt("perceiver").question(_SCHEMA, told_too))
        return _spec(answer, request)

    def _told(self, request: TaskRequested, picture: Picture, clarified: Sequence[tuple[str, str]] = ()) -> Message:
        turns = request.session[-SESSION_TURNS_MAX:]
        may_ask = self.clarifier is not None and not clarified
        return told(
            f"Today is {self.today}.",
            *persona_parts(self.persona),
            *(
                Data(name=f"earlier turn {n}", text=t, characters_max=TURN_CHARACTERS_MAX)
                for n, t in enumerate(turns, 1)
            ),
            *picture_parts(picture),
            Data(name="request", text=request.raw_input, characters_max=REQUEST_CHARACTERS_MAX),
            *(
                Data(name="clarified by the user", text=f"{question}\n{answer}", characters_max=TURN_CHARACTERS_MAX)
                for question, answer in clarified
            ),
            "You may ask the user questions." if may_ask else "You may not ask the user anything.",
        )


def _spec(answer: JsonObject, request: TaskRequested) -> TaskSpec:
    """What the model left out or got wrong is taken from the request itself."""
    raw = request.raw_input
    reply = _text(answer.get("reply"))
    is_small = 0 < len(reply) <= REPLY_CHARACTERS_MAX and len(raw) <= SMALL_TALK_CHARACTERS_MAX
    if answer.get("kind") == SMALL_TALK and is_small:
        return TaskSpec(task_class=SMALL_TALK, intent=head_tail(raw), raw_input=raw, reply=reply)
    return TaskSpec(
        task_class=task_class_of(_text(answer.get("task_class")), raw),
        intent=_cut(_text(answer.get("intent")) or raw, INTENT_CHARACTERS_MAX),
        raw_input=raw,
        scope=_cut(_text(answer.get("scope")), TURN_CHARACTERS_MAX) or None,
        deadline=_instant(_text(answer.get("deadline"))),
        needs=tuple(name for name in _texts(answer.get("needs"))[:NEEDS_MAX] if is_named(name, raw)),
    )


def is_named(name: str, request: str) -> bool:
    """True if the user wrote that name, as a whole; `network` stands for any address or the word itself."""
    if name == NETWORK:
        return re.search(r"https?://|www\.|internet|network|online|download", request, re.IGNORECASE) is not None
    return re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", request) is not None


def task_class_of(proposed: str, request: str) -> str:
    """A slug of the proposed ASCII words; of none that say something, one that only this request has.

    The second keeps requests apart that a model names in another script or not at all: they never share one memory.
    """
    words = re.findall(r"[a-z0-9]+", proposed.lower()) if proposed.isascii() else []
    slug = "_".join(words)[:SLUG_LENGTH_MAX]
    if slug and slug not in _SAY_NOTHING:
        return slug
    folded = " ".join(request.casefold().split()).encode(errors="backslashreplace")
    return f"task_{digest_bytes(folded).removeprefix('sha256:')[:8]}"


def _instant(text: str) -> str | None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text


def _cut(text: str, characters_max: int) -> str:
    """Head and tail within the bound, the note on what was left out included."""
    return text if len(text) <= characters_max else head_tail(text, characters_max - 100)


def _text(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(filter(None, map(_text, value))) if isinstance(value, Sequence) and not isinstance(value, str) else ()
