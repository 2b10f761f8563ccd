"""Answers checked against their form: JSON Schema (2020-12) of a few words, by pydantic's core.

No form holds anybody else's words: what a tool says of its arguments is for the tool to check.
"""

import json
from functools import lru_cache
from typing import Any, Final

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from earnest.foundation.canonical import JsonObject, JsonValue, canonical_bytes
from earnest.foundation.errors import Broken
from earnest.foundation.text import plain_fault

FAULTS_SHOWN: Final = 3
FAULT_CHARACTERS_MAX: Final = 200
_PLAIN: Final[dict[str, Any]] = {
    "boolean": core_schema.bool_schema,
    "integer": core_schema.int_schema,
    "string": core_schema.str_schema,
}
_BOUNDS: Final = {
    "maximum": "le",
    "maxItems": "max_length",
    "maxLength": "max_length",
    "minimum": "ge",
    "minItems": "min_length",
    "minLength": "min_length",
}
"""What pydantic calls them."""
_OBJECT_WORDS: Final = frozenset({"properties", "required", "additionalProperties"})


def misfits(form: JsonObject, value: JsonValue) -> list[str]:
    """What of `value` the form does not accept, the first few, each with its JSON pointer; empty if it fits.

    Of a list only the first item that does not fit is told: a million of them would take a gigabyte.
    Stricter than the standard in one thing: 1.0 is no integer. Raises `Broken` for a form of other words.
    """
    try:
        _validator(canonical_bytes(form)).validate_python(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)[:FAULTS_SHOWN]
        return [f"{_pointer(fault['loc'])}: {plain_fault(fault['msg'])}"[:FAULT_CHARACTERS_MAX] for fault in faults]
    return []


def _pointer(steps: tuple[int | str, ...]) -> str:
    return "".join(f"/{step}" for step in steps) or "the object"


@lru_cache(maxsize=64)
def _validator(form: bytes) -> SchemaValidator:
    return SchemaValidator(_schema(json.loads(form)))


def _schema(form: dict[str, Any]) -> CoreSchema:
    match form:
        case {"anyOf": [{"type": "null"}, other], **rest} if not rest:
            return core_schema.nullable_schema(_schema(other))
        case {"type": [kind, "null"], **rest}:
            return core_schema.nullable_schema(_schema({"type": kind, **rest}))
        case {"enum": words, **rest} if rest in ({}, {"type": "string"}):
            return core_schema.literal_schema(words)
        case {"type": "object", **rest} if rest.keys() <= _OBJECT_WORDS and _names_what_it_requires(rest):
            return _object(rest)
        case {"type": "array", "items": item, **rest} if rest.keys() <= _BOUNDS.keys():
            return core_schema.list_schema(_schema(item), strict=True, fail_fast=True, **_bounds(rest))
        case {"type": kind, **rest} if kind in _PLAIN and rest.keys() <= _BOUNDS.keys():
            plain: CoreSchema = _PLAIN[kind](strict=True, **_bounds(rest))
            return plain
    raise Broken(f"an answer cannot be held to the form {canonical_bytes(form)!r}")


def _names_what_it_requires(form: dict[str, Any]) -> bool:
    named: dict[str, Any] = form.get("properties", {})
    return named.keys() >= set(form.get("required", ()))


def _object(form: dict[str, Any]) -> CoreSchema:
    required = form.get("required", ())
    fields = {
        name: core_schema.typed_dict_field(_schema(inner), required=name in required)
        for name, inner in form.get("properties", {}).items()
    }
    is_open = form.get("additionalProperties", True)
    return core_schema.typed_dict_schema(fields, extra_behavior="allow" if is_open else "forbid", strict=True)


def _bounds(form: dict[str, Any]) -> dict[str, Any]:
    return {_BOUNDS[word]: bound for word, bound in form.items()}
