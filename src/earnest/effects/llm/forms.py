"""In which form is an answer asked for, and what is tried when an endpoint does not take it?"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from earnest.effects.llm.api import Message
from earnest.foundation.canonical import JsonObject


class Structure(IntEnum):
    """How an endpoint is made to answer with an object, the strictest first."""

    SCHEMA = 0
    JSON = 1
    PROMPT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What one endpoint and model take: begun with the most, remembered once it has answered."""

    structure: Structure = Structure.SCHEMA
    temperature: bool = True


def simpler(form: Form, complaint: str, *, structured: bool) -> Form | None:
    """The form to try after an endpoint refused this one with `complaint`; None if nothing is left to leave out."""
    if form.temperature and "temperature" in complaint.lower():
        return replace(form, temperature=False)
    if structured and form.structure is not Structure.PROMPT:
        return replace(form, structure=Structure(form.structure + 1))
    return replace(form, temperature=False) if form.temperature else None


def request_of(messages: Sequence[Message], schema: JsonObject | None, form: Form) -> dict[str, object]:
    """The part of a `/chat/completions` request that depends on the form. Where no schema goes, it is told in words."""
    request: dict[str, object] = {"temperature": 0} if form.temperature else {}
    told = list(messages)
    if schema is not None and form.structure is Structure.SCHEMA:
        request["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }
    elif schema is not None:
        words = f"Answer with one JSON object and nothing else. Its JSON Schema: {json.dumps(schema)}"
        told[-1] = replace(told[-1], text=f"{told[-1].text}\n\n{words}")  # templates want the roles to take turns
        if form.structure is Structure.JSON:
            request["response_format"] = {"type": "json_object"}
    return request | {"messages": [{"role": message.role.value, "content": message.text} for message in told]}
