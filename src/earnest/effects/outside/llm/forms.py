"""The forms in which an answer can be asked for, and what is tried when an endpoint does not take one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from earnest.effects.outside.llm.api import Message, Native
from earnest.foundation.canonical import JsonObject, JsonValue


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
    counts: bool = True
    """It is asked to count tokens at the end of a stream."""
    old_bound: bool = True
    """The bound of an answer goes by its old name."""
    calls: bool = True
    """Functions are offered, and called beside the text."""


def simpler(form: Form, complaint: str, *, structured: bool, calls: bool = False) -> Form | None:
    """The form to try after an endpoint refused this one with `complaint`; None if nothing is left to leave out.

    `structured`: an object was asked for, `calls`: functions were offered.
    """
    complaint = complaint.lower()
    if form.old_bound and "max_completion_tokens" in complaint:
        return replace(form, old_bound=False)
    if form.counts and ("stream_options" in complaint or "include_usage" in complaint):
        return replace(form, counts=False)
    if form.temperature and "temperature" in complaint:
        return replace(form, temperature=False)
    if calls and form.calls:
        return replace(form, calls=False)
    if structured and form.structure is not Structure.PROMPT:
        return replace(form, structure=Structure(form.structure + 1))
    return replace(form, temperature=False) if form.temperature else None


def request_of(
    messages: Sequence[Message],
    schema: JsonObject | None,
    form: Form,
    answer_tokens: int | None = None,
    native: Native | None = None,
) -> dict[str, object]:
    """A streamed `/chat/completions` request but for the model's name. Where no schema goes, it is told in words."""
    request: dict[str, object] = {"temperature": 0} if form.temperature else {}
    if form.counts:
        request["stream_options"] = {"include_usage": True}
    if answer_tokens is not None:
        request["max_tokens" if form.old_bound else "max_completion_tokens"] = answer_tokens
    if native is not None and form.calls:
        request["tools"] = [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.purpose, "parameters": one.parameters},
            }
            for one in native.functions
        ]
        return request | {"messages": [_message(message) for message in native.messages]}
    told = list(messages)
    if schema is not None and form.structure is Structure.SCHEMA:
        request["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": is_closed(schema), "schema": schema},
        }
    elif schema is not None:
        words = f"Answer with one JSON object and nothing else. Its JSON Schema: {json.dumps(schema)}"
        told[-1] = replace(told[-1], text=f"{told[-1].text}\n\n{words}")  # templates want the roles to take turns
        if form.structure is Structure.JSON:
            request["response_format"] = {"type": "json_object"}
    return request | {"messages": [_message(message) for message in told]}


def _message(message: Message) -> JsonObject:
    told: dict[str, JsonValue] = {"role": message.role.value, "content": message.text}
    if message.answers:
        told["tool_call_id"] = message.answers
    if message.calls:
        told["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return told


def is_closed(schema: JsonValue) -> bool:
    """True if every object of the schema names all its keys and requires them: what endpoints call strict."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            keys, required = schema.get("properties"), schema.get("required")
            if not (isinstance(keys, Mapping) and isinstance(required, Sequence) and set(keys) == set(required)):
                return False
            if schema.get("additionalProperties") is not False:
                return False
        return all(map(is_closed, schema.values()))
    return not isinstance(schema, list | tuple) or all(map(is_closed, schema))
