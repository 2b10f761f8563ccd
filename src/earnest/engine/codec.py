"""Messages as JSON and back, so that they can be kept, replayed and audited."""

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Final, cast

from pydantic import TypeAdapter, ValidationError

from earnest.engine.senders import SENDERS
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Broken

_SAME: Final = frozenset({str, int, float, bool, type(None)})
_TYPES: Final = {payload_type.__name__: payload_type for payload_type in SENDERS}


@cache
def _adapter(kind: str) -> TypeAdapter[object]:
    return TypeAdapter(_TYPES[kind])


def encode(payload: object) -> JsonObject:
    """The payload's fields as JSON values, the same in every process."""
    return cast(JsonObject, _plain(_adapter(type(payload).__name__).dump_python(payload)))


def _plain(value: object) -> JsonValue:
    """Not pydantic's JSON mode, which writes a set in the order of its hashes."""
    if type(value) in _SAME:
        return cast(JsonValue, value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(str(item) for item in value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    assert isinstance(value, Enum), value
    return cast(str, value.value)


def decode(kind: str, fields: JsonObject) -> object:
    """The payload that `encode` was given. Raises `Broken` for what no version of ours wrote."""
    if kind not in _TYPES:
        raise Broken(f"the journal holds a message of the unknown kind {kind!r}")
    try:
        return _adapter(kind).validate_python(fields)
    except ValidationError as error:
        raise Broken(f"a kept message of kind {kind} cannot be read: {error}") from error
