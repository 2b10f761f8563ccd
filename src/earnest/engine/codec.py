"""Messages as JSON and back, so that they can be kept, replayed and audited."""

from typing import Final

from earnest.engine.senders import SENDERS
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json, to_json

_TYPES: Final = {payload_type.__name__: payload_type for payload_type in SENDERS}


def encode(payload: object) -> JsonObject:
    """The payload's fields as JSON values, the same in every process."""
    if type(payload) not in SENDERS:
        raise Broken(f"{type(payload).__name__} is no message")
    return to_json(payload)


def decode(kind: str, fields: JsonObject) -> object:
    """The payload that `encode` was given. Raises `Broken` for what no version of ours wrote."""
    if kind not in _TYPES:
        raise Broken(f"the journal holds a message of the unknown kind {kind!r}")
    return from_json(_TYPES[kind], fields, f"a kept message of kind {kind}")
