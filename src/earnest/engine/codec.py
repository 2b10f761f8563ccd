"""Messages as JSON and back, so that they can be kept, replayed and audited."""

from functools import cache
from typing import cast

from pydantic import TypeAdapter, ValidationError

from earnest.engine.messages import SENDERS
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken

_TYPES = {payload_type.__name__: payload_type for payload_type in SENDERS}


@cache
def _adapter(kind: str) -> TypeAdapter[object]:
    return TypeAdapter(_TYPES[kind])


def encode(payload: object) -> JsonObject:
    """The payload's fields as JSON values."""
    return cast(JsonObject, _adapter(type(payload).__name__).dump_python(payload, mode="json"))


def decode(kind: str, fields: JsonObject) -> object:
    """The payload that `encode` was given. Raises `Broken` for what no version of ours wrote."""
    if kind not in _TYPES:
        raise Broken(f"the journal holds a message of the unknown kind {kind!r}")
    try:
        return _adapter(kind).validate_python(fields)
    except ValidationError as error:
        raise Broken(f"a kept message of kind {kind} cannot be read: {error}") from error
