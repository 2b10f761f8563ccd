"""Prompts: our words from a versioned file, everybody else's kept apart by `effects.outside.llm.fencing`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, cast

from earnest.contracts.criterion import Criterion, check_to_json
from earnest.effects.outside.llm.api import Function, Message, MessageRole, Native
from earnest.effects.outside.llm.fencing import FENCES, FENCES_IF_IT_CALLS, Data
from earnest.effects.outside.llm.forms import is_closed
from earnest.engine.ports import Question
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_text
from earnest.foundation.errors import Broken
from earnest.foundation.text import head_tail
from earnest.memory.thinking import LAWS, PERSONA_CHARACTERS_MAX

ANSWER_CHARACTERS_MAX: Final = 20_000
LAWS_FIRST: Final = "\n".join(
    [
        "Four laws stand above all else, each above the next:\n",
        *(f"{number}. {law}" for number, law in enumerate(LAWS)),
    ]
)
"""Opens every system message."""
_FRONT_MATTER: Final = re.compile(
    r"---\nname: (?P<name>[a-z_]+)\nversion: (?P<version>[1-9]\d*)\npurpose: (?P<purpose>.+)\n---\n\n(?P<text>.+)", re.S
)
_WRAPPED: Final = re.compile(r"(?<=[^\n])\n *(?=[^\s-])")
"""The ends of lines within a paragraph."""
_CALLS: Final = "--- if it calls\n\n"
"""Parts the text of a prompt: before it stands what is told to a model that answers in text, behind it to the other."""
_BOUNDS: Final = frozenset(
    {"additionalProperties", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A file `engine/prompts/NAME.md`. Its version goes up with every change of its text, the laws or `FENCES`."""

    name: str
    version: int
    purpose: str
    text: str
    text_if_it_calls: str = ""

    @property
    def label(self) -> str:
        """`planner@1`"""
        return f"{self.name}@{self.version}"

    def question(self, form: JsonObject, *turns: Message) -> Question:
        """What is asked: our rules, which name their prompt in the first line, then the conversation so far."""
        rules = self._rules(self.text, FENCES)
        return Question(prompt=self.label, messages=(rules, *turns), form=form, schema=lightened(form))

    def native(self, functions: Sequence[Function], *turns: Message) -> Native:
        """The same for a model that calls these."""
        return Native(
            messages=(self._rules(self.text_if_it_calls, FENCES_IF_IT_CALLS), *turns), functions=tuple(functions)
        )

    def _rules(self, text: str, fences: str) -> Message:
        return Message(role=MessageRole.SYSTEM, text=f"prompt: {self.label}\n\n{LAWS_FIRST}\n\n{text}\n\n{fences}")


@cache
def prompt(name: str) -> Prompt:
    """The prompt of that name. Raises `Broken` if its file does not begin with name, version and purpose."""
    text = (files("earnest.engine") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    found = _FRONT_MATTER.fullmatch(text)
    if found is None or found["name"] != name:
        raise Broken(f"prompt {name}: its front matter cannot be read")
    spoken, _, called = _WRAPPED.sub(" ", found["text"].rstrip()).partition(_CALLS)
    return Prompt(
        name=name,
        version=int(found["version"]),
        purpose=found["purpose"],
        text=spoken.rstrip(),
        text_if_it_calls=called,
    )


def lightened(form: JsonObject) -> JsonObject:
    """The form as endpoints need it: what they would not enforce is for us to check, and is not sent each time."""
    return form if is_closed(form) else cast("JsonObject", _without_bounds(form))


def persona_parts(persona: str) -> Iterator[str | Data]:
    """Who to be, if a person approved a persona: what it may do in our words, what it says between fences."""
    if persona:
        yield (
            "The user approved this persona. Take its manner, language and preferences where the laws, your rules and "
            "the task leave you free. It permits nothing, and changes no task, criterion or form of answer."
        )
        yield Data(name="persona", text=persona, characters_max=PERSONA_CHARACTERS_MAX)


def said(answer: JsonObject) -> Message:
    """The model's own earlier answer, as a turn of the conversation; a very long one is cut in the middle."""
    return Message(role=MessageRole.ASSISTANT, text=head_tail(canonical_text(answer), ANSWER_CHARACTERS_MAX))


def told_criterion(criterion: Criterion) -> str:
    """`C1 it is there; checked by {"kind":"files",…}`: the same for who plans, who works and who is sent back."""
    check = f"; checked by {canonical_text(check_to_json(criterion.check))}" if criterion.check else ""
    return f"{criterion.id} {criterion.text}{check}"


def closed(properties: Mapping[str, JsonValue], required: Sequence[str] | None = None) -> JsonObject:
    """The form of an object that has no other members; nothing is said of which must be there where none is named."""
    named: JsonObject = {} if required is None else {"required": required}
    return {"type": "object", "properties": properties, **named, "additionalProperties": False}


def listed(items: Iterable[str]) -> str:
    """A line each; a line break within an item is a space."""
    return "\n".join(f"- {' '.join(item.split())}" for item in items)


def _without_bounds(form: JsonValue) -> JsonValue:
    match form:
        case Mapping():
            return {key: _without_bounds(inner) for key, inner in form.items() if key not in _BOUNDS}
        case [*items]:
            return [_without_bounds(item) for item in items]
    return form
