"""Messages as JSON and back, so that they can be kept, replayed and audited."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Final, cast

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
    if type(payload) not in SENDERS:
        raise Broken(f"{type(payload).__name__} is no message")
    return cast(JsonObject, _plain(payload))


@cache
def _form_of(kind: type) -> Callable[[Any], JsonValue]:
    """What makes a value of this class one of JSON. Sets are sorted: in every process their hashes are others."""
    if is_dataclass(kind):
        names = tuple(field.name for field in fields(kind))
        return lambda value: {name: _plain(getattr(value, name)) for name in names}
    if issubclass(kind, Enum):
        return lambda value: cast(str, value.value)
    if issubclass(kind, Mapping):
        return lambda value: {str(key): _plain(item) for key, item in value.items()}
    if issubclass(kind, frozenset):
        return lambda value: sorted(map(str, value))
    assert issubclass(kind, tuple | list), kind
    return lambda value: [_plain(item) for item in value]


def _plain(value: object) -> JsonValue:
    kind = type(value)
    if kind in _SAME:
        return cast(JsonValue, value)
    return _form_of(kind)(value)  # type: ignore[arg-type] # mypy: a class has the __hash__ of its values


def decode(kind: str, fields: JsonObject) -> object:
    """The payload that `encode` was given. Raises `Broken` for what no version of ours wrote."""
    if kind not in _TYPES:
        raise Broken(f"the journal holds a message of the unknown kind {kind!r}")
    try:
        return _adapter(kind).validate_python(fields)
    except ValidationError as error:
        raise Broken(f"a kept message of kind {kind} cannot be read: {error}") from error
